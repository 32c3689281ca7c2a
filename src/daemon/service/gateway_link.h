/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's end of its gateway (gateway/README.md), a process that serves programs of other
 * MPIs. The daemon starts it, carries its messages to the gateways of other nodes, and tells it of
 * failures. Processes start when the gateway is ready. When it fails, they end.
 */
#ifndef RZ_DAEMON_GATEWAY_LINK_H
#define RZ_DAEMON_GATEWAY_LINK_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/child_life.h"
#include "daemon/process/environment.h"
#include "daemon/process/link_router.h"
#include "daemon/service/spawns.h"

struct rz_gateway_link;

struct rz_gateway_link_config {
    const struct rz_own_node *own;
    struct rz_children *children;
    struct rz_link_router *router;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
    struct rz_spawns *spawns;
    void *arg;
    /* The gateway is ready: ranks may start. */
    void (*ready)(void *arg);
};

/* *link is NULL if the job needs no gateway. */
rz_status_t rz_gateway_link_open(struct rz_gateway_link **link,
                                 const struct rz_gateway_link_config *config);
void rz_gateway_link_close(struct rz_gateway_link *link); /* NULL: nothing */

/* Whether the process of slot may start. *given: what its environment gets, valid until close;
 * unchanged: nothing. */
bool rz_gateway_link_may_start(const struct rz_gateway_link *link, uint32_t slot,
                               struct rz_environment_given *given);

/* A process of this node was started, or has ended in order. */
void rz_gateway_link_started(struct rz_gateway_link *link, const struct rz_child *process);
void rz_gateway_link_ended(struct rz_gateway_link *link, const struct rz_child *process);

/* Handles what the gateway has sent so far: a process that ends has finalized if it says so. */
void rz_gateway_link_drain(struct rz_gateway_link *link);

/* Subscribers of the membership. */
void rz_gateway_link_node_failed(void *link, rz_id node, bool proof, bool first);
void rz_gateway_link_process_failed(void *link, uint32_t slot, uint32_t incarnation,
                                    enum rz_end end);

#endif
