/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells rzrun what the processes of this node have counted of their messages (link/waits.h). */
#ifndef RZ_DAEMON_TELL_COUNTS_H
#define RZ_DAEMON_TELL_COUNTS_H

#include "daemon/process/child.h"

/* ---- What was sent to which ranks, in a job that counts it ---- */

/* What this process has sent so far; it may have failed. Nothing if it has never joined, or the job
 * does not count. */
void rz_child_tell_traffic(const struct rz_child *process);

/* The same of all processes of the node. */
void rz_children_tell_traffic(const struct rz_children *children);

/* ---- This node's part of the messages that are under way (wire/message_balance.h) ---- */

/* Between the slots of these bits. Takes time in proportion to all slots, for each process here. */
void rz_children_tell_under_way(const struct rz_children *children, const uint8_t *bits,
                                uint32_t bytes);

#endif
