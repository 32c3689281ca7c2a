/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections that other processes open: first they authenticate, then frames arrive.
 */
#include "net/tcp/tcp_internal.h"

#include "base/assert.h"
#include "base/linked_list.h"
#include "port/clock.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Limit of unauthenticated connections; with one more, the oldest is closed. A process of the job
 * whose connection is closed in this way tries again. */
#define UNPROVED_MAX 256

/* Limit of connections accepted in one turn, so that those accepted get their turn to
 * authenticate. */
#define ACCEPTS_MAX 16

/* Without a free descriptor the listener pauses for this time. */
#define DEAF_NS (100 * RZ_MILLISECOND)

/* Bytes that one connection may deliver in one turn, so that the others get their turn. */
#define TURN_BYTES_MAX (1u << 20)

/* Turns in which what a closed peer has sent is read: more than the kernel keeps. */
#define DRAIN_TURNS_MAX 256u

static_assert(RZ_TCP_FRAME_BYTES + RZ_NET_HEADER_MAX + RZ_TCP_LINE_BYTES + RZ_TCP_EAGER_MAX <=
                  RZ_TCP_BUFFER_BYTES,
              "the buffer holds any frame but a piece");

/* ---- the lists ---- */

/* Takes a stream out of those of its peer. */
static void leave_peer(struct rz_tcp_in *in)
{
    struct rz_tcp_in *first = in->peer->incoming, **link = &first;
    while (*link != in) {
        link = &(*link)->sibling;
    }
    *link = in->sibling;
    in->peer->incoming = first;
}

void rz_tcp_in_close(struct rz_tcp_in *in)
{
    struct rz_tcp_net *tcp = in->tcp;
    rz_list_remove(in);
    tcp->n_unproved -= !in->peer;
    if (in->peer) {
        leave_peer(in);
    }
    if (tcp->hot == in) {
        tcp->hot = NULL;
    }
    close(in->source.fd);
    in->source.fd = -1;
    rz_list_push(&tcp->closed_in, in); /* epoll may have reported it in this turn */
}

void rz_tcp_in_close_all(struct rz_rdv_peer *peer)
{
    while (peer->incoming) {
        rz_tcp_in_close(peer->incoming);
    }
}

bool rz_tcp_in_hears(const struct rz_net *net, uint32_t slot, uint32_t incarnation)
{
    const struct rz_tcp_net *tcp = (const struct rz_tcp_net *)net;
    for (const struct rz_tcp_in *in = tcp->proved; in; in = in->next) {
        const struct rz_tcp_party *party = &in->shake.connector;
        if (party->slot == slot && party->incarnation == incarnation && !in->ended) {
            return true;
        }
    }
    return false;
}

void rz_tcp_in_free(struct rz_tcp_net *tcp)
{
    struct rz_tcp_in *in;
    while ((in = tcp->closed_in) != NULL) {
        rz_list_remove(in);
        free(in->buffer);
        free(in);
    }
}

/* ---- unauthenticated connections ---- */

static void turn_away(struct rz_tcp_in *in, const char *why)
{
    struct rz_tcp_net *tcp = in->tcp;
    char text[160], address[RZ_ADDRESS_TEXT];
    tcp->refused++;
    if (!tcp->told && tcp->warn) {
        snprintf(text, sizeof(text), "%s on %s was refused (reported once)", why,
                 rz_address_text(&tcp->address, address));
        tcp->warn(tcp->net.host.arg, text);
        tcp->told = true;
    }
    rz_tcp_in_close(in);
}

static struct rz_tcp_in *oldest_unproved(const struct rz_tcp_net *tcp)
{
    struct rz_tcp_in *oldest = tcp->unproved;
    while (oldest && oldest->next) {
        oldest = oldest->next;
    }
    return oldest;
}

static void listen_to(struct rz_tcp_net *tcp, bool on)
{
    struct epoll_event event = {.events = on ? EPOLLIN : 0, .data.ptr = &tcp->listener};
    epoll_ctl(tcp->epoll, EPOLL_CTL_MOD, tcp->listener.fd, &event);
    tcp->accept_after = on ? 0 : rz_clock_now() + DEAF_NS;
}

void rz_tcp_in_tick(struct rz_tcp_net *tcp, rz_time now)
{
    struct rz_tcp_in *oldest;
    if (tcp->accept_after != 0 && now >= tcp->accept_after) {
        listen_to(tcp, true);
    }
    /* Silence is no error: the process that opened the connection may compute, and tries again. */
    while ((oldest = oldest_unproved(tcp)) != NULL && now >= oldest->prove_by) {
        tcp->refused++;
        rz_tcp_in_close(oldest);
    }
}

