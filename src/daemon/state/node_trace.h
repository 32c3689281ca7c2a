/* SPDX-License-Identifier: BSD-3-Clause */
/* The traces of a node (port/trace_memory.h): the daemon's own ring, and rings for its processes.
 */
#ifndef RZ_DAEMON_NODE_TRACE_H
#define RZ_DAEMON_NODE_TRACE_H

#include "base/trace.h"

#include <stdbool.h>

struct rz_node_trace {
    int fd; /* -1: nothing is traced */
    uint32_t n_rings, last;
    bool *used; /* [n_rings] */
    struct rz_trace_ring *own;
};

/* fd: the memory that rzrun made, with levels in its first ring; it belongs to the trace from now
 * on. -1: the daemon makes one by itself. Without memory nothing is traced, and that is no error.
 */
void rz_node_trace_open(struct rz_node_trace *trace, int fd, uint32_t node);
void rz_node_trace_close(struct rz_node_trace *trace);

/* A ring for a process, or 0: none is free, or there is no memory. The one that was not used for
 * the longest time is taken. */
uint32_t rz_node_trace_give(struct rz_node_trace *trace, const struct rz_trace_owner *owner);

/* Its process has ended; what it has written stays until the ring is given again. 0: nothing. */
void rz_node_trace_give_back(struct rz_node_trace *trace, uint32_t ring);

#endif
