/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives each process of the node a ring of the node's trace memory. */
#include "daemon/state/node_trace.h"

#include "port/clock.h"
#include "port/trace_memory.h"

#include <rhizome/types.h>

#include <stdlib.h>
#include <unistd.h>

/* Rings of a daemon that runs without rzrun. */
#define RINGS_ALONE 64u

static int make_trace_memory(uint32_t node)
{
    int fd;
    struct rz_trace_levels levels;
    rz_trace_levels_default(&levels);
    return rz_trace_memory_of_node(node, RINGS_ALONE, &levels, &fd) == RZ_OK ? fd : -1;
}

void rz_node_trace_open(struct rz_node_trace *trace, int fd, uint32_t node)
{
    *trace = (struct rz_node_trace){.fd = fd >= 0 ? fd : make_trace_memory(node)};
    trace->n_rings = rz_trace_memory_rings(trace->fd);
    if (trace->n_rings > 0) {
        trace->used = calloc(trace->n_rings, sizeof(*trace->used));
    }
    if (!trace->used || rz_trace_memory_map(trace->fd, 0, true, &trace->own) != RZ_OK) {
        rz_node_trace_close(trace);
        return;
    }
    trace->own->pid = (uint32_t)getpid();
    atomic_store(&trace->own->rings, 1);
    rz_trace_begin(trace->own, rz_clock_now);
    rz_trace_thread("loop");
}

void rz_node_trace_close(struct rz_node_trace *trace)
{
    if (trace->own) {
        rz_trace_end();
        rz_trace_memory_unmap(trace->own);
    }
    if (trace->fd >= 0) {
        close(trace->fd);
    }
    free(trace->used);
    *trace = (struct rz_node_trace){.fd = -1};
}

uint32_t rz_node_trace_give(struct rz_node_trace *trace, const struct rz_trace_owner *owner)
{
    uint32_t index = trace->last;
    for (uint32_t i = 1; i < trace->n_rings; i++) {
        index = index + 1 < trace->n_rings ? index + 1 : 1;
        if (!trace->used[index]) {
            break;
        }
    }
    struct rz_trace_ring *ring;
    if (index == 0 || trace->used[index] ||
        rz_trace_memory_make(trace->fd, index, &ring) != RZ_OK) {
        return 0;
    }
    rz_trace_ring_make(ring, owner, &trace->own->levels);
    rz_trace_memory_unmap(ring);
    trace->used[index] = true;
    trace->last = index;
    if (atomic_load(&trace->own->rings) <= index) {
        atomic_store(&trace->own->rings, index + 1);
    }
    return index;
}

void rz_node_trace_give_back(struct rz_node_trace *trace, uint32_t ring)
{
    if (ring > 0) {
        trace->used[ring] = false;
    }
}
