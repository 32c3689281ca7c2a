/* SPDX-License-Identifier: BSD-3-Clause */
/* What this daemon receives: over connections that peers opened, and by datagrams. */
#include "daemon/overlay/overlay_private.h"

#include "base/no_memory.h"
#include "base/linked_list.h"
#include "base/trace.h"
#include "daemon/state/loop.h"
#include "port/clock.h"
#include "wire/protocol_encoding.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A connecting peer must prove itself within this time. On a loaded machine a daemon of the job may
 * take seconds. */
#define PROVE_NS (30 * RZ_SECOND)

/* The largest number of unproved connections. When one more arrives, the oldest is closed: a daemon
 * of the job proves itself within a few milliseconds. */
#define UNPROVED_MAX 256

#define DATAGRAM_ITEMS_MAX (RZ_DATAGRAM_PAYLOAD_MAX / sizeof(uint64_t))

static void incoming_close(struct incoming *in)
{
    struct rz_overlay *overlay = in->overlay;
    rz_list_unlink(&overlay->incoming, in);
    overlay->n_unproved -= in->peer == RZ_ID_NONE;
    event_free(in->readable);
    rz_frames_close(in->frames);
    rz_seal_end(&in->seal);
    free(in);
}

/* refused: this daemon closes the connection. Otherwise the other end has closed it, as a daemon of
 * the job does that fails or ends. */
static void close_stranger(struct incoming *in, bool refused)
{
    in->overlay->refusals.connections++;
    in->overlay->refusals.unproved += refused;
    incoming_close(in);
}

/* ---- the handshake ---- */

static void welcome(struct incoming *in, const struct rz_proof_terms *terms)
{
    uint8_t proof[RZ_PROOF_BYTES], frame[RZ_OVERLAY_HANDSHAKE_MAX];
    rz_proof_make(terms, RZ_PROOF_ACCEPTOR, proof);
    struct rz_overlay_message message = {
        .type = RZ_OVERLAY_WELCOME, .welcome = {.proof = proof, .proof_length = sizeof(proof)}};
    rz_frames_send(in->frames, frame, rz_overlay_encode(&message, frame, sizeof(frame)));
}

static bool prove(struct incoming *in, const struct rz_overlay_message *message)
{
    struct rz_overlay *overlay = in->overlay;
    const struct rz_overlay_hello *hello = &message->hello;
    if (message->type != RZ_OVERLAY_HELLO || hello->version != RZ_OVERLAY_VERSION ||
        hello->job != overlay->config.job || hello->from >= overlay->config.n_nodes ||
        hello->from == overlay->config.self || hello->proof_length != RZ_PROOF_BYTES ||
        hello->nonce_length != RZ_OVERLAY_NONCE_BYTES) {
        return false;
    }
    struct rz_overlay_terms room;
    const struct rz_proof_terms *terms = rz_overlay_terms(overlay, in->nonce, hello->nonce,
                                                          hello->from, overlay->config.self, &room);
    if (!rz_proof_holds(terms, RZ_PROOF_CONNECTOR, hello->proof)) {
        return false;
    }
    in->peer = hello->from;
    overlay->n_unproved--;
    rz_frames_limit(in->frames, RZ_OVERLAY_SEALED_MAX);
    rz_seal_begin(&in->seal, terms, RZ_PROOF_CONNECTOR);
    welcome(in, terms);
    return true;
}

static void challenge(struct incoming *in)
{
    uint8_t frame[RZ_OVERLAY_HANDSHAKE_MAX];
    rz_proof_nonce(in->nonce);
    struct rz_overlay_message message = {.type = RZ_OVERLAY_CHALLENGE,
                                         .challenge = {.version = RZ_OVERLAY_VERSION,
                                                       .nonce = in->nonce,
                                                       .nonce_length = RZ_OVERLAY_NONCE_BYTES}};
    rz_frames_send(in->frames, frame, rz_overlay_encode(&message, frame, sizeof(frame)));
}

/* The newest connection is the first of the list. */
static struct incoming *oldest_unproved(const struct rz_overlay *overlay)
{
    struct incoming *oldest = NULL;
    for (struct incoming *in = overlay->incoming; in; in = in->next) {
        if (in->peer == RZ_ID_NONE) {
            oldest = in;
        }
    }
    return oldest;
}

static void wait_for_proofs(struct rz_overlay *overlay)
{
    const struct incoming *oldest = oldest_unproved(overlay);
    rz_time now = rz_clock_now();
    event_del(overlay->patience);
    if (oldest) {
        rz_loop_arm_every(overlay->patience,
                          oldest->prove_by > now ? oldest->prove_by - now : RZ_MILLISECOND);
    }
}

static void proofs_out_of_patience(evutil_socket_t fd, short what, void *arg)
{
    struct rz_overlay *overlay = arg;
    struct incoming *oldest;
    (void)fd, (void)what;
    while ((oldest = oldest_unproved(overlay)) && oldest->prove_by <= rz_clock_now()) {
        close_stranger(oldest, true);
    }
    wait_for_proofs(overlay);
}

/* ---- connections ---- */

