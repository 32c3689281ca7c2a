/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections that this process opens: the connector's part of the handshake, then outgoing frames.
 */
#include "net/tcp/tcp_internal.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "port/bounds.h"
#include "port/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* A connection that was closed before it was authenticated (the other side had too many to check
 * this one), or had no route, is tried again at this interval, for this time. */
#define AGAIN_NS (20 * RZ_MILLISECOND)
#define GIVE_UP_NS (30 * RZ_SECOND)

/* Smaller payloads get no padding. */
enum { PADDED_MIN = 1024 };

/* ---- the list of those that are not ready ---- */

static void list_unready(struct rz_tcp_out *out)
{
    struct rz_tcp_net *tcp = rz_tcp_of(out->peer);
    out->next = tcp->unready;
    tcp->unready = out;
}

static void unlist_unready(struct rz_tcp_out *out)
{
    struct rz_tcp_out **at = &rz_tcp_of(out->peer)->unready;
    while (*at && *at != out) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = out->next;
    }
}

/* ---- connecting ---- */

/* False: the bytes are none. */
static bool read_address(const uint8_t *bytes, size_t n, struct rz_address *address,
                         struct rz_tcp_party *party)
{
    struct rz_wire_reader reader;
    uint32_t length;
    rz_wire_reader_init(&reader, bytes, n);
    const uint8_t *ip = rz_wire_get_bytes(&reader, &length);
    uint32_t port = rz_wire_get_u32(&reader);
    party->slot = rz_wire_get_u32(&reader);
    party->incarnation = rz_wire_get_u32(&reader);
    return !reader.malformed && reader.at == reader.end && port > 0 &&
           rz_address_take(address, ip, length, port);
}

bool rz_tcp_out_is_address(const uint8_t *bytes, size_t n)
{
    struct rz_address address;
    struct rz_tcp_party party;
    return read_address(bytes, n, &address, &party);
}

static void hang_up(struct rz_tcp_out *out)
{
    if (out->source.fd >= 0) {
        close(out->source.fd);
    }
    out->source.fd = -1;
    out->state = RZ_TCP_UNCONNECTED;
    out->read_bytes = 0;
    out->again_at = rz_clock_now() + AGAIN_NS;
}

/* In tests: a small buffer, though not below a segment of the loopback, which would wait for the
 * timers of TCP. */
enum { BUFFER_USUAL = 4096 * 1024, BUFFER_LEAST = 128 * 1024 };

static void limit_buffer(int fd)
{
    int bytes = (int)rz_bound("tcp send buffer", BUFFER_USUAL, BUFFER_LEAST);
    if (bytes < BUFFER_USUAL) {
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    }
}

/* False: the host reports that no process listens there, so the peer has ended. */
static bool begin_connecting(struct rz_tcp_out *out)
{
    struct rz_tcp_net *tcp = rz_tcp_of(out->peer);
    struct rz_address to;
    bool known = read_address(out->peer->address, RZ_TCP_ADDRESS_BYTES, &to, &out->shake.acceptor);
    rz_assert(known); /* rz_tcp_out_is_address was asked */
    rz_status_t status = rz_socket_connect(&to, &out->source.fd);
    if (status == RZ_OK || status == RZ_IN_PROGRESS) {
        limit_buffer(out->source.fd);
        /* Edge-triggered: space to send is reported once, when it appears. */
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
                                    .data.ptr = &out->source};
        out->state = RZ_TCP_CHALLENGED;
        if (epoll_ctl(tcp->epoll, EPOLL_CTL_ADD, out->source.fd, &event) == 0) {
            return true;
        }
    } else {
        out->source.fd = -1;
    }
    hang_up(out);
    return status != RZ_ERR_CLOSED;
}

/* NULL: the host reports that no process listens there. */
static struct rz_tcp_out *open_stream(struct rz_rdv_peer *peer, uint32_t stream)
{
    struct rz_tcp_net *tcp = rz_tcp_of(peer);
    struct rz_tcp_out *out = calloc(1, sizeof(*out));
    rz_need_memory(out, "for a connection to another process"); /* which waits for messages */
    out->source = (struct rz_tcp_source){.what = RZ_TCP_OUT, .fd = -1};
    out->peer = peer;
    out->give_up_at = rz_clock_now() + GIVE_UP_NS;
    out->shake = (struct rz_tcp_shake){
        .key = tcp->key,
        .job = tcp->self.job,
        .connector = {tcp->net.name, tcp->self.rank, tcp->self.incarnation},
        .acceptor = {.name = peer->name},
        .stream = stream,
    };
    if (!begin_connecting(out)) {
        free(out);
        return NULL;
    }
    list_unready(out);
    return out;
}

bool rz_tcp_out_connect(struct rz_rdv_peer *peer)
{
    peer->connection = open_stream(peer, 0);
    return peer->connection != NULL;
}

