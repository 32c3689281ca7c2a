#include "daemon/overlay.h"

#include "base/assert.h"
#include "port/channel.h"
#include "port/socket.h"
#include "wire/protocol_message.h"

#include <event2/event.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(RZ_JOB_KEY_BYTES == crypto_auth_KEYBYTES,
               "the job key is the key of the authenticator");

#define NONCE_BYTES 32
#define DATAGRAM_BYTES (RZ_PROTOCOL_HEADER_BYTES + crypto_auth_BYTES)
#define ACCEPTED_MAX 4096 /* connections that have not proved themselves yet are bounded, too */

/* A frame that waits until its connection has proved itself. */
struct waiting_frame {
    struct waiting_frame *next;
    size_t bytes;
    uint8_t data[];
};

/* Our own connection to a peer: we send on it, and read nothing but CHALLENGE. */
struct outgoing {
    struct rz_overlay *overlay;
    rz_id peer;
    struct rz_frames *frames; /* NULL: not opened */
    struct event *readable, *writable;
    bool ready, fenced, suspect, broken, left, above_low;
    struct waiting_frame *first, **last;
    size_t waiting_bytes;
};

/* A connection that a peer opened: we read on it, and send nothing but CHALLENGE. */
struct incoming {
    struct incoming *next;
    struct rz_overlay *overlay;
    struct rz_frames *frames;
    struct event *readable;
    rz_id peer; /* RZ_ID_NONE until HELLO has proved it */
    uint8_t nonce[NONCE_BYTES];
};

/* Where a daemon listens. */
struct place {
    struct rz_address tcp, udp;
};

struct rz_overlay {
    struct event_base *base;
    int listen_fd, udp_fd;
    struct place own;
    struct event *accepting, *datagrams, *reporting;
    struct rz_overlay_config config;
    uint8_t key[RZ_JOB_KEY_BYTES];
    struct place *peers;       /* [n_nodes] */
    struct outgoing *outgoing; /* [n_nodes] */
    struct incoming *incoming;
    unsigned n_incoming;
    bool ending;
    uint8_t scratch[RZ_OVERLAY_FRAME_MAX];
};

static void outgoing_broken(struct outgoing *out);

/* What a connector proves with: keyed hash over nonce, job, connector, acceptor. */
static void make_proof(const struct rz_overlay *overlay, const uint8_t *nonce, uint32_t from,
                       uint32_t to, uint8_t proof[crypto_auth_BYTES])
{
    uint8_t text[NONCE_BYTES + 16];
    struct rz_wire_writer w;
    memcpy(text, nonce, NONCE_BYTES);
    rz_wire_writer_init(&w, text + NONCE_BYTES, 16);
    rz_wire_put_u64(&w, overlay->config.job);
    rz_wire_put_u32(&w, from);
    rz_wire_put_u32(&w, to);
    crypto_auth(proof, text, sizeof text, overlay->key);
}

/* ---- sending */

static void outgoing_update(struct outgoing *out)
{
    if (rz_frames_want_write(out->frames))
        event_add(out->writable, NULL);
    if (rz_frames_queued(out->frames) >= RZ_OVERLAY_QUEUE_LOW)
        out->above_low = true;
}

static void outgoing_push(struct outgoing *out, const void *bytes, size_t n)
{
    if (rz_frames_send(out->frames, bytes, n) == RZ_ERR_CLOSED)
        event_active(out->readable, EV_READ,
                     0); /* told from the loop, not from inside the caller */
    else
        outgoing_update(out);
}

static void outgoing_write(evutil_socket_t fd, short what, void *arg)
{
    struct outgoing *out = arg;
    (void)fd, (void)what;
    if (rz_frames_flush(out->frames) == RZ_ERR_CLOSED) {
        outgoing_broken(out);
        return;
    }
    if (rz_frames_want_write(out->frames))
        event_add(out->writable, NULL);
    if (out->above_low && rz_frames_queued(out->frames) < RZ_OVERLAY_QUEUE_LOW) {
        out->above_low = false;
        out->overlay->config.writable(out->overlay->config.arg, out->peer);
    }
}

static void forget_waiting(struct outgoing *out)
{
    while (out->first) {
        struct waiting_frame *frame = out->first;
        out->first = frame->next;
        free(frame);
    }
    out->last = &out->first;
    out->waiting_bytes = 0;
}

