/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemons of a detached job on other hosts: for each host an agent (ssh) runs `rzd --bridge`,
 * which passes on what the daemon's control socket says. */
#ifndef RZ_LAUNCH_ATTACH_HOSTS_H
#define RZ_LAUNCH_ATTACH_HOSTS_H

#include "launch/rzrun_options.h"

#include <sys/types.h>

/* A daemon that answers; fd, non-blocking, is a stream as rzrun --attach reads it. */
struct rz_attach_bridge {
    uint64_t job;
    uint32_t node;
    int fd;
    pid_t agent;
};

/*
 * Asks all other hosts of options->layout for their daemon of the job whose number begins with
 * `prefix`. Hosts that have none, or cannot be reached, were reported. Returns their number;
 * *bridges is freed by rz_attach_hosts_close, which also ends the agents. Takes as long as
 * --start-timeout at most.
 */
size_t rz_attach_hosts_open(const struct rz_rzrun_options *options, const char *prefix,
                            struct rz_attach_bridge **bridges);

/* The fds are the caller's. */
void rz_attach_hosts_close(struct rz_attach_bridge *bridges, size_t n);

#endif
