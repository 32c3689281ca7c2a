/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decisions that processes of this node have cached (link/decisions.h), for members of their
 * communicators that wait for an answer while those processes compute. This module keeps nothing: a
 * member that waits asks again, and is answered when there is an answer.
 */
#ifndef RZ_DAEMON_CACHED_H
#define RZ_DAEMON_CACHED_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/link_router.h"
#include "daemon/recovery/recovery.h"

struct rz_decision_cache;

struct rz_decision_cache_config {
    const struct rz_own_node *own;
    const struct rz_children *children;
    struct rz_link_router *router;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
    struct rz_recovery *recovery;
};

/* All messages come by the routers: DECISION_ASK of processes and of other daemons, DECISION. */
rz_status_t rz_decision_cache_open(struct rz_decision_cache **cache,
                                   const struct rz_decision_cache_config *config);
void rz_decision_cache_close(struct rz_decision_cache *cache); /* NULL: nothing */

#endif
