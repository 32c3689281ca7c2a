/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon of a node.
 *
 * One thread runs everything, in one event loop. Other threads are only the waiter threads of the
 * watch and one that reads and writes checkpoint files. Nothing blocks.
 *
 * The daemon runs in these steps:
 *   - the stream to rzrun and the overlay's sockets are opened (LISTENING reports the ports);
 *   - JOB arrives, and all modules are opened (daemon_modules.c);
 *   - epoch 1 begins;
 *   - rz_ending_begin, called from any callback, begins the end: processes end or are killed, the
 *     loop is left, and everything is closed.
 */
#ifndef RZ_DAEMON_DAEMON_H
#define RZ_DAEMON_DAEMON_H

#include "port/address.h"

#include <stdint.h>

struct rz_stream;

/* The arguments of a daemon: see rzd.c. */
struct rz_daemon_options {
    int launcher_fd;            /* an inherited stream to rzrun; -1: launcher is given */
    struct rz_stream *launcher; /* a stream to rzrun that is open already; taken over */
    int lifeline_fd;            /* to the keeper, or -1 */
    int trace_fd;               /* the node's traces (port/trace_memory.h), or -1 */
    uint32_t node;              /* for LISTENING */
    struct rz_address address;  /* where the overlay listens; port 0 */
};

/* Runs a daemon from start to end in the calling thread. Returns its exit status. */
int rz_daemon_run(const struct rz_daemon_options *options);

#endif