/* Returns false if the connection must be closed. */
static bool incoming_frame(struct incoming *in, const void *bytes, size_t n)
{
    struct rz_overlay *overlay = in->overlay;
    struct rz_overlay_message message;
    if (in->peer == RZ_ID_NONE) {
        return rz_overlay_decode(&message, bytes, n) == RZ_OK && prove(in, &message);
    }
    if (rz_seal_get(&in->seal, bytes, n, overlay->opened) != RZ_OK ||
        rz_overlay_decode(&message, overlay->opened, n - RZ_SEAL_BYTES) != RZ_OK) {
        return false;
    }
    RZ_TRACE(PEER_SAID, in->peer, message.type, 0);
    if (overlay->outgoing[in->peer].fenced) {
        return true; /* dropped; the peer was told when it was fenced */
    }
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
    while (good && rz_frames_next(in->frames, &bytes, &n)) {
        good = incoming_frame(in, bytes, n);
    }
    if (good && (status == RZ_OK || status == RZ_ERR_NO_MEMORY)) {
        return;
    }
    if (in->peer == RZ_ID_NONE) {
        close_stranger(in, !good || status == RZ_ERR_MALFORMED);
        return;
    }
    rz_id peer = in->peer;
    RZ_TRACE(PEER_LOST, peer, 0, status != RZ_ERR_TIMEOUT);
    overlay->outgoing[peer].harmed |= !good || status == RZ_ERR_MALFORMED;
    incoming_close(in);
    if (status != RZ_ERR_TIMEOUT) { /* a timeout is no evidence */
        rz_overlay_suspect(overlay, peer);
    }
}

static void accept_one(evutil_socket_t listen_fd, short what, void *arg)
{
    struct rz_overlay *overlay = arg;
    (void)what;
    int fd;
    rz_status_t status = rz_socket_accept(listen_fd, &fd, NULL);
    if (status != RZ_OK) {
        if (status != RZ_IN_PROGRESS) {
            rz_loop_listen_rest(&overlay->accepting);
        }
        return;
    }
    if (overlay->n_unproved >= UNPROVED_MAX) {
        close_stranger(oldest_unproved(overlay), true);
    }
    struct incoming *in = calloc(1, sizeof(*in));
    rz_need_memory(in, "for a connection of another daemon"); /* it would take this for a failure */
    if (rz_frames_open(&in->frames, fd, RZ_OVERLAY_HANDSHAKE_MAX) != RZ_OK) {
        free(in);
        close(fd);
        return;
    }
    in->overlay = overlay;
    in->peer = RZ_ID_NONE;
    rz_time within = overlay->config.prove_ns;
    in->prove_by = rz_clock_now() + (within > 0 ? within : PROVE_NS);
    in->readable = event_new(overlay->base, fd, EV_READ | EV_PERSIST, incoming_read, in);
    event_add(in->readable, NULL);
    in->next = overlay->incoming;
    overlay->incoming = in;
    if (overlay->n_unproved++ == 0) {
        wait_for_proofs(overlay);
    }
    challenge(in);
}

/* ---- datagrams ---- */

static void take_datagram(struct rz_overlay *overlay, const uint8_t *packet, size_t bytes)
{
    struct rz_message message;
    uint64_t items[DATAGRAM_ITEMS_MAX];
    const uint8_t *payload;
    size_t n;
    rz_id from;
    rz_status_t status = rz_datagram_unseal(overlay->datagrams, packet, bytes, &from, &payload, &n);
    if (status != RZ_OK) {
        overlay->refusals.repeated += status == RZ_ERR_INVALID;
        overlay->refusals.datagrams += status != RZ_ERR_INVALID;
        return;
    }
    if (rz_protocol_message_decode(&message, items, DATAGRAM_ITEMS_MAX, payload, n) == RZ_OK &&
        message.from == from && !overlay->outgoing[from].fenced) {
        overlay->config.heartbeat(overlay->config.arg, &message, items);
    }
}

static void datagrams_read(evutil_socket_t fd, short what, void *arg)
{
    struct rz_overlay *overlay = arg;
    (void)what;
    uint8_t packet[RZ_DATAGRAM_MAX + 1];
    size_t n = 0;
    rz_status_t status;
    /* RZ_ERR_CLOSED refers to an earlier datagram of this daemon, whose receiver has gone. */
    while ((status = rz_socket_receive_from(fd, packet, sizeof(packet), &n, NULL)) == RZ_OK ||
           status == RZ_ERR_CLOSED || status == RZ_ERR_TRUNCATE) {
        if (status == RZ_OK) {
            take_datagram(overlay, packet, n);
        } else {
            /* A truncated datagram is longer than any of the overlay's. */
            overlay->refusals.datagrams += status == RZ_ERR_TRUNCATE;
        }
    }
}

void rz_overlay_read_heartbeats(struct rz_overlay *overlay)
{
    datagrams_read(overlay->udp_fd, EV_READ, overlay);
}

/* ---- open and close ---- */

rz_status_t rz_overlay_receive_begin(struct rz_overlay *overlay)
{
    overlay->arriving =
        event_new(overlay->base, overlay->udp_fd, EV_READ | EV_PERSIST, datagrams_read, overlay);
    if (overlay->arriving) {
        /* First priority: a heartbeat that is read late looks like a failure. */
        event_priority_set(overlay->arriving, 0);
    }
    if (!overlay->arriving || rz_loop_timer(overlay->base, &overlay->patience,
                                            proofs_out_of_patience, overlay) != RZ_OK) {
        return RZ_ERR_NO_MEMORY;
    }
    struct rz_loop_listener *accepting = &overlay->accepting;
    rz_status_t status =
        rz_loop_listen(overlay->base, accepting, accepting->fd, accept_one, overlay);
    if (status != RZ_OK) {
        return status;
    }
    event_add(overlay->arriving, NULL);
    return RZ_OK;
}

void rz_overlay_receive_end(struct rz_overlay *overlay)
{
    while (overlay->incoming) {
        incoming_close(overlay->incoming);
    }
    rz_loop_listen_end(&overlay->accepting);
    rz_loop_free(overlay->arriving);
    rz_loop_free(overlay->patience);
}
