/* What waits for a transport, or is in its hands: a message for one peer, or a payload to be
 * fetched from it. */
#ifndef RZ_MPI_PARCEL_H
#define RZ_MPI_PARCEL_H

#include <string.h>

#include "net/net.h"

struct rz_parcel {
    struct rz_net_op op;  /* its done function belongs to the owner of the parcel */
    rz_net_token_t token; /* not NULL: fetch the payload it names into data */
    void *data;           /* only read when sending */
    size_t bytes;
    struct rz_parcel *next; /* in the queue of a peer that is not connected yet */
};

static inline void rz_parcel_init(struct rz_parcel *parcel,
                                  void (*done)(struct rz_net_op *op, rz_status_t status))
{
    parcel->op.done = done;
    memset(parcel->op.net_private, 0, sizeof(parcel->op.net_private));
    parcel->token = NULL;
}

#endif