static void welcome_stranger(struct rz_tcp_net *tcp, int fd)
{
    struct rz_tcp_in *in = calloc(1, sizeof(*in));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = in};
    uint8_t challenge[RZ_TCP_CHALLENGE_BYTES];
    if (!in || epoll_ctl(tcp->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        free(in);
        close(fd);
        return;
    }
    in->source = (struct rz_tcp_source){.what = RZ_TCP_IN, .fd = fd};
    in->tcp = tcp;
    in->prove_by = rz_clock_now() + tcp->prove_ns;
    in->shake = (struct rz_tcp_shake){
        .key = tcp->key,
        .job = tcp->self.job,
        .acceptor = {tcp->net.name, tcp->self.rank, tcp->self.incarnation},
    };
    rz_list_push(&tcp->unproved, in);
    tcp->n_unproved++;
    rz_tcp_challenge_write(&in->shake, challenge);
    if (send(fd, challenge, sizeof(challenge), MSG_NOSIGNAL) != (ssize_t)sizeof(challenge)) {
        rz_tcp_in_close(in);
    }
}

void rz_tcp_accept(struct rz_tcp_net *tcp)
{
    for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
        int fd;
        rz_status_t status = rz_socket_accept(tcp->listener.fd, &fd, NULL);
        if (status == RZ_IN_PROGRESS) {
            return;
        }
        if (status == RZ_OK && tcp->n_unproved >= UNPROVED_MAX) {
            turn_away(oldest_unproved(tcp), "a connection that did not prove itself, of too many,");
        }
        if (status == RZ_OK) {
            welcome_stranger(tcp, fd);
        } else if (tcp->n_unproved > 0) {
            turn_away(oldest_unproved(tcp), "a connection that did not prove itself, with no "
                                            "descriptor left for others,");
        } else {
            listen_to(tcp, false);
            return;
        }
    }
}

/* Frames that arrive here are answered on another connection, so an immediate acknowledgement
 * without data is only a cost: it is delayed, as on a connection with both directions. */
static void tune(int fd)
{
    const int off = 0;
    setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof(off));
}

/* Whether the stream may join those of its peer: stream 0 is the first of them. */
static bool fits(const struct rz_tcp_in *in, const struct rz_rdv_peer *peer)
{
    const struct rz_tcp_in *other = peer->incoming;
    if (in->shake.stream >= RZ_TCP_STREAMS_MAX || (in->shake.stream == 0) != !other) {
        return false;
    }
    while (other && other->shake.stream != in->shake.stream) {
        other = other->sibling;
    }
    return !other;
}

/* The connector has proved that it holds the key. False: there is a connection of that name
 * already, or no memory. */
static bool admit(struct rz_tcp_in *in)
{
    struct rz_tcp_net *tcp = in->tcp;
    uint8_t welcome[RZ_TCP_WELCOME_BYTES];
    struct rz_rdv_peer *peer = rz_rdv_peer_meet(&tcp->net, in->shake.connector.name);
    bool gone = !peer || peer->state == RZ_RDV_BROKEN || peer->state == RZ_RDV_ENDED;
    if (gone || !fits(in, peer) || peer->error_seen ||
        (in->buffer = malloc(RZ_TCP_BUFFER_BYTES)) == NULL) {
        return false;
    }
    rz_list_remove(in);
    rz_list_push(&tcp->proved, in);
    tcp->n_unproved--;
    in->peer = peer;
    in->sibling = peer->incoming;
    peer->incoming = in;
    tune(in->source.fd);
    rz_tcp_welcome_write(&in->shake, welcome);
    if (send(in->source.fd, welcome, sizeof(welcome), MSG_NOSIGNAL) != (ssize_t)sizeof(welcome)) {
        in->ended = true;
    }
    return true;
}

