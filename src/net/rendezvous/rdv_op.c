/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations: their queues and their ends. */
#include "net/rendezvous/rendezvous.h"

#include <stdlib.h>
#include <string.h>

#define NEXT(op) ((op)->net_private[RZ_RDV_NEXT])
#define BEFORE(op) ((op)->net_private[RZ_RDV_BEFORE])

uint64_t rz_rdv_op_get(const struct rz_net_op *op, enum rz_rdv_slot slot)
{
    return (uint64_t)(uintptr_t)op->net_private[slot];
}

void rz_rdv_op_set(struct rz_net_op *op, enum rz_rdv_slot slot, uint64_t value)
{
    _Static_assert(sizeof(uintptr_t) >= sizeof(uint64_t), "slots hold 64 bits");
    op->net_private[slot] = (void *)(uintptr_t)value;
}

/* ---- Queues ---- */

/* A shorter queue is searched. */
#define INDEX_FROM 32

/* The place in the index at which the search for id begins. */
static size_t index_home(const struct rz_rdv_queue *queue, uint64_t id)
{
    return (size_t)(id * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (queue->places - 1);
}

static void index_put(struct rz_rdv_queue *queue, struct rz_net_op *op)
{
    size_t at = index_home(queue, rz_rdv_op_get(op, RZ_RDV_ID));
    while (queue->index[at]) {
        at = (at + 1) & (queue->places - 1);
    }
    queue->index[at] = op;
}

static void index_free(struct rz_rdv_queue *queue)
{
    free(queue->index);
    queue->index = NULL;
    queue->places = 0;
}

/* Keeps half of the index free, at least. Without memory for it the queue is searched. */
static void index_grow(struct rz_rdv_queue *queue)
{
    if (!queue->by_id || queue->length < INDEX_FROM || 2 * queue->length <= queue->places) {
        return;
    }
    size_t places = queue->places > 0 ? queue->places : INDEX_FROM;
    while (places < 4 * queue->length) {
        places *= 2;
    }
    index_free(queue);
    queue->index = calloc(places, sizeof(struct rz_net_op *));
    queue->places = queue->index ? places : 0;
    for (struct rz_net_op *op = queue->index ? queue->first : NULL; op; op = NEXT(op)) {
        index_put(queue, op);
    }
}

/* What the probing had moved away from the free place is moved back. */
static void index_remove(struct rz_rdv_queue *queue, const struct rz_net_op *op)
{
    size_t mask = queue->places - 1;
    size_t hole = index_home(queue, rz_rdv_op_get(op, RZ_RDV_ID));
    while (queue->index[hole] != op) {
        hole = (hole + 1) & mask;
    }
    for (size_t at = (hole + 1) & mask; queue->index[at]; at = (at + 1) & mask) {
        size_t home = index_home(queue, rz_rdv_op_get(queue->index[at], RZ_RDV_ID));
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            queue->index[hole] = queue->index[at];
            hole = at;
        }
    }
    queue->index[hole] = NULL;
}

void rz_rdv_queue_put(struct rz_rdv_queue *queue, struct rz_net_op *op)
{
    NEXT(op) = NULL;
    BEFORE(op) = queue->last;
    if (queue->last) {
        NEXT(queue->last) = op;
    } else {
        queue->first = op;
    }
    queue->last = op;
    queue->length++;
    if (queue->index) {
        index_put(queue, op);
    }
    index_grow(queue);
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
    if (queue->index) {
        size_t at = index_home(queue, id);
        while (queue->index[at] && rz_rdv_op_get(queue->index[at], RZ_RDV_ID) != id) {
            at = (at + 1) & (queue->places - 1);
        }
        return queue->index[at];
    }
    struct rz_net_op *op = queue->first;
    while (op && rz_rdv_op_get(op, RZ_RDV_ID) != id) {
        op = NEXT(op);
    }
    return op;
}

void rz_rdv_queue_remove(struct rz_rdv_queue *queue, struct rz_net_op *op)
{
    struct rz_net_op *before = BEFORE(op), *next = NEXT(op);
    if (queue->index) {
        index_remove(queue, op);
    }
    if (before) {
        NEXT(before) = next;
    } else {
        queue->first = next;
    }
    if (next) {
        BEFORE(next) = before;
    } else {
        queue->last = before;
    }
    queue->length--;
    if (queue->length == 0) {
        index_free(queue);
    }
}

/* ---- Ends ---- */

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
