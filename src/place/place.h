/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of placement: ranks on nodes at the first start, cores among nodes and processes. */
#ifndef RZ_PLACE_PLACE_H
#define RZ_PLACE_PLACE_H

#include <rhizome/types.h>

enum rz_place_by {
    RZ_PLACE_BY_SLOT, /* node by node, as many as it has slots; evenly if slots do not limit */
    RZ_PLACE_BY_NODE, /* one for each node, round robin */
    RZ_PLACE_BY_CORE  /* node by node, one for each core; then again from the first node */
};

struct rz_place_node {
    uint32_t slots; /* ranks it can take; 0: unlimited */
    uint32_t cores; /* used by BY_CORE; 0 counts as 1 */
    bool spare;     /* gets no ranks */
};

/* The slots of all nodes that are not spare; 0: some node has no bound. */
uint64_t rz_place_slots(const struct rz_place_node *nodes, uint32_t n_nodes);

/*
 * placement[rank] = its node. Slots hold unless there are more ranks than slots: then slots are
 * ignored at all nodes, and the load is even (BY_CORE: even over cores). At least one node is not
 * spare.
 */
void rz_place_ranks(enum rz_place_by by, const struct rz_place_node *nodes, uint32_t n_nodes,
                    uint32_t n_ranks, uint32_t *placement);

/* The number of processes that a daemon may get when ranks are placed after a failure: its slots,
 * or if it has none, as many ranks as the fullest node begins with. */
void rz_place_capacities(const struct rz_place_node *nodes, uint32_t n_nodes,
                         const uint32_t *placement, uint32_t n_ranks, uint32_t *slots);

/* Divides n things in order among k takers: the i-th gets *count from *first on, others at most one
 * more or less. */
void rz_place_share(uint32_t n, uint32_t k, uint32_t i, uint32_t *first, uint32_t *count);

/* The first core that is not taken, or RZ_ID_NONE. */
uint32_t rz_place_free_core(const bool *taken, uint32_t n_cores);

/*
 * The ring of heartbeats: order[position] = node, starting with node 0, such that as few neighbours
 * as possible are in the same rack: none, unless a rack holds r > n / 2 nodes; then 2 r - n. The
 * order of the nodes is kept where it is already good.
 */
void rz_place_ring(const uint32_t *rack, uint32_t n, uint32_t *order);

/* How many pairs of neighbours of that ring have the same rack. */
uint32_t rz_place_ring_clashes(const uint32_t *rack, const uint32_t *order, uint32_t n);

/* Ascending numbers in the usual notation, `0-3,8`; "none" for none. A text that does not fit ends
 * in "...". */
void rz_place_list(const uint32_t *numbers, uint32_t n, char *text, size_t bytes);

#endif
