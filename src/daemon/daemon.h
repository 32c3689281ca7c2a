/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon of a node.
 *
 * One thread runs everything, in one event loop; only the waiter threads of the watch, and one that
 * reads and writes checkpoint files, stand beside it. Nothing blocks.
 *
 * Life: the stream to rzrun and the overlay's sockets open (LISTENING names its ports); JOB comes,
 * and all modules open (daemon_modules.c); epoch 1 begins; rz_ending_begin begins the end, from any
 * callback: processes end or are killed, the loop is left, everything is closed.
 */
#ifndef RZ_DAEMON_DAEMON_H
#define RZ_DAEMON_DAEMON_H

#include <stdint.h>

/* How a daemon is started: see rzd.c. */
struct rz_daemon_options {
    int launcher_fd;     /* the stream to rzrun */
    int lifeline_fd;     /* to the keeper, or -1 */
    uint32_t node;       /* for LISTENING */
    const char *address; /* numeric; where the overlay listens */
};

/* The whole life of a daemon, in the calling thread; the exit status. */
int rz_daemon_run(const struct rz_daemon_options *options);

#endif