static void outgoing_close(struct outgoing *out)
{
    if (out->readable)
        event_free(out->readable);
    if (out->writable)
        event_free(out->writable);
    if (out->frames)
        rz_frames_close(out->frames);
    out->readable = out->writable = NULL;
    out->frames = NULL;
    out->ready = false;
    forget_waiting(out);
}

/*
 * The connection with peer broke. First everything that has already come in is read, then the break
 * is reported: a daemon that was stopped for a while may find FENCED there, and must not take the
 * closed connections of those who went on without it for their deaths. Active events run in the
 * order of their activation.
 */
static void suspect(struct rz_overlay *overlay, rz_id peer)
{
    overlay->outgoing[peer].suspect = true;
    for (struct incoming *in = overlay->incoming; in; in = in->next)
        event_active(in->readable, EV_READ, 0);
    event_active(overlay->reporting, EV_TIMEOUT, 0);
}

static void report_broken(evutil_socket_t fd, short what, void *arg)
{
    struct rz_overlay *overlay = arg;
    (void)fd, (void)what;
    for (rz_id peer = 0; peer < overlay->config.n_nodes; peer++) {
        struct outgoing *out = &overlay->outgoing[peer];
        if (!out->suspect || out->broken || out->fenced || out->left || overlay->ending)
            continue;
        out->broken = true;
        overlay->config.broken(overlay->config.arg, peer);
    }
}

static void outgoing_broken(struct outgoing *out)
{
    outgoing_close(out);
    suspect(out->overlay, out->peer);
}

static void answer_challenge(struct outgoing *out, const struct rz_overlay_challenge *challenge)
{
    struct rz_overlay *overlay = out->overlay;
    uint8_t proof[crypto_auth_BYTES], frame[256];
    make_proof(overlay, challenge->nonce, overlay->config.self, out->peer, proof);
    struct rz_overlay_message hello = {.type = RZ_OVERLAY_HELLO,
                                       .hello = {.version = RZ_OVERLAY_VERSION,
                                                 .job = overlay->config.job,
                                                 .from = overlay->config.self,
                                                 .proof = proof,
                                                 .proof_length = sizeof proof}};
    outgoing_push(out, frame, rz_overlay_encode(&hello, frame, sizeof frame));
    out->ready = true;
    for (struct waiting_frame *f = out->first; f; f = f->next)
        outgoing_push(out, f->data, f->bytes);
    forget_waiting(out);
    event_add(out->writable,
              NULL); /* who waits for room hears of it, even if all is sent already */
}

/* On our own connection only the challenge may come, then silence until the peer is gone. */
static void outgoing_read(evutil_socket_t fd, short what, void *arg)
{
    struct outgoing *out = arg;
    (void)fd, (void)what;
    rz_status_t status = rz_frames_read(out->frames);
    const void *bytes;
    size_t n;
    while (!out->ready && rz_frames_next(out->frames, &bytes, &n)) {
        struct rz_overlay_message message;
        if (rz_overlay_decode(&message, bytes, n) != RZ_OK ||
            message.type != RZ_OVERLAY_CHALLENGE ||
            message.challenge.version != RZ_OVERLAY_VERSION ||
            message.challenge.nonce_length != NONCE_BYTES)
            return; /* not one of ours; silence will tell */
        answer_challenge(out, &message.challenge);
    }
    if (status == RZ_ERR_CLOSED)
        outgoing_broken(out);
}

static void outgoing_open(struct outgoing *out)
{
    struct rz_overlay *overlay = out->overlay;
    int fd;
    rz_status_t status = rz_socket_connect(&overlay->peers[out->peer].tcp, &fd);
    if (status != RZ_OK && status != RZ_IN_PROGRESS) {
        if (status == RZ_ERR_CLOSED)
            suspect(overlay, out->peer);
        return;
    }
    if (rz_frames_open(&out->frames, fd, RZ_OVERLAY_FRAME_MAX) != RZ_OK) {
        close(fd);
        return;
    }
    out->readable = event_new(overlay->base, fd, EV_READ | EV_PERSIST, outgoing_read, out);
    out->writable = event_new(overlay->base, fd, EV_WRITE, outgoing_write, out);
    event_add(out->readable, NULL);
}

