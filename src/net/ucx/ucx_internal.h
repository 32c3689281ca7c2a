/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the module share.
 *
 * Of UCX we use the smallest part that is safe when processes fail: short active messages that are
 * sent at once or not at all. UCX then holds neither operations nor memory of ours, no handshake of
 * its own runs between workers, and we can end an operation at any time. (Its rendezvous and its
 * handshake abort a survivor whose peer fails at the wrong moment: see README.md.) Queues, flow
 * control and rendezvous are those of net/rendezvous.
 */
#ifndef RZ_NET_UCX_UCX_INTERNAL_H
#define RZ_NET_UCX_UCX_INTERNAL_H

#include "net/rendezvous/rendezvous.h"
#include "net/ucx/ucx.h"

#include <ucp/api/ucp.h>

/* Payloads above are offered. Both fit into one short message: see UCX_TCP_TX_SEG_SIZE in
 * ucx_environment.c. */
#define RZ_UCX_EAGER_MAX 32768
#define RZ_UCX_PIECE_MAX 61440

/* The one active message of UCX that we use. */
#define RZ_UCX_MESSAGE 1

/* Each message is a frame: name of the sender (u64), kind (u32), id (u64), place (u64); then the
 * user's header. */
#define RZ_UCX_FRAME_BYTES 28

struct rz_ucx_net {
    struct rz_net net;
    ucp_context_h context;
    ucp_worker_h worker;
    int fd;
};

extern const struct rz_carrier_ops rz_ucx_carrier;

/* Installs the handler of messages. */
ucs_status_t rz_ucx_listen(struct rz_ucx_net *ucx);

#endif
