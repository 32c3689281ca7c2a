/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which processes of this node have reached the end of a phase, and which have entered MPIX_Reinit:
 * once all have, recovery is told, which opens the barrier with the other daemons.
 */
#ifndef RZ_DAEMON_BARRIER_H
#define RZ_DAEMON_BARRIER_H

#include "daemon/process/child.h"
#include "daemon/process/link_router.h"
#include "daemon/recovery/recovery.h"
#include "daemon/service/groups.h"

struct rz_barrier;

struct rz_barrier_config {
    struct rz_children *children;
    struct rz_link_router *router;
    struct rz_recovery *recovery;
    struct rz_groups *groups;
};

rz_status_t rz_barrier_open(struct rz_barrier **barrier, const struct rz_barrier_config *config);
void rz_barrier_close(struct rz_barrier *barrier); /* NULL: nothing */

#endif
