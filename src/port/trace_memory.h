/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a node's trace (base/trace.h): an array of rings without a name, the daemon's
 * first, one for each process behind it. rzrun makes it and holds it to the end, so that it can be
 * read after any kill; the daemon gives rings to processes; each process maps its own ring alone.
 * What no ring has used takes no memory.
 */
#ifndef RZ_PORT_TRACE_MEMORY_H
#define RZ_PORT_TRACE_MEMORY_H

#include "base/status.h"
#include "base/trace.h"

/* For so many rings. The descriptor is close-on-exec. RZ_ERR_NO_MEMORY also where files may not be
 * so large (ulimit -f). */
rz_status_t rz_trace_memory_create(uint32_t n_rings, int *fd);

/* How many rings fit into fd; 0: it is no such memory. */
uint32_t rz_trace_memory_rings(int fd);

/* Maps one ring, in the process that makes it: all of it is backed by pages, so that writing never
 * fails. */
rz_status_t rz_trace_memory_make(int fd, uint32_t index, struct rz_trace_ring **ring);

/* The memory of a node, of which the daemon's ring is made: rz_trace_memory_create, and the first
 * ring. */
rz_status_t rz_trace_memory_of_node(uint32_t node, uint32_t n_rings,
                                    const struct rz_trace_levels *levels, int *fd);

/* Maps a ring that was made: to write it, or to read it. RZ_ERR_VERSION: it is not of this
 * build, or nothing made it. */
rz_status_t rz_trace_memory_map(int fd, uint32_t index, bool writable, struct rz_trace_ring **ring);

void rz_trace_memory_unmap(const struct rz_trace_ring *ring);

#endif
