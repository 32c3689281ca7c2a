/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How late the daemon that this one observes runs, where both are on one machine: what the kernel
 * says of it, while it itself cannot say anything since it gets no processor. A silence that comes
 * of that is no failure; it counts as lateness (base/lateness.h).
 */
#ifndef RZ_DAEMON_PEER_LATENESS_H
#define RZ_DAEMON_PEER_LATENESS_H

#include "port/run_delay.h"

struct rz_peer_lateness {
    pid_t pid;
    rz_time looked_at, waited;
    struct rz_run_look run;
};

/* A look now at the daemon pid (0: of another machine). Returns for how long in all, in ns, it has
 * waited for a processor since it was heard, as far as that was looked at; 0 at the first look. */
rz_time rz_peer_lateness_look(struct rz_peer_lateness *peer, pid_t pid, rz_time now);

/* A heartbeat of it has come: what it waited before is over. */
void rz_peer_lateness_heard(struct rz_peer_lateness *peer);

#endif
