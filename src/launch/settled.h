/*
 * Which failures of nodes the job has settled. A daemon that is cut off reports all others, and its
 * word binds nobody: so what is told of a node's failure is held back until the others go on
 * without that node, by agreement, or it is gone; then it is handed on, in the order in which it
 * came, but for what was told by nodes that are out themselves.
 */
#ifndef RZ_LAUNCH_SETTLED_H
#define RZ_LAUNCH_SETTLED_H

#include "wire/launch_messages.h"

#include <rhizome/types.h>

struct rz_settled_node {
    bool failed; /* settled: it is out, or gone */
    bool barred; /* it is out, or has stopped itself: nothing that it tells counts */
};

struct rz_settled {
    uint32_t n_nodes;
    struct rz_settled_node *nodes;       /* [n_nodes] */
    struct rz_settled_held *held, **end; /* in the order in which they came */
    bool left; /* all ranks have left: from now on failures are noted without a quorum */
    void (*deliver)(void *arg, uint32_t by, const struct rz_launch_event *event);
    void *arg;
};

/* deliver is called with each event that counts, from within the calls below. */
void rz_settled_open(struct rz_settled *settled, uint32_t n_nodes,
                     void (*deliver)(void *arg, uint32_t by, const struct rz_launch_event *event),
                     void *arg);

/* What is still held was never settled, and is forgotten. */
void rz_settled_close(struct rz_settled *settled);

/* Node `by` tells of event; its texts are copied where it is held. */
void rz_settled_event(struct rz_settled *settled, uint32_t by, const struct rz_launch_event *event);

/* Node stops itself, cut off from the others: its failure reports were none. */
void rz_settled_cut_off(struct rz_settled *settled, uint32_t node);

/* The stream to node's daemon has ended while the job went on: it has failed, whoever said so. */
void rz_settled_gone(struct rz_settled *settled, uint32_t node);

#endif
