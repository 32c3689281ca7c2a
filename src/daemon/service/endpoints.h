/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a process reaches another one: by shared memory on this node (OPEN), or by the endpoint
 * address of its transport, here or on another node (PUT_EP_ADDRESS, GET_EP_ADDRESS). Questions
 * about a process that has not joined yet, or has no endpoint address yet, wait here.
 */
#ifndef RZ_DAEMON_ENDPOINTS_H
#define RZ_DAEMON_ENDPOINTS_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/child_life.h"
#include "daemon/process/link_router.h"
#include "daemon/recovery/recovery.h"

struct rz_endpoints;

struct rz_endpoints_config {
    const struct rz_own_node *own;
    struct rz_children *children;
    struct rz_child_life *life;
    struct rz_link_router *router;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
    struct rz_recovery *recovery;
};

rz_status_t rz_endpoints_open(struct rz_endpoints **endpoints,
                              const struct rz_endpoints_config *config);
void rz_endpoints_close(struct rz_endpoints *endpoints); /* NULL: nothing */

/* The process has joined: who wanted to reach it is attended to. */
void rz_endpoints_joined(struct rz_endpoints *endpoints, struct rz_child *process);

/* It has ended in order, whether it ever joined or not: who asked for its endpoint address hears
 * that there is none. */
void rz_endpoints_ended(struct rz_endpoints *endpoints, const struct rz_child *process);

/* The process was spawned, by decision: processes of this node that asked for its endpoint address
 * before that are attended to. */
void rz_endpoints_spawned(struct rz_endpoints *endpoints, uint32_t rank, uint32_t incarnation);

/* The local process is gone: nobody waits for its answers. May be repeated. */
void rz_endpoints_forget(struct rz_endpoints *endpoints, uint32_t slot, uint32_t incarnation);

#endif
