/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the module share.
 *
 * This module uses the smallest part of UCX that is safe when processes fail: short active messages
 * that are sent at once or not at all. UCX then holds neither operations nor memory of the user, no
 * handshake of UCX runs between workers, and an operation can be ended at any time. (Its rendezvous
 * and its handshake abort a survivor whose peer fails at the wrong moment: see README.md.) Queues,
 * flow control and rendezvous are those of net/rendezvous.
 */
#ifndef RZ_NET_UCX_UCX_INTERNAL_H
#define RZ_NET_UCX_UCX_INTERNAL_H

#include "net/rendezvous/rendezvous.h"
#include "net/ucx/ucx.h"

#include <ucp/api/ucp.h>

/* Larger payloads are offered. Both sizes fit into one short message: see UCX_TCP_TX_SEG_SIZE in
 * ucx_environment.c. */
#define RZ_UCX_EAGER_MAX 32768
#define RZ_UCX_PIECE_MAX 61440

/* The only active message that is used. */
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
