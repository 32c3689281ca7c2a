/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lateness of the observed daemon, if it is on the same machine, as the kernel shows it: a
 * daemon without a processor cannot report its own lateness. Silence for this reason is no failure;
 * it counts as lateness (base/lateness.h).
 */
#ifndef RZ_DAEMON_PEER_LATENESS_H
#define RZ_DAEMON_PEER_LATENESS_H

#include "port/run_delay.h"

struct rz_peer_lateness {
    pid_t pid;
    rz_time looked_at, waited;
    struct rz_run_look run;
};

/* Samples the daemon pid (0: it is on another machine). Returns for how many ns in all it has
 * waited for a processor since its last heartbeat, as far as samples show it; 0 at the first
 * sample. */
rz_time rz_peer_lateness_look(struct rz_peer_lateness *peer, pid_t pid, rz_time now);

/* A heartbeat of the observed daemon has arrived: its waiting time begins at 0 again. */
void rz_peer_lateness_heard(struct rz_peer_lateness *peer);

#endif