void rz_tcp_out_close(struct rz_tcp_out *out)
{
    for (unsigned i = 0; i < out->n_others; i++) {
        rz_tcp_out_close(out->others[i]);
    }
    unlist_unready(out);
    if (out->source.fd >= 0) {
        close(out->source.fd);
    }
    free(out->rest);
    free(out);
}

void rz_tcp_out_tick(struct rz_tcp_net *tcp, rz_time now)
{
    struct rz_tcp_out *next;
    for (struct rz_tcp_out *out = tcp->unready; out; out = next) {
        next = out->next;
        bool again = out->state == RZ_TCP_UNCONNECTED && now >= out->again_at;
        if (now < out->give_up_at && (!again || begin_connecting(out))) {
            continue;
        }
        if (out->shake.stream == 0) {
            rz_rdv_peer_break(out->peer);
        } else {
            unlist_unready(out); /* all goes by the other streams */
        }
    }
}

/* ---- the handshake ---- */

static bool send_hello(struct rz_tcp_out *out)
{
    uint8_t hello[RZ_TCP_HELLO_BYTES];
    rz_tcp_hello_write(&out->shake, hello);
    out->state = RZ_TCP_ANSWERED;
    out->read_bytes = 0;
    return send(out->source.fd, hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello);
}

static void become_ready(struct rz_tcp_out *out)
{
    unlist_unready(out);
    out->state = RZ_TCP_READY;
    rz_rdv_peer_attend(out->peer);
}

/* A message of the other side is complete. False: the sender is not our peer. */
static bool handle_message(struct rz_tcp_out *out)
{
    if (out->state == RZ_TCP_CHALLENGED) {
        return rz_tcp_challenge_read(&out->shake, out->read) && send_hello(out);
    }
    if (!rz_tcp_welcome_read(&out->shake, out->read)) {
        return false;
    }
    become_ready(out);
    return true;
}

static void shake_hands(struct rz_tcp_out *out)
{
    while (out->state == RZ_TCP_CHALLENGED || out->state == RZ_TCP_ANSWERED) {
        size_t whole =
            out->state == RZ_TCP_CHALLENGED ? RZ_TCP_CHALLENGE_BYTES : RZ_TCP_WELCOME_BYTES;
        ssize_t n = recv(out->source.fd, out->read + out->read_bytes, whole - out->read_bytes, 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return;
        }
        if (n < 0 && errno == ECONNREFUSED && out->shake.stream == 0) {
            rz_rdv_peer_break(out->peer);
            return;
        }
        out->read_bytes += n > 0 ? (size_t)n : 0;
        if (n <= 0 || (out->read_bytes == whole && !handle_message(out))) {
            hang_up(out);
        }
    }
}

/* ---- frames ---- */

/* Keeps the part of a frame that was not sent, since the user may reuse its memory. */
static void keep_rest(struct rz_tcp_out *out, const struct iovec *parts, unsigned n, size_t sent,
                      size_t whole)
{
    out->rest = malloc(whole - sent);
    rz_need_memory(out->rest, "for the rest of a message"); /* half of it is on its way */
    out->rest_at = out->rest_ends = 0;
    for (unsigned i = 0; i < n; i++) {
        size_t skip = sent < parts[i].iov_len ? sent : parts[i].iov_len;
        if (parts[i].iov_len > skip) {
            memcpy(out->rest + out->rest_ends, (const uint8_t *)parts[i].iov_base + skip,
                   parts[i].iov_len - skip);
        }
        out->rest_ends += parts[i].iov_len - skip;
        sent -= skip;
    }
}

/* RZ_IN_PROGRESS: not all of it could be sent. */
static rz_status_t flush_rest(struct rz_tcp_out *out)
{
    while (out->rest_at < out->rest_ends) {
        ssize_t n = send(out->source.fd, out->rest + out->rest_at, out->rest_ends - out->rest_at,
                         MSG_NOSIGNAL);
        if (n >= 0) {
            out->rest_at += (size_t)n;
            rz_tcp_of(out->peer)->sent_bytes += (size_t)n;
        } else if (errno == EAGAIN) {
            out->full = true;
            return RZ_IN_PROGRESS;
        } else if (errno != EINTR) {
            rz_rdv_peer_break(out->peer);
            return RZ_ERR_CLOSED;
        }
    }
    free(out->rest);
    out->rest = NULL;
    return RZ_OK;
}

/* How much padding puts the payload to its best place. The kernel continues behind what this
 * process sent last, on whatever connection. */
static uint32_t padding_of(const struct rz_tcp_net *tcp, const struct rz_rdv_frame *frame)
{
    size_t before = tcp->sent_bytes + RZ_TCP_FRAME_BYTES + frame->header_bytes;
    return frame->bytes < PADDED_MIN
               ? 0
               : (uint32_t)(((uintptr_t)frame->data - before) % RZ_TCP_LINE_BYTES);
}

