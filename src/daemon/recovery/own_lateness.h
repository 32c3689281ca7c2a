/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lateness of this daemon: the time for which it was ready to run and got no processor, as the
 * kernel counts it, or else the delay of its timers. The daemon tells the others in its heartbeats
 * (proto/ring), and waits longer for answers by it.
 */
#ifndef RZ_DAEMON_OWN_LATENESS_H
#define RZ_DAEMON_OWN_LATENESS_H

#include "base/lateness.h"

struct rz_own_lateness {
    int fd; /* from rz_run_delay_open */
    rz_time waited;
    struct rz_lateness lateness;
};

void rz_own_lateness_open(struct rz_own_lateness *own);
void rz_own_lateness_close(struct rz_own_lateness *own);

/* Measures since the last call; `late` is the delay of the timer that has just expired. Returns the
 * measured lateness. */
rz_time rz_own_lateness_look(struct rz_own_lateness *own, rz_time late);

/* How much longer to wait for other daemons than on a quiet machine. */
rz_time rz_own_lateness_patience(const struct rz_own_lateness *own);

#endif
