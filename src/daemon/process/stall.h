/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks, where --hang-report asks for it, whether a process of this node has waited in one call for
 * longer than the bound, and tells rzrun so, once for each such wait. Nobody is ended for it.
 */
#ifndef RZ_DAEMON_STALL_H
#define RZ_DAEMON_STALL_H

#include "base/status.h"

struct rz_children;
struct rz_stall;

/* *stall stays NULL where the job wants no report. */
rz_status_t rz_stall_open(struct rz_stall **stall, const struct rz_children *children);
void rz_stall_close(struct rz_stall *stall); /* NULL: nothing */

#endif