static void outgoing_send(struct outgoing *out, const void *bytes, size_t n)
{
    if (out->fenced || out->broken)
        return;
    if (!out->frames)
        outgoing_open(out);
    if (!out->frames)
        return;
    if (out->ready) {
        outgoing_push(out, bytes, n);
        return;
    }
    struct waiting_frame *frame = malloc(sizeof *frame + n);
    rz_assert(frame != NULL);
    *frame = (struct waiting_frame){.bytes = n};
    memcpy(frame->data, bytes, n);
    *out->last = frame;
    out->last = &frame->next;
    out->waiting_bytes += n;
    if (out->waiting_bytes >= RZ_OVERLAY_QUEUE_LOW)
        out->above_low = true;
}

void rz_overlay_send(struct rz_overlay *overlay, rz_id to, const struct rz_overlay_message *message)
{
    rz_assert(to < overlay->config.n_nodes && to != overlay->config.self);
    size_t n = rz_overlay_encode(message, overlay->scratch, sizeof overlay->scratch);
    rz_assert(n > 0);
    outgoing_send(&overlay->outgoing[to], overlay->scratch, n);
}

void rz_overlay_send_protocol(struct rz_overlay *overlay, rz_id to,
                              const struct rz_message *message, const uint64_t *items,
                              bool datagram)
{
    size_t bytes = rz_protocol_message_bytes(message->n_items);
    uint8_t small[1024], *buffer = bytes <= sizeof small ? small : malloc(bytes);
    rz_assert(buffer != NULL);
    size_t n = rz_protocol_message_encode(message, items, buffer, bytes);
    rz_assert(n == bytes);
    if (datagram && n == RZ_PROTOCOL_HEADER_BYTES) {
        uint8_t packet[DATAGRAM_BYTES];
        memcpy(packet, buffer, n);
        crypto_auth(packet + n, packet, n, overlay->key);
        rz_socket_send_to(overlay->udp_fd, packet, sizeof packet, &overlay->peers[to].udp);
    } else {
        struct rz_overlay_message wrapped = {
            .type = RZ_OVERLAY_PROTOCOL,
            .protocol = {.message = buffer, .message_length = (uint32_t)n}};
        rz_overlay_send(overlay, to, &wrapped);
    }
    if (buffer != small)
        free(buffer);
}

size_t rz_overlay_queued(const struct rz_overlay *overlay, rz_id to)
{
    const struct outgoing *out = &overlay->outgoing[to];
    return out->waiting_bytes + (out->frames ? rz_frames_queued(out->frames) : 0);
}

/* ---- receiving */

static void incoming_close(struct incoming *in)
{
    struct incoming **link = &in->overlay->incoming;
    while (*link != in)
        link = &(*link)->next;
    *link = in->next;
    in->overlay->n_incoming--;
    event_free(in->readable);
    rz_frames_close(in->frames);
    free(in);
}

static bool prove(struct incoming *in, const struct rz_overlay_message *message)
{
    struct rz_overlay *overlay = in->overlay;
    const struct rz_overlay_hello *hello = &message->hello;
    if (message->type != RZ_OVERLAY_HELLO || hello->version != RZ_OVERLAY_VERSION ||
        hello->job != overlay->config.job || hello->from >= overlay->config.n_nodes ||
        hello->proof_length != crypto_auth_BYTES)
        return false;
    uint8_t proof[crypto_auth_BYTES];
    make_proof(overlay, in->nonce, hello->from, overlay->config.self, proof);
    if (sodium_memcmp(proof, hello->proof, sizeof proof) != 0)
        return false;
    in->peer = hello->from;
    return true;
}

/* False: the connection must be closed. */
static bool incoming_frame(struct incoming *in, const void *bytes, size_t n)
{
    struct rz_overlay *overlay = in->overlay;
    struct rz_overlay_message message;
    if (rz_overlay_decode(&message, bytes, n) != RZ_OK)
        return false;
    if (in->peer == RZ_ID_NONE)
        return prove(in, &message);
    if (overlay->outgoing[in->peer].fenced)
        return true; /* dropped; it was told when it was fenced */
    if (message.type == RZ_OVERLAY_LEAVING) {
        overlay->outgoing[in->peer].left = true;
        return true;
    }
    overlay->config.message(overlay->config.arg, in->peer, &message);
    return true;
}

