/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The watchdog, off by default: a process whose progress counter (link/waits.h) has not changed for
 * hang_timeout_ns is considered hung and is killed; its failure is then like any other, with the
 * cause `hung`. The counter changes in every MPI call, also while a call waits, and in RZ_Alive.
 * Time in which the process was ready but got no processor does not count.
 */
#ifndef RZ_DAEMON_WATCHDOG_H
#define RZ_DAEMON_WATCHDOG_H

#include "base/status.h"

struct rz_children;
struct rz_watchdog;
struct rz_stall;

/* Watches the processes of this node that have joined; *watchdog stays NULL if the job has no
 * watchdog. */
rz_status_t rz_watchdog_open(struct rz_watchdog **watchdog, const struct rz_children *children);
void rz_watchdog_close(struct rz_watchdog *watchdog); /* NULL: nothing */

/*
 * With --hang-report: tells rzrun when a process of this node has waited in one call for longer
 * than the bound, once for each such wait. No process is ended for it. *stall stays NULL if the job
 * requests no report.
 */
rz_status_t rz_stall_open(struct rz_stall **stall, const struct rz_children *children);
void rz_stall_close(struct rz_stall *stall); /* NULL: nothing */

#endif
