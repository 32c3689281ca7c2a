/* SPDX-License-Identifier: BSD-3-Clause */
/* Incoming frames. */
#include "net/rendezvous/rendezvous.h"

#include "base/no_memory.h"
#include "base/linked_list.h"

#include <stdlib.h>
#include <string.h>

/* ---- tokens ---- */

void rz_rdv_token_free(struct rz_net_token *token)
{
    rz_list_remove(token);
    free(token);
}

void rz_rdv_drop(struct rz_net *net, rz_net_token_t token)
{
    struct rz_rdv_peer *peer = token->peer;
    (void)net;
    if (token->gone) {
        rz_rdv_token_free(token);
        return;
    }
    rz_list_remove(token);
    rz_list_push(&peer->dropping, token);
    (void)rz_rdv_pump(peer);
}

rz_status_t rz_rdv_fetch(struct rz_net *net, rz_net_token_t token, void *data, size_t bytes,
                         struct rz_net_op *op)
{
    struct rz_rdv_peer *peer = token->peer;
    rz_status_t status = token->gone ? peer->status : RZ_OK;
    if (status != RZ_OK || bytes == 0) {
        rz_rdv_drop(net, token);
        return status;
    }
    rz_rdv_op_set(op, RZ_RDV_DATA, (uintptr_t)data);
    rz_rdv_op_set(op, RZ_RDV_BYTES, bytes < token->bytes ? bytes : token->bytes);
    rz_rdv_op_set(op, RZ_RDV_ID, token->id);
    rz_rdv_op_set(op, RZ_RDV_DONE, 0);
    rz_rdv_token_free(token);
    rz_rdv_queue_put(&peer->taking, op);
    (void)rz_rdv_pump(peer);
    return RZ_IN_PROGRESS;
}

/* ---- frames ---- */

static void offered(struct rz_rdv_peer *peer, const struct rz_rdv_frame *frame)
{
    struct rz_net_token *token = calloc(1, sizeof(*token));
    rz_need_memory(token, "for a message that arrives"); /* its sender would wait for ever */
    token->peer = peer;
    token->id = frame->id;
    token->bytes = frame->place;
    /* A peer that disconnected from us, or was declared failed, may still send: its payloads are
     * gone like all others of it. */
    token->gone = peer->state == RZ_RDV_BROKEN || peer->state == RZ_RDV_ENDED;
    rz_list_push(&peer->tokens, token);
    const struct rz_net_host *host = &peer->net->host;
    host->arrived(host->arg, frame->header, frame->header_bytes, NULL, token->bytes, token);
}

void *rz_rdv_piece_place(struct rz_rdv_peer *peer, const struct rz_rdv_frame *piece)
{
    bool live = peer->state == RZ_RDV_LIVE && !peer->error_seen;
    struct rz_net_op *op = live ? rz_rdv_queue_find(&peer->fetching, piece->id) : NULL;
    if (!op) {
        return NULL; /* not needed any more */
    }
    uint64_t bytes = rz_rdv_op_get(op, RZ_RDV_BYTES);
    if (piece->place > bytes || piece->bytes > bytes - piece->place ||
        piece->bytes > bytes - rz_rdv_op_get(op, RZ_RDV_DONE)) {
        rz_rdv_peer_break(peer);
        return NULL;
    }
    return (unsigned char *)op->net_private[RZ_RDV_DATA] + piece->place;
}

void rz_rdv_piece_done(struct rz_rdv_peer *peer, const struct rz_rdv_frame *piece)
{
    if (!rz_rdv_piece_place(peer, piece)) {
        return;
    }
    struct rz_net_op *op = rz_rdv_queue_find(&peer->fetching, piece->id);
    uint64_t done = rz_rdv_op_get(op, RZ_RDV_DONE) + piece->bytes; /* in any order */
    rz_rdv_op_set(op, RZ_RDV_DONE, done);
    if (done < rz_rdv_op_get(op, RZ_RDV_BYTES)) {
        return;
    }
    rz_rdv_queue_remove(&peer->fetching, op);
    rz_rdv_finish(peer->net, op, RZ_OK);
}

/* Frames that only a live peer may send. */
static void answered(struct rz_rdv_peer *peer, const struct rz_rdv_frame *frame)
{
    if (peer->state != RZ_RDV_LIVE || peer->error_seen) {
        return;
    }
    if (frame->kind == RZ_RDV_TAKE) {
        rz_rdv_taken(peer, frame->id, frame->place);
    } else if (frame->kind == RZ_RDV_DROP) {
        rz_rdv_dropped(peer, frame->id);
    }
}

void rz_rdv_arrived(struct rz_rdv_peer *peer, const struct rz_rdv_frame *frame)
{
    const struct rz_net *net = peer->net;
    if (net->deaf) {
        return;
    }
    if (frame->kind == RZ_RDV_SMALL && frame->bytes <= net->carrier->eager_max) {
        net->host.arrived(net->host.arg, frame->header, frame->header_bytes, frame->data,
                          frame->bytes, NULL);
    } else if (frame->kind == RZ_RDV_OFFER && frame->place > 0) {
        offered(peer, frame);
    } else if (frame->kind == RZ_RDV_PIECE) {
        void *place = rz_rdv_piece_place(peer, frame);
        if (place) {
            memcpy(place, frame->data, frame->bytes);
            rz_rdv_piece_done(peer, frame);
        }
    } else {
        answered(peer, frame);
    }
}
