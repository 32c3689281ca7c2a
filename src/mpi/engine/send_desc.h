/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A send descriptor: a message for one peer, or a payload to be fetched from it, that waits for a
 * transport or has been handed to it.
 */
#ifndef RZ_MPI_SEND_DESC_H
#define RZ_MPI_SEND_DESC_H

#include <string.h>

#include "net/net.h"

struct rz_send_desc {
    struct rz_net_op op;  /* its done function belongs to the owner of the send descriptor */
    rz_net_token_t token; /* not NULL: the payload it names is fetched into data */
    void *data;           /* only read when sending */
    size_t bytes;
    struct rz_send_desc *next; /* in the queue of a peer that is not connected yet */
};

static inline void rz_send_desc_init(struct rz_send_desc *send_desc,
                                     void (*done)(struct rz_net_op *op, rz_status_t status))
{
    send_desc->op.done = done;
    send_desc->op.waits = false;
    memset(send_desc->op.net_private, 0, sizeof(send_desc->op.net_private));
    send_desc->token = NULL;
}

#endif
