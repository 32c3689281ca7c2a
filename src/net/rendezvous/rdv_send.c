/* SPDX-License-Identifier: BSD-3-Clause */
/* Outgoing frames. */
#include "net/rendezvous/rendezvous.h"

#include "base/assert.h"
/* Bytes that may be sent to one peer in one turn, so that others get their turn. */
#define TURN_BYTES_MAX (4u << 20)

/* op: whose header goes along; NULL: none. */
static rz_status_t put(struct rz_rdv_peer *peer, struct rz_rdv_frame frame,
                       const struct rz_net_op *op)
{
    if (op) {
        frame.header = op->header;
        frame.header_bytes = op->header_bytes;
    }
    return peer->net->carrier->put(peer, &frame);
}

bool rz_rdv_send_last(struct rz_rdv_peer *peer)
{
    if (!peer->last_sent && peer->connection && !peer->error_seen) {
        peer->last_sent = put(peer, (struct rz_rdv_frame){.kind = RZ_RDV_LAST}, NULL) == RZ_OK;
    }
    return peer->last_sent || !peer->connection || peer->error_seen;
}

rz_status_t rz_rdv_send(struct rz_net *net, rz_peer_t number, const void *data, size_t bytes,
                        struct rz_net_op *op)
{
    struct rz_rdv_peer *peer = rz_rdv_peer_by_number(net, number);
    rz_assert(op->header_bytes <= RZ_NET_HEADER_MAX);
    if (!peer) {
        return RZ_ERR_INVALID;
    }
    if (peer->state != RZ_RDV_LIVE) {
        return peer->status;
    }
    if (!peer->waiting.first && bytes <= net->eager_max && rz_rdv_peer_reach(peer)) {
        rz_status_t status = put(
            peer, (struct rz_rdv_frame){.kind = RZ_RDV_SMALL, .data = data, .bytes = bytes}, op);
        if (status != RZ_IN_PROGRESS) {
            return status;
        }
    }
    rz_rdv_op_set(op, RZ_RDV_DATA, (uintptr_t)data);
    rz_rdv_op_set(op, RZ_RDV_BYTES, bytes);
    rz_rdv_op_set(op, RZ_RDV_ID, ++net->offers);
    rz_rdv_op_set(op, RZ_RDV_DONE, 0);
    rz_rdv_queue_put(&peer->waiting, op);
    (void)rz_rdv_pump(peer);
    return RZ_IN_PROGRESS;
}

/* ---- Parts of pumping: each sends one frame, or returns why not (INVALID: nothing left) ---- */

static rz_status_t answer(struct rz_rdv_peer *peer)
{
    struct rz_net_token *token = peer->dropping;
    struct rz_net_op *op = peer->taking.first;
    rz_status_t status = RZ_ERR_INVALID;
    if (token) {
        status = put(peer, (struct rz_rdv_frame){.kind = RZ_RDV_DROP, .id = token->id}, NULL);
        if (status == RZ_OK) {
            rz_rdv_token_free(token);
        }
    } else if (op) {
        status = put(peer,
                     (struct rz_rdv_frame){.kind = RZ_RDV_TAKE,
                                           .id = rz_rdv_op_get(op, RZ_RDV_ID),
                                           .place = rz_rdv_op_get(op, RZ_RDV_BYTES)},
                     NULL);
        if (status == RZ_OK) {
            rz_rdv_queue_put(&peer->fetching, rz_rdv_queue_take(&peer->taking));
        }
    }
    return status;
}

static rz_status_t begin(struct rz_rdv_peer *peer)
{
    struct rz_net_op *op = peer->waiting.first;
    if (!op) {
        return RZ_ERR_INVALID;
    }
    uint64_t bytes = rz_rdv_op_get(op, RZ_RDV_BYTES), id = rz_rdv_op_get(op, RZ_RDV_ID);
    const void *data = op->net_private[RZ_RDV_DATA];
    bool small = bytes <= peer->net->eager_max;
    const struct rz_rdv_frame whole = {.kind = RZ_RDV_SMALL, .data = data, .bytes = bytes};
    const struct rz_rdv_frame offer = {.kind = RZ_RDV_OFFER, .id = id, .place = bytes};
    rz_status_t status = put(peer, small ? whole : offer, op);
    if (status != RZ_OK) {
        return status;
    }
    (void)rz_rdv_queue_take(&peer->waiting);
    if (small) {
        rz_rdv_finish(peer->net, op, RZ_OK);
    } else {
        rz_rdv_queue_put(&peer->offered, op);
    }
    return RZ_OK;
}