static unsigned read_hello(struct rz_tcp_in *in)
{
    ssize_t n;
    do {
        n = recv(in->source.fd, in->hello + in->hello_bytes, sizeof(in->hello) - in->hello_bytes,
                 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) {
        return 0;
    }
    if (n <= 0) {
        rz_tcp_in_close(in);
        return 1;
    }
    in->hello_bytes += (size_t)n;
    if (in->hello_bytes < sizeof(in->hello)) {
        return 0;
    }
    if (!rz_tcp_hello_read(&in->shake, in->hello)) {
        turn_away(in, "a connection without proof that it belongs to this job");
    } else if (!admit(in)) {
        rz_tcp_in_close(in);
    }
    return 1;
}

/* ---- frames ---- */

/* A piece's head with the longest padding: what is read while pieces are awaited. */
#define PIECE_HEAD_MAX (RZ_TCP_FRAME_BYTES + RZ_TCP_LINE_BYTES - 1)

/* Moves the received part of a piece to its place; the rest will be read there directly. */
static void begin_piece(struct rz_tcp_in *in, const struct rz_rdv_frame *frame)
{
    size_t here = in->end - in->start, n = here < frame->bytes ? here : frame->bytes;
    uint8_t *place = rz_rdv_piece_place(in->peer, frame);
    if (place) {
        memcpy(place, in->buffer + in->start, n);
    }
    in->start += n;
    in->piece = *frame;
    in->piece_left = frame->bytes - n;
    if (in->piece_left == 0) {
        rz_rdv_piece_done(in->peer, &in->piece);
    }
}

/* Takes complete frames out of the buffer; returns their number. */
static unsigned parse(struct rz_tcp_in *in)
{
    unsigned count = 0;
    while (in->piece_left == 0 && in->end - in->start >= RZ_TCP_FRAME_BYTES) {
        struct rz_rdv_frame frame;
        uint32_t padding;
        const uint8_t *at = in->buffer + in->start;
        if (rz_tcp_frame_decode(&frame, &padding, at) != RZ_OK ||
            (in->shake.stream > 0 && frame.kind != RZ_RDV_PIECE)) {
            in->ended = in->malformed = true;
            break;
        }
        size_t head = RZ_TCP_FRAME_BYTES + frame.header_bytes + padding;
        size_t wanted = head + (frame.kind == RZ_RDV_PIECE ? 0 : frame.bytes);
        if (in->end - in->start < wanted) {
            break;
        }
        if (frame.kind == RZ_RDV_PIECE) {
            in->start += head;
            begin_piece(in, &frame);
        } else {
            frame.header = at + RZ_TCP_FRAME_BYTES;
            frame.data = at + head;
            in->start += head + frame.bytes;
            rz_rdv_arrived(in->peer, &frame);
        }
        count++;
    }
    if (in->start > 0) {
        memmove(in->buffer, in->buffer + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    return count;
}

/*
 * Plans where the next bytes are read to. During a piece: to its place, and after it no more than
 * the head of the next piece; also where pieces are awaited no more than that, so that their
 * payload can be read to its place.
 */
static int plan(struct rz_tcp_in *in, struct iovec parts[2])
{
    static uint8_t unwanted[RZ_TCP_BUFFER_BYTES];
    if (in->piece_left == 0) {
        bool head = in->peer->fetching.first && in->end < PIECE_HEAD_MAX;
        size_t n = (head ? PIECE_HEAD_MAX : RZ_TCP_BUFFER_BYTES) - in->end;
        parts[0] = (struct iovec){in->buffer + in->end, n};
        return 1;
    }
    uint8_t *place = rz_rdv_piece_place(in->peer, &in->piece);
    if (!place) {
        size_t n = in->piece_left < sizeof(unwanted) ? in->piece_left : sizeof(unwanted);
        parts[0] = (struct iovec){unwanted, n};
        return 1;
    }
    rz_assert(in->end == 0);
    parts[0] = (struct iovec){place + (in->piece.bytes - in->piece_left), in->piece_left};
    parts[1] = (struct iovec){in->buffer, PIECE_HEAD_MAX};
    return 2;
}

static void account(struct rz_tcp_in *in, size_t n)
{
    size_t of_piece = n < in->piece_left ? n : in->piece_left;
    bool was_piece = in->piece_left > 0;
    in->piece_left -= of_piece;
    in->end += n - of_piece;
    if (was_piece && in->piece_left == 0) {
        rz_rdv_piece_done(in->peer, &in->piece);
    }
}

static unsigned read_frames(struct rz_tcp_in *in)
{
    unsigned count = 0;
    size_t total = 0;
    while (!in->ended && total < TURN_BYTES_MAX) {
        struct iovec parts[2];
        int n_parts = plan(in, parts);
        size_t wanted = parts[0].iov_len + (n_parts == 2 ? parts[1].iov_len : 0);
        ssize_t n = n_parts == 1 ? recv(in->source.fd, parts[0].iov_base, wanted, 0)
                                 : readv(in->source.fd, parts, n_parts);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            break;
        }
        in->ended = n <= 0;
        if (n <= 0) {
            break;
        }
        total += (size_t)n;
        account(in, (size_t)n);
        count += 1 + parse(in);
        if ((size_t)n < wanted) {
            break;
        }
    }
    if (!in->ended) {
        return count;
    }
    /* What was sent before on another stream may still arrive: the last one ends the connection. */
    struct rz_rdv_peer *peer = in->peer;
    if (in->malformed) {
        rz_tcp_in_close_all(peer);
    } else {
        rz_tcp_in_close(in);
    }
    if (!peer->incoming) {
        rz_rdv_peer_break(peer);
    }
    return count + 1;
}

void rz_tcp_in_drain(struct rz_rdv_peer *peer)
{
    unsigned turns = 0;
    for (struct rz_tcp_in *in = peer->incoming, *next; in; in = next) {
        next = in->sibling; /* one that was closed stays until the end of the turn */
        while (in->source.fd >= 0 && turns < DRAIN_TURNS_MAX && read_frames(in) > 0) {
            turns++;
        }
    }
}

unsigned rz_tcp_in_read(struct rz_tcp_in *in)
{
    return !in->peer ? read_hello(in) : read_frames(in);
}
