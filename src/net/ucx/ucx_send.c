/* What goes out. */
#include "net/ucx/ucx_internal.h"

#include "base/assert.h"
#include "wire/cursor.h"

#include <string.h>

/* Bytes that one turn may send to one peer; the others want their turn. */
#define TURN_BYTES_MAX (4u << 20)

/*
 * Sends one frame now: RZ_OK, RZ_IN_PROGRESS (no room, nothing was sent), or RZ_ERR_CLOSED.
 * UCX keeps nothing: header and data may be reused.
 */
static rz_status_t put(struct rz_ucx_peer *peer, enum rz_ucx_kind kind, uint64_t id, uint64_t place,
                       const struct rz_net_op *op, const void *data, size_t bytes)
{
    unsigned char frame[RZ_UCX_FRAME_BYTES + RZ_NET_HEADER_MAX];
    struct rz_wire_writer writer;
    size_t header_bytes = op != NULL ? op->header_bytes : 0;
    rz_wire_writer_init(&writer, frame, sizeof frame);
    rz_wire_put_u64(&writer, peer->net->name);
    rz_wire_put_u32(&writer, kind);
    rz_wire_put_u64(&writer, id);
    rz_wire_put_u64(&writer, place);
    if (header_bytes > 0)
        memcpy(writer.at, op->header, header_bytes);
    ucp_request_param_t parameters = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL,
        .flags = UCP_AM_SEND_FLAG_EAGER,
    };
    ucs_status_ptr_t result =
        ucp_am_send_nbx(peer->endpoint, RZ_UCX_MESSAGE, frame, RZ_UCX_FRAME_BYTES + header_bytes,
                        data, bytes, &parameters);
    rz_assert(!UCS_PTR_IS_PTR(result));
    if (UCS_PTR_STATUS(result) == UCS_OK)
        return RZ_OK;
    if (UCS_PTR_STATUS(result) == UCS_ERR_NO_RESOURCE)
        return RZ_IN_PROGRESS;
    rz_ucx_peer_break(peer);
    return RZ_ERR_CLOSED;
}

bool rz_ucx_send_last(struct rz_ucx_peer *peer)
{
    if (!peer->last_sent && peer->endpoint != NULL && !peer->error_seen)
        peer->last_sent = put(peer, RZ_UCX_LAST, 0, 0, NULL, NULL, 0) == RZ_OK;
    return peer->last_sent || peer->endpoint == NULL || peer->error_seen;
}

rz_status_t rz_ucx_send(struct rz_net *net, rz_peer_t number, const void *data, size_t bytes,
                        struct rz_net_op *op)
{
    struct rz_ucx_peer *peer = rz_ucx_peer_by_number(net, number);
    rz_assert(op->header_bytes <= RZ_NET_HEADER_MAX);
    if (peer == NULL)
        return RZ_ERR_INVALID;
    if (peer->state != RZ_UCX_LIVE)
        return peer->status;
    if (peer->waiting.first == NULL && bytes <= RZ_UCX_EAGER_MAX && rz_ucx_peer_reach(peer)) {
        rz_status_t status = put(peer, RZ_UCX_SMALL, 0, 0, op, data, bytes);
        if (status != RZ_IN_PROGRESS)
            return status;
    }
    rz_ucx_op_set(op, RZ_UCX_DATA, (uintptr_t)data);
    rz_ucx_op_set(op, RZ_UCX_BYTES, bytes);
    rz_ucx_op_set(op, RZ_UCX_ID, ++net->offers);
    rz_ucx_op_set(op, RZ_UCX_DONE, 0);
    rz_ucx_queue_put(&peer->waiting, op);
    (void)rz_ucx_pump(peer);
    return RZ_IN_PROGRESS;
}

/* ---- the parts of pumping: each sends one frame, or says why not; RZ_ERR_INVALID: nothing to send
 * ---- */

static rz_status_t answer(struct rz_ucx_peer *peer)
{
    struct rz_net_token *token = peer->dropping;
    struct rz_net_op *op = peer->taking.first;
    rz_status_t status = RZ_ERR_INVALID;
    if (token != NULL) {
        status = put(peer, RZ_UCX_DROP, token->id, 0, NULL, NULL, 0);
        if (status == RZ_OK)
            rz_ucx_token_free(token);
    } else if (op != NULL) {
        status = put(peer, RZ_UCX_TAKE, rz_ucx_op_get(op, RZ_UCX_ID),
                     rz_ucx_op_get(op, RZ_UCX_BYTES), NULL, NULL, 0);
        if (status == RZ_OK)
            rz_ucx_queue_put(&peer->fetching, rz_ucx_queue_take(&peer->taking));
    }
    return status;
}

