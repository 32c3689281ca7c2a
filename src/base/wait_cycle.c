/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows waits from node to node. */
#include "base/wait_cycle.h"

#include <stdbool.h>
#include <stdlib.h>

/* Whether both are in collective operations of one communicator. */
static bool wait_same_sequence(const struct rz_wait_node *a, const struct rz_wait_node *b)
{
    return a->operation > 0 && b->operation > 0 && a->sequence == b->sequence;
}

static bool wait_same_operation(const struct rz_wait_node *a, const struct rz_wait_node *b)
{
    return wait_same_sequence(a, b) && a->operation == b->operation;
}

size_t rz_wait_next(const struct rz_wait_node *nodes, size_t i)
{
    const struct rz_wait_node *node = &nodes[i];
    if (node->peer == RZ_WAIT_NONE) {
        return RZ_WAIT_NONE;
    }
    const struct rz_wait_node *peer = &nodes[node->peer];
    bool ahead = wait_same_sequence(node, peer) && peer->operation > node->operation;
    return ahead ? RZ_WAIT_NONE : node->peer;
}

/* The cycle to which this node belongs; n 0: all of it is one collective operation. */
static struct rz_wait_cycle wait_cycle_of(const struct rz_wait_node *nodes, size_t begun)
{
    struct rz_wait_cycle cycle = {.first = begun};
    bool apart = false;
    size_t at = begun;
    do {
        size_t next = rz_wait_next(nodes, at);
        apart |= !wait_same_operation(&nodes[at], &nodes[next]);
        cycle.first = nodes[at].rank < nodes[cycle.first].rank ? at : cycle.first;
        cycle.n++;
        at = next;
    } while (at != begun);
    cycle.n = apart ? cycle.n : 0;
    return cycle;
}

static int wait_by_first(const void *a, const void *b)
{
    const struct rz_wait_cycle *l = a, *r = b;
    return (l->first > r->first) - (l->first < r->first);
}

size_t rz_wait_cycles(const struct rz_wait_node *nodes, size_t n, size_t *walk,
                      struct rz_wait_cycle *cycles)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        walk[i] = RZ_WAIT_NONE; /* the node whose walk has been here */
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        while (at != RZ_WAIT_NONE && walk[at] == RZ_WAIT_NONE) {
            walk[at] = i;
            at = rz_wait_next(nodes, at);
        }
        if (at != RZ_WAIT_NONE && walk[at] == i) {
            cycles[found] = wait_cycle_of(nodes, at);
            found += cycles[found].n > 0;
        }
    }
    if (found > 1) {
        qsort(cycles, found, sizeof(*cycles), wait_by_first);
    }
    return found;
}