static void incoming_read(evutil_socket_t fd, short what, void *arg)
{
    struct incoming *in = arg;
    struct rz_overlay *overlay = in->overlay;
    (void)fd, (void)what;
    rz_status_t status = rz_frames_read(in->frames);
    const void *bytes;
    size_t n;
    bool good = true;
    while (good && rz_frames_next(in->frames, &bytes, &n))
        good = incoming_frame(in, bytes, n);
    if (good && status != RZ_ERR_CLOSED && status != RZ_ERR_MALFORMED)
        return;
    rz_id peer = in->peer;
    incoming_close(in);
    if (peer != RZ_ID_NONE)
        suspect(overlay, peer);
}

static void accept_one(evutil_socket_t listen_fd, short what, void *arg)
{
    struct rz_overlay *overlay = arg;
    (void)what;
    int fd;
    if (rz_socket_accept(listen_fd, &fd, NULL) != RZ_OK)
        return;
    struct incoming *in = overlay->n_incoming < ACCEPTED_MAX ? calloc(1, sizeof *in) : NULL;
    if (!in || rz_frames_open(&in->frames, fd, RZ_OVERLAY_FRAME_MAX) != RZ_OK) {
        free(in);
        close(fd);
        return;
    }
    in->overlay = overlay;
    in->peer = RZ_ID_NONE;
    in->readable = event_new(overlay->base, fd, EV_READ | EV_PERSIST, incoming_read, in);
    event_add(in->readable, NULL);
    in->next = overlay->incoming;
    overlay->incoming = in;
    overlay->n_incoming++;
    randombytes_buf(in->nonce, sizeof in->nonce);
    uint8_t frame[128];
    struct rz_overlay_message challenge = {.type = RZ_OVERLAY_CHALLENGE,
                                           .challenge = {.version = RZ_OVERLAY_VERSION,
                                                         .nonce = in->nonce,
                                                         .nonce_length = NONCE_BYTES}};
    rz_frames_send(in->frames, frame, rz_overlay_encode(&challenge, frame, sizeof frame));
}

static void datagrams_read(evutil_socket_t fd, short what, void *arg)
{
    struct rz_overlay *overlay = arg;
    (void)what;
    uint8_t packet[DATAGRAM_BYTES + 1];
    ssize_t n;
    while ((n = recv(fd, packet, sizeof packet, MSG_DONTWAIT)) >= 0) {
        struct rz_message message;
        if (n != DATAGRAM_BYTES ||
            crypto_auth_verify(packet + RZ_PROTOCOL_HEADER_BYTES, packet, RZ_PROTOCOL_HEADER_BYTES,
                               overlay->key) != 0 ||
            rz_protocol_message_decode(&message, NULL, 0, packet, RZ_PROTOCOL_HEADER_BYTES) !=
                RZ_OK ||
            message.from >= overlay->config.n_nodes || overlay->outgoing[message.from].fenced)
            continue;
        overlay->config.heartbeat(overlay->config.arg, &message);
    }
}

void rz_overlay_read_heartbeats(struct rz_overlay *overlay)
{
    datagrams_read(overlay->udp_fd, EV_READ, overlay);
}

/* ---- life */

rz_status_t rz_overlay_open(struct rz_overlay **result, struct event_base *base,
                            const char *address)
{
    if (sodium_init() < 0)
        return RZ_ERR_SYSTEM;
    struct rz_overlay *overlay = calloc(1, sizeof *overlay);
    if (!overlay)
        return RZ_ERR_NO_MEMORY;
    overlay->base = base;
    overlay->listen_fd = overlay->udp_fd = -1;
    rz_status_t status = rz_address_parse(address, &overlay->own.tcp);
    overlay->own.udp = overlay->own.tcp;
    if (status == RZ_OK)
        status = rz_socket_listen(&overlay->own.tcp, &overlay->listen_fd);
    if (status == RZ_OK)
        status = rz_socket_datagram(&overlay->own.udp, &overlay->udp_fd);
    if (status != RZ_OK) {
        rz_overlay_close(overlay);
        return status;
    }
    *result = overlay;
    return RZ_OK;
}

void rz_overlay_ports(const struct rz_overlay *overlay, uint16_t *tcp_port, uint16_t *udp_port)
{
    *tcp_port = overlay->own.tcp.port;
    *udp_port = overlay->own.udp.port;
}