static rz_status_t stream(struct rz_rdv_peer *peer)
{
    struct rz_net_op *op = peer->streaming.first;
    if (!op) {
        return RZ_ERR_INVALID;
    }
    uint64_t done = rz_rdv_op_get(op, RZ_RDV_DONE), left = rz_rdv_op_get(op, RZ_RDV_BYTES) - done;
    const unsigned char *data = op->net_private[RZ_RDV_DATA];
    size_t piece_max = peer->net->piece_max;
    size_t piece = left < piece_max ? left : piece_max;
    rz_status_t status = put(peer,
                             (struct rz_rdv_frame){.kind = RZ_RDV_PIECE,
                                                   .id = rz_rdv_op_get(op, RZ_RDV_ID),
                                                   .place = done,
                                                   .data = data + done,
                                                   .bytes = piece},
                             NULL);
    if (status != RZ_OK) {
        return status;
    }
    rz_rdv_op_set(op, RZ_RDV_DONE, done + piece);
    if (piece == left) {
        rz_rdv_finish(peer->net, rz_rdv_queue_take(&peer->streaming), RZ_OK);
    }
    return RZ_OK;
}

bool rz_rdv_pump(struct rz_rdv_peer *peer)
{
    /* Small messages do not wait behind large payloads: the three take turns. */
    static rz_status_t (*const parts[])(struct rz_rdv_peer *) = {answer, begin, stream};
    enum { PARTS = sizeof(parts) / sizeof(parts[0]) };
    unsigned empty = 0;
    bool sent = false;
    bool room = rz_rdv_peer_reach(peer);
    size_t rounds = TURN_BYTES_MAX / peer->net->piece_max * PARTS;
    for (size_t i = 0; room && empty < PARTS && i < rounds; i++) {
        rz_status_t status = parts[i % PARTS](peer);
        empty = status == RZ_ERR_INVALID ? empty + 1 : 0;
        room = status == RZ_OK || status == RZ_ERR_INVALID;
        sent = sent || status == RZ_OK;
    }
    if (empty < PARTS && peer->address) {
        rz_rdv_peer_attend(peer);
    }
    return sent;
}

/* ---- answers to our offers ---- */

/* The offer with that id, if it was not withdrawn since. */
static bool was_offered(const struct rz_rdv_peer *peer, uint64_t id)
{
    return id > 0 && id <= peer->net->offers;
}

void rz_rdv_taken(struct rz_rdv_peer *peer, uint64_t id, uint64_t bytes)
{
    struct rz_net_op *op = rz_rdv_queue_find(&peer->offered, id);
    if (!op && was_offered(peer, id)) {
        return;
    }
    if (!op || bytes == 0 || bytes > rz_rdv_op_get(op, RZ_RDV_BYTES)) {
        rz_rdv_peer_break(peer);
        return;
    }
    rz_rdv_queue_remove(&peer->offered, op);
    rz_rdv_op_set(op, RZ_RDV_BYTES, bytes);
    rz_rdv_queue_put(&peer->streaming, op);
    rz_rdv_peer_attend(peer);
}

void rz_rdv_dropped(struct rz_rdv_peer *peer, uint64_t id)
{
    struct rz_net_op *op = rz_rdv_queue_find(&peer->offered, id);
    if (!op) {
        if (!was_offered(peer, id)) {
            rz_rdv_peer_break(peer);
        }
        return;
    }
    rz_rdv_queue_remove(&peer->offered, op);
    rz_rdv_finish(peer->net, op, RZ_OK);
}
