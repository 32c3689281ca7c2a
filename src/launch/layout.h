/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes, and the initial placement of ranks. */
#ifndef RZ_LAUNCH_LAYOUT_H
#define RZ_LAUNCH_LAYOUT_H

#include "base/job_bounds.h"
#include "place/place.h"

#include <rhizome/types.h>

struct rz_layout_node {
    char host[64];
    char rack[32];              /* "": it shares its rack with no other node */
    uint32_t slots_max;         /* also with --oversubscribe; 0: no bound */
    uint32_t share;             /* which of n_nodes shares of the machine's cores the node has */
    bool remote;                /* on another host: host_options.h */
    struct rz_place_node place; /* slots 0: no bound */
};

struct rz_launch_layout {
    uint32_t n_nodes, n_ranks;
    struct rz_layout_node *nodes;
    uint32_t *given;     /* [n_ranks]: the node of each rank, as the user gave it; or NULL */
    uint32_t *placement; /* [n_ranks] */
    uint32_t *slots;     /* [n_nodes]: ranks that a daemon may run without oversubscription */
};

/* Appends nodes from `host[:slots],...` or from lines `host[:slots] [slots=N] [max_slots=N]
 * [rack=NAME]` (with #-comments) of a file; a host may be a range: node[1-3,07]. False: *why,
 * static text, which names the line, or the host's place in the list. */
bool rz_layout_add_hosts(struct rz_launch_layout *layout, const char *list, const char **why);
bool rz_layout_add_hostfile(struct rz_launch_layout *layout, const char *file, const char **why);

/* Emulates `n` nodes on this machine. */
bool rz_layout_emulate(struct rz_launch_layout *layout, uint32_t n, const char **why);

/* A remote host that is named several times is one node, with the slots of all. */
void rz_layout_merge_remote(struct rz_launch_layout *layout);

/* Each node has n slots, whatever the list says. */
void rz_layout_per_node(struct rz_launch_layout *layout, uint32_t n);

/* Keeps the last n nodes free; n < n_nodes. */
void rz_layout_spare(struct rz_launch_layout *layout, uint32_t n);

/* This machine has this number of cores for us: they are divided among its nodes. */
void rz_layout_divide_cores(struct rz_launch_layout *layout, uint32_t n_cores);

/* The ranks that fit without oversubscription on nodes that are not spare; 0: no bound. */
uint64_t rz_layout_slots(const struct rz_launch_layout *layout);

/*
 * Puts ranks on nodes; then numbers the nodes along the ring of heartbeats, so that neighbours are
 * in different racks where possible (place/place.h). Without racks a node's number is its place in
 * the list; ranks are placed in the order of the list in any case.
 */
void rz_layout_place(struct rz_launch_layout *layout, uint32_t n_ranks, enum rz_place_by by);

/* A node that starts with more ranks than it has cores, or RZ_ID_NONE. */
uint32_t rz_layout_overfull_node(const struct rz_launch_layout *layout, uint32_t *n_ranks);
void rz_layout_clear(struct rz_launch_layout *layout);

#endif
