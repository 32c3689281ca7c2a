/* Which nodes there are, and which rank goes where at the start. */
#ifndef RZ_LAUNCH_LAYOUT_H
#define RZ_LAUNCH_LAYOUT_H

#include <rhizome/types.h>

#define RZ_NODES_MAX 1024
#define RZ_RANKS_MAX 65536

struct rz_layout_node {
    char host[64];
    uint32_t slots; /* 0: as many as come */
};

struct rz_layout {
    uint32_t n_nodes, n_ranks;
    struct rz_layout_node *nodes;
    uint32_t *placement; /* [n_ranks] */
    uint32_t *slots;     /* [n_nodes]: what a daemon may carry without crowding */
};

/* Appends nodes from `host[:slots],...` or from lines `host [slots=N]` (with #-comments) of a file.
 * False: *why. */
bool rz_layout_add_hosts(struct rz_layout *layout, const char *list, const char **why);
bool rz_layout_add_hostfile(struct rz_layout *layout, const char *file, const char **why);

/* Emulates `n` nodes on this machine. */
bool rz_layout_emulate(struct rz_layout *layout, uint32_t n, const char **why);

/* The ranks that fit without crowding; 0: no bound. */
uint64_t rz_layout_slots(const struct rz_layout *layout);

/* Puts ranks on nodes in blocks: node by node as many as it has slots, evenly where slots are not
 * bounded. */
void rz_layout_place(struct rz_layout *layout, uint32_t n_ranks);
void rz_layout_clear(struct rz_layout *layout);

#endif
