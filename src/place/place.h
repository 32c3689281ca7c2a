/* Rules of placement: ranks on nodes at the first start, cores among nodes and processes. */
#ifndef RZ_PLACE_PLACE_H
#define RZ_PLACE_PLACE_H

#include <rhizome/types.h>

enum rz_place_by {
    RZ_PLACE_BY_SLOT, /* node by node as many as it has slots; evenly where slots do not bound */
    RZ_PLACE_BY_NODE, /* one for each node in turn */
    RZ_PLACE_BY_CORE  /* node by node one for each core; then the same again */
};

struct rz_place_node {
    uint32_t slots; /* ranks it can take; 0: as many as come */
    uint32_t cores; /* matter to BY_CORE; 0 counts as 1 */
    bool spare;     /* gets no ranks */
};

/* The slots of all nodes that are not spare; 0: some node has no bound. */
uint64_t rz_place_slots(const struct rz_place_node *nodes, uint32_t n_nodes);

/*
 * placement[rank] = its node. Slots hold unless there are more ranks than slots: then nobody's
 * count, and the load is even (BY_CORE: even over cores). At least one node is not spare.
 */
void rz_place_ranks(enum rz_place_by by, const struct rz_place_node *nodes, uint32_t n_nodes,
                    uint32_t n_ranks, uint32_t *placement);

/*
 * What a daemon may carry without crowding, for those who place ranks after a failure: its slots,
 * or where it has none, as many ranks as the fullest node begins with.
 */
void rz_place_capacities(const struct rz_place_node *nodes, uint32_t n_nodes,
                         const uint32_t *placement, uint32_t n_ranks, uint32_t *slots);

/* Divides n things in order among k takers: the i-th gets *count from *first on, others at most one
 * more or less. */
void rz_place_share(uint32_t n, uint32_t k, uint32_t i, uint32_t *first, uint32_t *count);

/* The first core that is not taken, or RZ_ID_NONE. */
uint32_t rz_place_free_core(const bool *taken, uint32_t n_cores);

/*
 * The ring of heartbeats: order[position] = node, starting with node 0, such that as few neighbours
 * as possible have the same rack: none, unless a rack holds more than half of n; then 2 * its nodes
 * - n. The order of the nodes themselves is kept where it is already good.
 */
void rz_place_ring(const uint32_t *rack, uint32_t n, uint32_t *order);

/* How many pairs of neighbours of that ring have the same rack. */
uint32_t rz_place_ring_clashes(const uint32_t *rack, const uint32_t *order, uint32_t n);

/* Ascending numbers as people write them, `0-3,8`; "none" for none. What does not fit is left out
 * behind "...". */
void rz_place_list(const uint32_t *numbers, uint32_t n, char *text, size_t bytes);

#endif
