/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The traces of a job (base/trace.h), as rzrun has them: a memory for each node, made before its
 * daemon, readable after any end of any process. All nodes are on this machine, so that all times
 * are of one clock; the offset of a node's clock is 0.
 */
#ifndef RZ_LAUNCH_TRACES_H
#define RZ_LAUNCH_TRACES_H

#include "base/trace.h"
#include "port/outfile.h"

#include <stdio.h>

struct rz_traces {
    uint32_t n_nodes;
    int *fds;                    /* [n_nodes]; -1: there is no memory for it */
    struct rz_traces_seen *seen; /* what was shown of each ring */
    uint32_t n_seen;
};

/* One ring, while it is looked at. */
struct rz_traces_ring {
    const struct rz_trace_ring *ring;
    uint32_t node, index;
    uint32_t slot, incarnation; /* slot RZ_ID_NONE: the daemon */
    uint32_t pid;
};

/* An event and whose it is. */
struct rz_traced {
    struct rz_trace_event event;
    uint32_t node, slot, incarnation;
};

/* What is wanted of a ring: how many of its newest events; 0: none. */
typedef uint32_t (*rz_traces_want_fn)(void *arg, const struct rz_traces_ring *ring);

void rz_traces_open(struct rz_traces *traces, uint32_t n_nodes, uint32_t n_ranks,
                    const struct rz_trace_levels *levels);
void rz_traces_close(struct rz_traces *traces);

/* Calls look for each ring that was ever used, node by node. */
void rz_traces_each(const struct rz_traces *traces,
                    void (*look)(void *arg, const struct rz_traces_ring *ring), void *arg);

/* Events in the order of their times; the caller frees *events. At most max, the newest. */
uint32_t rz_traces_collect(const struct rz_traces *traces, rz_traces_want_fn want, void *arg,
                           uint32_t max, struct rz_traced **events);

/* What is new since the last call, a line each. */
void rz_traces_show(struct rz_traces *traces, FILE *out, uint64_t since_ns);

/* "daemon 1", "rank 3.2" (incarnation 2). */
void rz_traces_owner(uint32_t node, uint32_t slot, uint32_t incarnation, char *text, size_t bytes);

/* The name in lower case, without _begin and _end. */
void rz_traces_name(const struct rz_trace_meaning *meaning, char *text, size_t bytes);

/* The three arguments; words[i]: what the number stands for, or NULL. */
void rz_traces_args(const struct rz_trace_event *event, uint64_t args[3], const char *words[3]);

/*
 * ---- rzrun --trace FILE ----
 *
 * The traces of all processes and daemons in one file, in the JSON format of Chrome's trace viewer,
 * which Perfetto reads. A process of the file is a rank's process or a daemon. The file appears
 * whole, at the end.
 */

struct rz_trace_file {
    struct rz_outfile out; /* file NULL: not requested */
    uint32_t n_processes, n_attempts;
    uint64_t n_lost;
    bool begun; /* something is in the list of events */
};

/* False: *why. */
bool rz_trace_file_open(struct rz_trace_file *file, const char *path, const char **why);

/* At the end of an attempt of the job: all rings. */
void rz_trace_file_add(struct rz_trace_file *file, const struct rz_traces *traces, uint64_t job);

/* False: it could not be written, *why. */
bool rz_trace_file_close(struct rz_trace_file *file, const char **why);

#endif
