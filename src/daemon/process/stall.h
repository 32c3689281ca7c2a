/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With --hang-report: tells rzrun when a process of this node has waited in one call for longer
 * than the bound, once for each such wait. No process is ended for it.
 */
#ifndef RZ_DAEMON_STALL_H
#define RZ_DAEMON_STALL_H

#include "base/status.h"

struct rz_children;
struct rz_stall;

/* *stall stays NULL if the job requests no report. */
rz_status_t rz_stall_open(struct rz_stall **stall, const struct rz_children *children);
void rz_stall_close(struct rz_stall *stall); /* NULL: nothing */

#endif
