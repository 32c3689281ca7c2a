/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations: their queues and their ends. */
#include "net/rendezvous/rendezvous.h"

#include <string.h>

#define NEXT(op) ((op)->net_private[RZ_RDV_NEXT])

uint64_t rz_rdv_op_get(const struct rz_net_op *op, enum rz_rdv_slot slot)
{
    return (uint64_t)(uintptr_t)op->net_private[slot];
}

void rz_rdv_op_set(struct rz_net_op *op, enum rz_rdv_slot slot, uint64_t value)
{
    _Static_assert(sizeof(uintptr_t) >= sizeof(uint64_t), "slots hold 64 bits");
    op->net_private[slot] = (void *)(uintptr_t)value;
}

void rz_rdv_queue_put(struct rz_rdv_queue *queue, struct rz_net_op *op)
{
    NEXT(op) = NULL;
    if (queue->last) {
        NEXT(queue->last) = op;
    } else {
        queue->first = op;
    }
    queue->last = op;
}

struct rz_net_op *rz_rdv_queue_take(struct rz_rdv_queue *queue)
{
    struct rz_net_op *op = queue->first;
    if (op) {
        rz_rdv_queue_remove(queue, op);
    }
    return op;
}

struct rz_net_op *rz_rdv_queue_find(const struct rz_rdv_queue *queue, uint64_t id)
{
    struct rz_net_op *op = queue->first;
    while (op && rz_rdv_op_get(op, RZ_RDV_ID) != id) {
        op = NEXT(op);
    }
    return op;
}

void rz_rdv_queue_remove(struct rz_rdv_queue *queue, struct rz_net_op *op)
{
    struct rz_net_op *before = NULL;
    for (struct rz_net_op *at = queue->first; at != op; at = NEXT(at)) {
        before = at;
    }
    if (before) {
        NEXT(before) = NEXT(op);
    } else {
        queue->first = NEXT(op);
    }
    if (queue->last == op) {
        queue->last = before;
    }
}

static bool queue_holds(const struct rz_rdv_queue *queue, const struct rz_net_op *op)
{
    const struct rz_net_op *at = queue->first;
    while (at && at != op) {
        at = NEXT(at);
    }
    return at != NULL;
}

enum rz_net_withdrawn rz_rdv_withdraw(struct rz_net *net, rz_peer_t number, rz_net_token_t token,
                                      struct rz_net_op *op)
{
    struct rz_rdv_peer *peer = rz_rdv_peer_by_number(net, number);
    (void)token; /* removed since it was fetched */
    if (!peer) {
        return RZ_NET_NOT_WITHDRAWN;
    }
    struct rz_rdv_queue *queues[] = {&peer->waiting, &peer->offered, &peer->streaming,
                                     &peer->taking, &peer->fetching};
    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
        if (queue_holds(queues[i], op)) {
            rz_rdv_queue_remove(queues[i], op);
            return queues[i] == &peer->waiting ? RZ_NET_UNSENT : RZ_NET_WITHDRAWN;
        }
    }
    return RZ_NET_NOT_WITHDRAWN; /* it has ended, and done is about to be called */
}

void rz_rdv_finish(struct rz_net *net, struct rz_net_op *op, rz_status_t status)
{
    rz_rdv_op_set(op, RZ_RDV_BYTES, status);
    rz_rdv_queue_put(&net->finished, op);
}

void rz_rdv_finish_all(struct rz_rdv_peer *peer)
{
    struct rz_rdv_queue *queues[] = {&peer->waiting, &peer->offered, &peer->streaming,
                                     &peer->taking, &peer->fetching};
    struct rz_net_op *op;
    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
        while ((op = rz_rdv_queue_take(queues[i])) != NULL) {
            rz_rdv_finish(peer->net, op, peer->status);
        }
    }
}

unsigned rz_rdv_deliver(struct rz_net *net)
{
    struct rz_net_op *op;
    unsigned count = 0;
    while ((op = rz_rdv_queue_take(&net->finished)) != NULL) {
        rz_status_t status = (rz_status_t)rz_rdv_op_get(op, RZ_RDV_BYTES);
        memset(op->net_private, 0, sizeof(op->net_private));
        op->done(op, status);
        count++;
    }
    return count;
}