static void connect_neighbours(struct rz_overlay *overlay)
{
    uint32_t n = overlay->config.n_nodes, self = overlay->config.self;
    for (uint32_t distance = 1; distance < n; distance *= 2) {
        uint32_t ahead = (self + distance) % n, behind = (self + n - distance) % n;
        if (!overlay->outgoing[ahead].frames)
            outgoing_open(&overlay->outgoing[ahead]);
        if (!overlay->outgoing[behind].frames)
            outgoing_open(&overlay->outgoing[behind]);
    }
}

rz_status_t rz_overlay_start(struct rz_overlay *overlay, const struct rz_overlay_config *config)
{
    rz_assert(!overlay->outgoing && config->self < config->n_nodes);
    overlay->config = *config;
    memcpy(overlay->key, config->key, sizeof overlay->key);
    overlay->peers = calloc(config->n_nodes, sizeof *overlay->peers);
    overlay->outgoing = calloc(config->n_nodes, sizeof *overlay->outgoing);
    if (!overlay->peers || !overlay->outgoing)
        return RZ_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < config->n_nodes; i++) {
        struct rz_address address;
        if (rz_address_parse(config->peers[i].address, &address) != RZ_OK)
            return RZ_ERR_INVALID;
        overlay->peers[i].tcp = overlay->peers[i].udp = address;
        overlay->peers[i].tcp.port = config->peers[i].tcp_port;
        overlay->peers[i].udp.port = config->peers[i].udp_port;
        overlay->outgoing[i] =
            (struct outgoing){.overlay = overlay, .peer = i, .last = &overlay->outgoing[i].first};
    }
    overlay->config.peers = NULL; /* was copied */
    overlay->config.key = overlay->key;
    overlay->accepting =
        event_new(overlay->base, overlay->listen_fd, EV_READ | EV_PERSIST, accept_one, overlay);
    overlay->datagrams =
        event_new(overlay->base, overlay->udp_fd, EV_READ | EV_PERSIST, datagrams_read, overlay);
    if (overlay->datagrams) /* before everything else: a heartbeat read late looks like a death */
        event_priority_set(overlay->datagrams, 0);
    overlay->reporting = event_new(overlay->base, -1, 0, report_broken, overlay);
    if (!overlay->accepting || !overlay->datagrams || !overlay->reporting)
        return RZ_ERR_NO_MEMORY;
    event_add(overlay->accepting, NULL);
    event_add(overlay->datagrams, NULL);
    connect_neighbours(overlay);
    return RZ_OK;
}

void rz_overlay_close(struct rz_overlay *overlay)
{
    while (overlay->incoming)
        incoming_close(overlay->incoming);
    for (uint32_t i = 0; overlay->outgoing && i < overlay->config.n_nodes; i++) {
        outgoing_close(&overlay->outgoing[i]);
    }
    if (overlay->accepting)
        event_free(overlay->accepting);
    if (overlay->datagrams)
        event_free(overlay->datagrams);
    if (overlay->reporting)
        event_free(overlay->reporting);
    if (overlay->listen_fd >= 0)
        close(overlay->listen_fd);
    if (overlay->udp_fd >= 0)
        close(overlay->udp_fd);
    free(overlay->outgoing);
    free(overlay->peers);
    free(overlay);
}

void rz_overlay_fence(struct rz_overlay *overlay, rz_id peer)
{
    struct outgoing *out = &overlay->outgoing[peer];
    if (out->fenced || peer == overlay->config.self)
        return;
    struct rz_overlay_message fenced = {.type = RZ_OVERLAY_FENCED,
                                        .fenced = {.reason = "declared dead by the others"}};
    rz_overlay_send(overlay, peer, &fenced);
    out->fenced = true; /* the connections stay open: a zombie must read FENCED, not an end that
                           looks like our death */
}

void rz_overlay_ending(struct rz_overlay *overlay, bool say_so)
{
    const struct rz_overlay_message leaving = {.type = RZ_OVERLAY_LEAVING};
    for (rz_id peer = 0; overlay->outgoing && peer < overlay->config.n_nodes; peer++)
        if (overlay->outgoing[peer].ready && say_so)
            rz_overlay_send(overlay, peer, &leaving);
    overlay->ending = true;
}