static rz_status_t begin(struct rz_ucx_peer *peer)
{
    struct rz_net_op *op = peer->waiting.first;
    if (op == NULL)
        return RZ_ERR_INVALID;
    uint64_t bytes = rz_ucx_op_get(op, RZ_UCX_BYTES), id = rz_ucx_op_get(op, RZ_UCX_ID);
    const void *data = op->net_private[RZ_UCX_DATA];
    bool small = bytes <= RZ_UCX_EAGER_MAX;
    rz_status_t status = small ? put(peer, RZ_UCX_SMALL, 0, 0, op, data, bytes)
                               : put(peer, RZ_UCX_OFFER, id, bytes, op, NULL, 0);
    if (status != RZ_OK)
        return status;
    (void)rz_ucx_queue_take(&peer->waiting);
    if (small)
        rz_ucx_finish(peer->net, op, RZ_OK);
    else
        rz_ucx_queue_put(&peer->offered, op);
    return RZ_OK;
}

static rz_status_t stream(struct rz_ucx_peer *peer)
{
    struct rz_net_op *op = peer->streaming.first;
    if (op == NULL)
        return RZ_ERR_INVALID;
    uint64_t done = rz_ucx_op_get(op, RZ_UCX_DONE), left = rz_ucx_op_get(op, RZ_UCX_BYTES) - done;
    const unsigned char *data = op->net_private[RZ_UCX_DATA];
    size_t piece = left < RZ_UCX_PIECE_MAX ? left : RZ_UCX_PIECE_MAX;
    rz_status_t status =
        put(peer, RZ_UCX_PIECE, rz_ucx_op_get(op, RZ_UCX_ID), done, NULL, data + done, piece);
    if (status != RZ_OK)
        return status;
    rz_ucx_op_set(op, RZ_UCX_DONE, done + piece);
    if (piece == left)
        rz_ucx_finish(peer->net, rz_ucx_queue_take(&peer->streaming), RZ_OK);
    return RZ_OK;
}

bool rz_ucx_pump(struct rz_ucx_peer *peer)
{
    /* Small messages do not wait behind large payloads: the three take turns. */
    static rz_status_t (*const parts[])(struct rz_ucx_peer *) = {answer, begin, stream};
    enum { PARTS = sizeof parts / sizeof parts[0] };
    unsigned empty = 0;
    bool sent = false;
    bool room = rz_ucx_peer_reach(peer);
    for (unsigned i = 0; room && empty < PARTS && i < TURN_BYTES_MAX / RZ_UCX_PIECE_MAX * PARTS;
         i++) {
        rz_status_t status = parts[i % PARTS](peer);
        empty = status == RZ_ERR_INVALID ? empty + 1 : 0;
        room = status == RZ_OK || status == RZ_ERR_INVALID;
        sent = sent || status == RZ_OK;
    }
    if (empty < PARTS && peer->address != NULL)
        rz_ucx_peer_attend(peer);
    return sent;
}

/* ---- answers to our offers ---- */

/* And was withdrawn since. */
static bool was_offered(const struct rz_ucx_peer *peer, uint64_t id)
{
    return id > 0 && id <= peer->net->offers;
}

void rz_ucx_taken(struct rz_ucx_peer *peer, uint64_t id, uint64_t bytes)
{
    struct rz_net_op *op = rz_ucx_queue_find(&peer->offered, id);
    if (op == NULL && was_offered(peer, id))
        return;
    if (op == NULL || bytes == 0 || bytes > rz_ucx_op_get(op, RZ_UCX_BYTES)) {
        rz_ucx_peer_break(peer);
        return;
    }
    rz_ucx_queue_remove(&peer->offered, op);
    rz_ucx_op_set(op, RZ_UCX_BYTES, bytes);
    rz_ucx_queue_put(&peer->streaming, op);
    rz_ucx_peer_attend(peer);
}

void rz_ucx_dropped(struct rz_ucx_peer *peer, uint64_t id)
{
    struct rz_net_op *op = rz_ucx_queue_find(&peer->offered, id);
    if (op == NULL) {
        if (!was_offered(peer, id))
            rz_ucx_peer_break(peer);
        return;
    }
    rz_ucx_queue_remove(&peer->offered, op);
    rz_ucx_finish(peer->net, op, RZ_OK);
}
