/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The watchdog, off by default: a process whose progress counter (link/waits.h) has not moved for
 * hang_timeout_ns is held for hung and killed; its failure is then one like any other, with that
 * verdict. The counter moves in every MPI call, also while one waits, and in RZ_Alive. Time in
 * which the process was to run and got no processor does not count.
 */
#ifndef RZ_DAEMON_WATCHDOG_H
#define RZ_DAEMON_WATCHDOG_H

#include "base/status.h"

struct rz_children;
struct rz_watchdog;

/* Watches the processes of this node that have joined; *watchdog stays NULL where the job has none.
 */
rz_status_t rz_watchdog_open(struct rz_watchdog **watchdog, const struct rz_children *children);
void rz_watchdog_close(struct rz_watchdog *watchdog); /* NULL: nothing */

#endif
