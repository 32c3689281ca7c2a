/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How late this daemon runs: the time that it was ready to run and got no processor, as the kernel
 * counts it; where it does not, by how much timers came late. Told to the others in heartbeats
 * (proto/ring), and the measure of our own patience with answers.
 */
#ifndef RZ_DAEMON_OWN_LATENESS_H
#define RZ_DAEMON_OWN_LATENESS_H

#include "base/lateness.h"

struct rz_own_lateness {
    int fd; /* of rz_run_delay */
    rz_time waited;
    struct rz_lateness lateness;
};

void rz_own_lateness_open(struct rz_own_lateness *own);
void rz_own_lateness_close(struct rz_own_lateness *own);

/* Measures since the last look; a timer has just come `late` late. Returns what was measured. */
rz_time rz_own_lateness_look(struct rz_own_lateness *own, rz_time late);

/* How much longer than on a quiet machine to wait for others. */
rz_time rz_own_lateness_patience(const struct rz_own_lateness *own);

#endif