static rz_status_t put_now(struct rz_tcp_out *out, const struct rz_rdv_frame *frame)
{
    static const uint8_t zeros[RZ_TCP_LINE_BYTES];
    struct rz_tcp_net *tcp = rz_tcp_of(out->peer);
    uint32_t padding = padding_of(tcp, frame);
    uint8_t head[RZ_TCP_FRAME_BYTES];
    rz_tcp_frame_encode(frame, padding, head);
    struct iovec parts[4] = {{head, sizeof(head)},
                             {(void *)frame->header, frame->header_bytes},
                             {(void *)zeros, padding},
                             {(void *)frame->data, frame->bytes}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 4};
    size_t whole = sizeof(head) + frame->header_bytes + padding + frame->bytes;
    ssize_t sent;
    do {
        sent = sendmsg(out->source.fd, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    tcp->sent_bytes += sent > 0 ? (size_t)sent : 0;
    if (sent == (ssize_t)whole) {
        return RZ_OK;
    }
    out->full = sent >= 0 || errno == EAGAIN;
    if (sent < 0 && errno == EAGAIN) {
        return RZ_IN_PROGRESS;
    }
    if (sent >= 0) {
        keep_rest(out, parts, 4, (size_t)sent, whole);
        return RZ_OK;
    }
    rz_rdv_peer_break(out->peer);
    return RZ_ERR_CLOSED;
}

/* Whether a whole frame may be put behind what was sent: RZ_OK; RZ_IN_PROGRESS: later. */
static rz_status_t make_room(struct rz_tcp_out *out)
{
    if (out->state != RZ_TCP_READY || out->full) {
        return RZ_IN_PROGRESS;
    }
    return flush_rest(out);
}

/* One after the other is ready, so that no peer has to check many at a time; not during the
 * carrier's turn, in which no connection may be made. */
static void open_another(struct rz_tcp_out *first)
{
    const struct rz_tcp_net *tcp = rz_tcp_of(first->peer);
    unsigned n = first->n_others;
    bool busy = n > 0 && first->others[n - 1]->state != RZ_TCP_READY;
    if (n + 1 >= tcp->streams || busy || first->refused_others || tcp->net.inside) {
        return;
    }
    struct rz_tcp_out *out = open_stream(first->peer, n + 1);
    if (out) {
        first->others[first->n_others++] = out;
    } else {
        first->refused_others = true;
    }
}

static rz_status_t put_piece(struct rz_tcp_out *first, const struct rz_rdv_frame *frame)
{
    open_another(first);
    for (unsigned i = 0; i <= first->n_others; i++) {
        unsigned at = (first->turn + i) % (first->n_others + 1);
        struct rz_tcp_out *out = at == 0 ? first : first->others[at - 1];
        rz_status_t status = make_room(out);
        if (status == RZ_OK) {
            first->turn = at + 1;
            status = put_now(out, frame);
        }
        if (status != RZ_IN_PROGRESS) {
            return status;
        }
    }
    return RZ_IN_PROGRESS;
}

/* Whether all that was put has left this process. */
static rz_status_t flush_all(struct rz_tcp_out *first)
{
    rz_status_t status = make_room(first);
    for (unsigned i = 0; status == RZ_OK && i < first->n_others; i++) {
        status = flush_rest(first->others[i]); /* RZ_OK also where it never became ready */
    }
    return status;
}

rz_status_t rz_tcp_out_put(struct rz_rdv_peer *peer, const struct rz_rdv_frame *frame)
{
    struct rz_tcp_out *first = peer->connection;
    if (frame->kind == RZ_RDV_LAST) {
        return flush_all(first);
    }
    if (frame->kind == RZ_RDV_PIECE) {
        return put_piece(first, frame);
    }
    rz_status_t status = make_room(first);
    return status == RZ_OK ? put_now(first, frame) : status;
}

/* After the handshake only the end of the connection may arrive. If the peer has closed it, what it
 * sent before on its own connections counts, and may still be on its way: their end is its end. */
static void look_for_end(struct rz_tcp_out *out)
{
    struct rz_rdv_peer *peer = out->peer;
    uint8_t byte;
    ssize_t n;
    do {
        n = recv(out->source.fd, &byte, 1, 0);
    } while (n < 0 && errno == EINTR);
    int error = n < 0 ? errno : 0;
    if (error == EAGAIN) {
        return;
    }
    rz_tcp_in_drain(peer);
    bool closed = error == 0 || error == ECONNRESET;
    if (!closed || !peer->incoming) {
        rz_rdv_peer_break(peer);
    }
}

void rz_tcp_out_event(struct rz_tcp_out *out, uint32_t events)
{
    if (out->state != RZ_TCP_READY) {
        shake_hands(out);
        return;
    }
    if (events & EPOLLOUT) {
        out->full = false;
        (void)flush_rest(out);
        rz_rdv_peer_attend(out->peer);
    }
    if (events & ~(uint32_t)EPOLLOUT) {
        look_for_end(out);
    }
}
