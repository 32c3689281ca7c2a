/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a process reaches another one: by shared memory on this node (OPEN), or by the endpoint
 * address of its transport, on this node or another (PUT_EP_ADDRESS, GET_EP_ADDRESS). Questions
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

/* The process has joined: questions about it are answered. */
void rz_endpoints_joined(struct rz_endpoints *endpoints, struct rz_child *process);

/* The process has ended in order, whether or not it had joined: questions about its endpoint
 * address are answered with none. */
void rz_endpoints_ended(struct rz_endpoints *endpoints, const struct rz_child *process);

/* The process was spawned by decision: the questions about it that came before are passed on. */
void rz_endpoints_spawned(struct rz_endpoints *endpoints, uint32_t rank, uint32_t incarnation);

/* The local process has ended: its questions are dropped. May be called again. */
void rz_endpoints_forget(struct rz_endpoints *endpoints, uint32_t slot, uint32_t incarnation);

#endif
