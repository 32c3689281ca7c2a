/* SPDX-License-Identifier: BSD-3-Clause */
/* The connections that this daemon opened, and on which it sends. */
#include "daemon/overlay/overlay_private.h"

#include "base/no_memory.h"
#include "base/trace.h"
#include "daemon/state/loop.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The time between two attempts to connect while the peer cannot be reached. */
#define AGAIN_NS RZ_SECOND

static void outgoing_failed(struct outgoing *out, rz_status_t status);

static void outgoing_update(struct outgoing *out)
{
    if (rz_frames_want_write(out->frames)) {
        event_add(out->writable, NULL);
    }
    if (rz_frames_queued(out->frames) >= RZ_OVERLAY_QUEUE_LOW) {
        out->above_low = true;
    }
}

static void outgoing_push(struct outgoing *out, const void *bytes, size_t n)
{
    if (rz_frames_send(out->frames, bytes, n) != RZ_OK) {
        /* The end is reported from the loop, not inside the caller. */
        event_active(out->readable, EV_READ, 0);
    } else {
        outgoing_update(out);
    }
}

/* For frames after the handshake: an attacker can neither read, change, repeat nor leave out a
 * frame. */
static void outgoing_push_sealed(struct outgoing *out, const void *bytes, size_t n)
{
    uint8_t *sealed = out->overlay->sealed;
    rz_seal_put(&out->seal, bytes, n, sealed);
    outgoing_push(out, sealed, n + RZ_SEAL_BYTES);
}

