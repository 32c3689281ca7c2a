/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX as a carrier: endpoints, and frames as active messages. */
#include "net/ucx/ucx_internal.h"

#include "base/assert.h"

#include <string.h>

static ucp_worker_h worker_of(const struct rz_rdv_peer *peer)
{
    return ((struct rz_ucx_net *)peer->net)->worker;
}

/* ---- endpoints ---- */

static rz_status_t address(struct rz_net *net, struct rz_wire_writer *writer)
{
    ucp_worker_h worker = ((struct rz_ucx_net *)net)->worker;
    ucp_address_t *found;
    size_t length;
    if (ucp_worker_get_address(worker, &found, &length) != UCS_OK) {
        return RZ_ERR_SYSTEM;
    }
    rz_wire_put_bytes(writer, found, (uint32_t)length);
    ucp_worker_release_address(worker, found);
    return RZ_OK;
}

static bool is_address(const uint8_t *found, size_t bytes)
{
    (void)found;
    return bytes > 0;
}

static void broke(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    (void)endpoint;
    (void)status;
    rz_rdv_peer_break(arg);
}

static bool make_endpoint(struct rz_rdv_peer *peer)
{
    ucp_ep_params_t parameters = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = (ucp_address_t *)peer->address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = broke, .arg = peer},
    };
    ucp_ep_h endpoint;
    if (ucp_ep_create(worker_of(peer), &parameters, &endpoint) != UCS_OK) {
        return false;
    }
    peer->connection = endpoint;
    return true;
}

static void shut(struct rz_rdv_peer *peer)
{
    ucp_request_param_t parameters = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                      .flags = UCP_EP_CLOSE_FLAG_FORCE};
    if (!peer->connection) {
        return;
    }
    ucs_status_ptr_t request = ucp_ep_close_nbx(peer->connection, &parameters);
    if (UCS_PTR_IS_PTR(request)) {
        ucp_request_free(request);
    }
    peer->connection = NULL;
}

/* ---- frames ---- */

/* UCX keeps nothing: header and data may be reused. */
static rz_status_t put(struct rz_rdv_peer *peer, const struct rz_rdv_frame *frame)
{
    unsigned char header[RZ_UCX_FRAME_BYTES + RZ_NET_HEADER_MAX];
    struct rz_wire_writer writer;
    rz_wire_writer_init(&writer, header, sizeof(header));
    rz_wire_put_u64(&writer, peer->net->name);
    rz_wire_put_u32(&writer, frame->kind);
    rz_wire_put_u64(&writer, frame->id);
    rz_wire_put_u64(&writer, frame->place);
    if (frame->header_bytes > 0) {
        memcpy(writer.at, frame->header, frame->header_bytes);
    }
    ucp_request_param_t parameters = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL,
        .flags = UCP_AM_SEND_FLAG_EAGER,
    };
    ucs_status_ptr_t result = ucp_am_send_nbx(peer->connection, RZ_UCX_MESSAGE, header,
                                              RZ_UCX_FRAME_BYTES + frame->header_bytes, frame->data,
                                              frame->bytes, &parameters);
    rz_assert(!UCS_PTR_IS_PTR(result));
    if (UCS_PTR_STATUS(result) == UCS_OK) {
        return RZ_OK;
    }
    if (UCS_PTR_STATUS(result) == UCS_ERR_NO_RESOURCE) {
        return RZ_IN_PROGRESS;
    }
    rz_rdv_peer_break(peer);
    return RZ_ERR_CLOSED;
}

static ucs_status_t arrived(void *arg, const void *header, size_t header_bytes, void *data,
                            size_t bytes, const ucp_am_recv_param_t *parameters)
{
    struct rz_net *net = arg;
    struct rz_wire_reader reader;
    if (net->deaf || header_bytes < RZ_UCX_FRAME_BYTES ||
        header_bytes > RZ_UCX_FRAME_BYTES + RZ_NET_HEADER_MAX ||
        (parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
        return UCS_OK;
    }
    rz_wire_reader_init(&reader, header, header_bytes);
    uint64_t name = rz_wire_get_u64(&reader);
    struct rz_rdv_frame frame = {.kind = rz_wire_get_u32(&reader),
                                 .id = rz_wire_get_u64(&reader),
                                 .place = rz_wire_get_u64(&reader),
                                 .data = data,
                                 .bytes = bytes};
    frame.header = reader.at;
    frame.header_bytes = (uint32_t)(reader.end - reader.at);
    struct rz_rdv_peer *peer = rz_rdv_peer_meet(net, name);
    if (peer) {
        rz_rdv_arrived(peer, &frame);
    }
    return UCS_OK;
}

ucs_status_t rz_ucx_listen(struct rz_ucx_net *ucx)
{
    ucp_am_handler_param_t parameters = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS,
        .id = RZ_UCX_MESSAGE,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = arrived,
        .arg = &ucx->net,
    };
    return ucp_worker_set_am_recv_handler(ucx->worker, &parameters);
}

static unsigned turn(struct rz_net *net)
{
    return ucp_worker_progress(((struct rz_ucx_net *)net)->worker);
}

const struct rz_carrier_ops rz_ucx_carrier = {
    .ep_address_magic = 0x58555a52u, /* "RZUX" */
    .eager_max = RZ_UCX_EAGER_MAX,
    .piece_max = RZ_UCX_PIECE_MAX,
    .address = address,
    .is_address = is_address,
    .connect = make_endpoint,
    .put = put,
    .shut = shut,
    .turn = turn,
};
