/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process reports about itself to its daemon (wire/link_messages.h): it joins, ends, aborts,
 * reaches a mark, or revokes a communicator.
 */
#ifndef RZ_DAEMON_LINK_SERVICE_H
#define RZ_DAEMON_LINK_SERVICE_H

#include "daemon/process/child_life.h"
#include "daemon/process/link_router.h"
#include "daemon/recovery/revocations.h"
#include "daemon/service/arbiter.h"
#include "daemon/service/endpoints.h"
#include "daemon/service/groups.h"
#include "daemon/service/spawns.h"
#include "daemon/state/board_writer.h"

struct rz_link_service;

struct rz_link_service_config {
    const struct rz_own_node *own;
    struct rz_link_router *router;
    struct rz_child_life *life;
    struct rz_board_writer *board;
    struct rz_arbiter *arbiter; /* NULL: another detector */
    struct rz_endpoints *endpoints;
    struct rz_groups *groups;
    struct rz_revocations *revocations;
    struct rz_spawns *spawns;
};

rz_status_t rz_link_service_open(struct rz_link_service **service,
                                 const struct rz_link_service_config *config);
/* Why a HELLO of the process is refused, for the user; NULL: it is good. */
const char *rz_link_hello_problem(const struct rz_child *process,
                                  const struct rz_link_hello *hello);
void rz_link_service_close(struct rz_link_service *service); /* NULL: nothing */

#endif