static void outgoing_write(evutil_socket_t fd, short what, void *arg)
{
    struct outgoing *out = arg;
    (void)fd, (void)what;
    rz_status_t status = rz_frames_flush(out->frames);
    if (status != RZ_OK && status != RZ_IN_PROGRESS) {
        outgoing_failed(out, status);
        return;
    }
    if (rz_frames_want_write(out->frames)) {
        event_add(out->writable, NULL);
    }
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

/* The frames that wait for the connection are kept. */
static void drop_connection(struct outgoing *out)
{
    if (out->readable) {
        event_free(out->readable);
    }
    if (out->writable) {
        event_free(out->writable);
    }
    if (out->frames) {
        rz_frames_close(out->frames);
    }
    out->readable = out->writable = NULL;
    out->frames = NULL;
    rz_seal_end(&out->seal);
    out->said_hello = out->ready = false;
}

void rz_overlay_outgoing_close(struct outgoing *out)
{
    drop_connection(out);
    rz_loop_free(out->again);
    out->again = NULL;
    forget_waiting(out);
}

static void try_again(evutil_socket_t fd, short what, void *arg)
{
    struct outgoing *out = arg;
    (void)fd, (void)what;
    if (!out->frames && !out->overlay->ending) {
        rz_overlay_outgoing_open(out);
    }
}

static void connect_later(struct outgoing *out)
{
    drop_connection(out);
    if (!out->again) {
        out->again = evtimer_new(out->overlay->base, try_again, out);
    }
    if (out->again) {
        event_add(out->again, &(struct timeval){.tv_sec = AGAIN_NS / RZ_SECOND});
    }
}

/*
 * RZ_ERR_CLOSED is proof from the peer's machine that the peer's daemon has ended, except during
 * the handshake: a loaded daemon may have closed a connection that took too long, and a failed
 * daemon refuses the next attempt.
 *
 * Other errors mean that the peer cannot be reached, for example because one of the two nodes is
 * cut off. They prove nothing: otherwise half of a partition would outvote the other half. What was
 * sent over a lost connection cannot be sent again; then the peer counts as silent.
 */
static void outgoing_failed(struct outgoing *out, rz_status_t status)
{
    struct rz_overlay *overlay = out->overlay;
    RZ_TRACE(PEER_LOST, out->peer, 0, status == RZ_ERR_CLOSED);
    if (!out->ready && (status != RZ_ERR_CLOSED || out->said_hello)) {
        connect_later(out);
        return;
    }
    rz_overlay_outgoing_close(out);
    if (status == RZ_ERR_CLOSED) {
        rz_overlay_suspect(overlay, out->peer);
    } else if (!out->broken && !out->fenced && !out->left && !overlay->ending) {
        overlay->config.lost(overlay->config.arg, out->peer);
    }
}

/* ---- proof of the key; then the waiting frames are sent ---- */

static const struct rz_proof_terms *outgoing_terms(const struct outgoing *out,
                                                   struct rz_overlay_terms *room)
{
    return rz_overlay_terms(out->overlay, out->challenge, out->nonce, out->overlay->config.self,
                            out->peer, room);
}

static void answer_challenge(struct outgoing *out, const struct rz_overlay_challenge *challenge)
{
    struct rz_overlay *overlay = out->overlay;
    uint8_t proof[RZ_PROOF_BYTES], frame[RZ_OVERLAY_HANDSHAKE_MAX];
    struct rz_overlay_terms room;
    memcpy(out->challenge, challenge->nonce, sizeof(out->challenge));
    rz_proof_nonce(out->nonce);
    rz_proof_make(outgoing_terms(out, &room), RZ_PROOF_CONNECTOR, proof);
    struct rz_overlay_message hello = {.type = RZ_OVERLAY_HELLO,
                                       .hello = {.version = RZ_OVERLAY_VERSION,
                                                 .job = overlay->config.job,
                                                 .from = overlay->config.self,
                                                 .proof = proof,
                                                 .proof_length = sizeof(proof),
                                                 .nonce = out->nonce,
                                                 .nonce_length = sizeof(out->nonce)}};
    out->said_hello = true;
    outgoing_push(out, frame, rz_overlay_encode(&hello, frame, sizeof(frame)));
}

static void become_ready(struct outgoing *out)
{
    struct rz_overlay_terms room;
    out->ready = true;
    RZ_TRACE(PEER_CONNECTED, out->peer, 0, 0);
    rz_frames_limit(out->frames, RZ_OVERLAY_SEALED_MAX);
    rz_seal_begin(&out->seal, outgoing_terms(out, &room), RZ_PROOF_CONNECTOR);
    for (struct waiting_frame *f = out->first; f; f = f->next) {
        outgoing_push_sealed(out, f->data, f->bytes);
    }
    forget_waiting(out);
    /* Modules that wait for room are notified even if everything is sent already. */
    event_add(out->writable, NULL);
}

static bool is_proof(const struct outgoing *out, const struct rz_overlay_welcome *welcome)
{
    struct rz_overlay_terms room;
    return welcome->proof_length == RZ_PROOF_BYTES &&
           rz_proof_holds(outgoing_terms(out, &room), RZ_PROOF_ACCEPTOR, welcome->proof);
}

/* Returns false if the listener is no daemon of the job. */
static bool shake_hands(struct outgoing *out, const void *bytes, size_t n)
{
    struct rz_overlay_message message;
    if (rz_overlay_decode(&message, bytes, n) != RZ_OK) {
        return false;
    }
    if (!out->said_hello && message.type == RZ_OVERLAY_CHALLENGE &&
        message.challenge.version == RZ_OVERLAY_VERSION &&
        message.challenge.nonce_length == RZ_OVERLAY_NONCE_BYTES) {
        answer_challenge(out, &message.challenge);
        return true;
    }
    if (!out->said_hello || message.type != RZ_OVERLAY_WELCOME ||
        !is_proof(out, &message.welcome)) {
        return false;
    }
    become_ready(out);
    return true;
}

/* After the handshake nothing may arrive but the end of the connection. */
static void outgoing_read(evutil_socket_t fd, short what, void *arg)
{
    struct outgoing *out = arg;
    (void)fd, (void)what;
    rz_status_t status = rz_frames_read(out->frames);
    const void *bytes;
    size_t n;
    bool good = status != RZ_ERR_MALFORMED;
    while (good && rz_frames_next(out->frames, &bytes, &n)) {
        good = !out->ready && shake_hands(out, bytes, n);
    }
    if (!good) {
        /* Another program listens at the peer's address, or one in the middle has changed what the
         * peer said: nothing is sent to it, and this proves no failure. */
        out->overlay->refusals.strangers++;
        if (out->ready) {
            event_del(out->readable); /* what this daemon sends is not concerned */
        } else {
            connect_later(out);
        }
    } else if (status == RZ_ERR_CLOSED || status == RZ_ERR_TIMEOUT) {
        outgoing_failed(out, status);
    }
}

void rz_overlay_outgoing_open(struct outgoing *out)
{
    struct rz_overlay *overlay = out->overlay;
    int fd;
    RZ_TRACE(PEER_CONNECT, out->peer, 0, 0);
    rz_status_t status = rz_socket_connect(&overlay->peers[out->peer].tcp, &fd);
    if (status != RZ_OK && status != RZ_IN_PROGRESS) {
        if (status == RZ_ERR_CLOSED) {
            rz_overlay_suspect(overlay, out->peer);
        } else {
            connect_later(out);
        }
        return;
    }
    if (rz_frames_open(&out->frames, fd, RZ_OVERLAY_HANDSHAKE_MAX) != RZ_OK) {
        close(fd);
        return;
    }
    out->readable = event_new(overlay->base, fd, EV_READ | EV_PERSIST, outgoing_read, out);
    out->writable = event_new(overlay->base, fd, EV_WRITE, outgoing_write, out);
    event_add(out->readable, NULL);
}

void rz_overlay_outgoing_send(struct outgoing *out, const void *bytes, size_t n)
{
    if (out->broken) {
        return;
    }
    if (!out->frames && !(out->again && event_pending(out->again, EV_TIMEOUT, NULL))) {
        rz_overlay_outgoing_open(out);
    }
    if (out->ready) {
        outgoing_push_sealed(out, bytes, n);
        return;
    }
    struct waiting_frame *frame = malloc(sizeof(*frame) + n);
    rz_need_memory(frame, "for a message to another daemon");
    *frame = (struct waiting_frame){.bytes = n};
    memcpy(frame->data, bytes, n);
    *out->last = frame;
    out->last = &frame->next;
    out->waiting_bytes += n;
    if (out->waiting_bytes >= RZ_OVERLAY_QUEUE_LOW) {
        out->above_low = true;
    }
}
