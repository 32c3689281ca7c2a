/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that wait for each other: which of them form a cycle that none will leave by itself. The
 * rules of hang reports and of rztop.
 */
#ifndef RZ_BASE_WAIT_CYCLE_H
#define RZ_BASE_WAIT_CYCLE_H

#include <stddef.h>
#include <stdint.h>

#define RZ_WAIT_NONE SIZE_MAX

/* A wait of a rank in one call. Of a rank that waits in several calls at a time there is no node
 * that others wait for: of two threads one may free the other. */
struct rz_wait_node {
    size_t peer; /* the node of the rank that this one waits for; RZ_WAIT_NONE: it has none */
    uint32_t rank;
    uint64_t sequence;  /* the communicator, if this is a collective operation of it */
    uint64_t operation; /* which of them; 0: it is none */
};

struct rz_wait_cycle {
    size_t first; /* the node of its lowest rank */
    size_t n;     /* its nodes: from the first one by rz_wait_next */
};

/* The node that keeps this one waiting, RZ_WAIT_NONE: there is none. A rank that is in a later
 * operation of the same communicator keeps none: what it had to send is on its way. */
size_t rz_wait_next(const struct rz_wait_node *nodes, size_t i);

/*
 * Finds the cycles of n nodes; ranks that wait for each other in one collective operation are none,
 * since they wait for one that has not come. walk: [n], for the search. cycles: [n], in the order
 * of their first nodes. Returns how many there are; takes time in proportion to n.
 */
size_t rz_wait_cycles(const struct rz_wait_node *nodes, size_t n, size_t *walk,
                      struct rz_wait_cycle *cycles);

#endif
