/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which failures of nodes the job has agreed on. A daemon that is cut off reports all others as
 * failed, and its report alone proves nothing. So events of a node's failure are held back until
 * the others exclude that node, by agreement, or it has ended. Then they are passed on in the order
 * of their arrival, except those reported by nodes that are excluded themselves.
 */
#ifndef RZ_LAUNCH_SETTLED_H
#define RZ_LAUNCH_SETTLED_H

#include "wire/launch_messages.h"

#include <rhizome/types.h>

struct rz_settled_node {
    bool failed; /* settled: it is excluded, or has ended */
    bool barred; /* it is excluded, or has stopped itself: its reports do not count */
};

struct rz_settled {
    uint32_t n_nodes;
    struct rz_settled_node *nodes;       /* [n_nodes] */
    struct rz_settled_held *held, **end; /* in the order of their arrival */
    bool left; /* all ranks have left: from now on failures are recorded without a quorum */
    void (*deliver)(void *arg, uint32_t by, const struct rz_launch_event *event);
    void *arg;
};

/* deliver is called with each event that counts, from within the calls below. */
void rz_settled_open(struct rz_settled *settled, uint32_t n_nodes,
                     void (*deliver)(void *arg, uint32_t by, const struct rz_launch_event *event),
                     void *arg);

/* Events that are still held were never settled; they are dropped. */
void rz_settled_close(struct rz_settled *settled);

/* Node `by` reports event; its texts are copied if it is held. */
void rz_settled_event(struct rz_settled *settled, uint32_t by, const struct rz_launch_event *event);

/* Node stops itself, cut off from the others: its failure reports were not true. */
void rz_settled_cut_off(struct rz_settled *settled, uint32_t node);

/* The stream to node's daemon has ended while the job continued: it has failed, whichever node
 * reports it. */
void rz_settled_gone(struct rz_settled *settled, uint32_t node);

#endif
