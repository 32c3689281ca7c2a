/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells rzrun what processes of this node have sent to which ranks, in a job that counts it. */
#ifndef RZ_DAEMON_TELL_TRAFFIC_H
#define RZ_DAEMON_TELL_TRAFFIC_H

#include "daemon/process/child.h"

/* What this process has sent so far; it may have failed. Nothing if it has never joined, or the job
 * does not count. */
void rz_child_tell_traffic(const struct rz_child *process);

/* The same of all processes of the node. */
void rz_children_tell_traffic(const struct rz_children *children);

#endif
