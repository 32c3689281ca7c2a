/* What comes in. */
#include "net/ucx/ucx_internal.h"

#include "wire/cursor.h"

#include <stdlib.h>
#include <string.h>

/* ---- tokens ---- */

static void token_link(struct rz_net_token *token, struct rz_net_token **list)
{
    token->next = *list;
    token->back = list;
    if (token->next != NULL)
        token->next->back = &token->next;
    *list = token;
}

static void token_unlink(struct rz_net_token *token)
{
    *token->back = token->next;
    if (token->next != NULL)
        token->next->back = token->back;
}

void rz_ucx_token_free(struct rz_net_token *token)
{
    token_unlink(token);
    free(token);
}

void rz_ucx_drop(struct rz_net *net, rz_net_token_t token)
{
    struct rz_ucx_peer *peer = token->peer;
    (void)net;
    if (token->gone) {
        rz_ucx_token_free(token);
        return;
    }
    token_unlink(token);
    token_link(token, &peer->dropping);
    (void)rz_ucx_pump(peer);
}

rz_status_t rz_ucx_fetch(struct rz_net *net, rz_net_token_t token, void *data, size_t bytes,
                         struct rz_net_op *op)
{
    struct rz_ucx_peer *peer = token->peer;
    rz_status_t status = token->gone ? peer->status : RZ_OK;
    if (status != RZ_OK || bytes == 0) {
        rz_ucx_drop(net, token);
        return status;
    }
    rz_ucx_op_set(op, RZ_UCX_DATA, (uintptr_t)data);
    rz_ucx_op_set(op, RZ_UCX_BYTES, bytes < token->bytes ? bytes : token->bytes);
    rz_ucx_op_set(op, RZ_UCX_ID, token->id);
    rz_ucx_op_set(op, RZ_UCX_DONE, 0);
    rz_ucx_token_free(token);
    rz_ucx_queue_put(&peer->taking, op);
    (void)rz_ucx_pump(peer);
    return RZ_IN_PROGRESS;
}

/* ---- frames ---- */

struct frame {
    uint64_t id, place;
    const void *header; /* the user's */
    uint32_t header_bytes;
    const void *data;
    size_t bytes;
};

static void offered(struct rz_ucx_peer *peer, const struct frame *frame)
{
    struct rz_net_token *token = calloc(1, sizeof *token);
    if (token == NULL) {
        rz_ucx_peer_break(peer); /* a message is lost: nothing after it may arrive */
        return;
    }
    token->peer = peer;
    token->id = frame->id;
    token->bytes = frame->place;
    /* One that parted from us, or was declared dead, may still speak: its payloads are gone like
     * all others of it. */
    token->gone = peer->state == RZ_UCX_BROKEN || peer->state == RZ_UCX_ENDED;
    token_link(token, &peer->tokens);
    const struct rz_net_host *host = &peer->net->host;
    host->arrived(host->arg, frame->header, frame->header_bytes, NULL, token->bytes, token);
}

static void piece(struct rz_ucx_peer *peer, const struct frame *frame)
{
    struct rz_net_op *op = rz_ucx_queue_find(&peer->fetching, frame->id);
    if (op == NULL)
        return; /* not wanted any more */
    if (frame->place != rz_ucx_op_get(op, RZ_UCX_DONE) ||
        frame->bytes > rz_ucx_op_get(op, RZ_UCX_BYTES) - frame->place) {
        rz_ucx_peer_break(peer);
        return;
    }
    memcpy((unsigned char *)op->net_private[RZ_UCX_DATA] + frame->place, frame->data, frame->bytes);
    rz_ucx_op_set(op, RZ_UCX_DONE, frame->place + frame->bytes);
    if (frame->place + frame->bytes < rz_ucx_op_get(op, RZ_UCX_BYTES))
        return;
    rz_ucx_queue_remove(&peer->fetching, op);
    rz_ucx_finish(peer->net, op, RZ_OK);
}

/* Frames that only a live peer has a say in. */
static void answered(struct rz_ucx_peer *peer, enum rz_ucx_kind kind, const struct frame *frame)
{
    if (peer->state != RZ_UCX_LIVE || peer->error_seen)
        return;
    if (kind == RZ_UCX_TAKE)
        rz_ucx_taken(peer, frame->id, frame->place);
    else if (kind == RZ_UCX_DROP)
        rz_ucx_dropped(peer, frame->id);
    else if (kind == RZ_UCX_PIECE)
        piece(peer, frame);
}

static ucs_status_t arrived(void *arg, const void *header, size_t header_bytes, void *data,
                            size_t bytes, const ucp_am_recv_param_t *parameters)
{
    struct rz_net *net = arg;
    struct rz_wire_reader reader;
    if (net->deaf || header_bytes < RZ_UCX_FRAME_BYTES ||
        header_bytes > RZ_UCX_FRAME_BYTES + RZ_NET_HEADER_MAX ||
        (parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
        return UCS_OK;
    rz_wire_reader_init(&reader, header, header_bytes);
    uint64_t name = rz_wire_get_u64(&reader);
    enum rz_ucx_kind kind = rz_wire_get_u32(&reader);
    struct frame frame = {.id = rz_wire_get_u64(&reader),
                          .place = rz_wire_get_u64(&reader),
                          .data = data,
                          .bytes = bytes};
    frame.header = reader.at;
    frame.header_bytes = (uint32_t)(reader.end - reader.at);
    if (kind == RZ_UCX_SMALL && bytes <= RZ_UCX_EAGER_MAX) {
        net->host.arrived(net->host.arg, frame.header, frame.header_bytes, data, bytes, NULL);
        return UCS_OK;
    }
    struct rz_ucx_peer *peer = rz_ucx_peer_meet(net, name);
    if (peer != NULL && kind == RZ_UCX_OFFER && frame.place > RZ_UCX_EAGER_MAX)
        offered(peer, &frame);
    else if (peer != NULL)
        answered(peer, kind, &frame);
    return UCS_OK;
}

rz_status_t rz_ucx_listen(struct rz_net *net)
{
    ucp_am_handler_param_t parameters = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS,
        .id = RZ_UCX_MESSAGE,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = arrived,
        .arg = net,
    };
    return ucp_worker_set_am_recv_handler(net->worker, &parameters) == UCS_OK ? RZ_OK
                                                                              : RZ_ERR_NO_MEMORY;
}
