/* SPDX-License-Identifier: BSD-3-Clause */
/* All modules of a daemon. Only daemon.c and daemon_modules.c include this: they are what knows
 * everything. */
#ifndef RZ_DAEMON_DAEMON_PRIVATE_H
#define RZ_DAEMON_DAEMON_PRIVATE_H

#include "daemon/ending.h"
#include "daemon/launcher/control.h"
#include "daemon/launcher/detached.h"
#include "daemon/launcher/launcher.h"
#include "daemon/launcher/orders.h"
#include "daemon/launcher/status_page.h"
#include "daemon/news.h"
#include "daemon/process/binding.h"
#include "daemon/process/child_life.h"
#include "daemon/process/input.h"
#include "daemon/process/link_router.h"
#include "daemon/process/output.h"
#include "daemon/process/stall.h"
#include "daemon/process/watchdog.h"
#include "daemon/service/barrier.h"
#include "daemon/service/decision_cache.h"
#include "daemon/service/link_service.h"
#include "port/inherited.h"

struct rz_daemon {
    struct rz_own_node own;
    struct rz_inherited inherited; /* what its processes find as it was when it began */
    int lifeline_fd;               /* keeper.h; -1 without a keeper */
    bool has_job;

    struct rz_launcher *launcher;
    struct rz_ending *end;
    struct rz_overlay *overlay; /* open before JOB; started by recovery */

    /* From JOB on, from the lowest to the highest. */
    struct rz_children *children;
    struct rz_overlay_router *overlay_router;
    struct rz_detached *detached; /* NULL: rzrun stays */
    struct rz_input *input;
    struct rz_outputs *outputs;
    struct rz_link_router *router;
    struct rz_binding *binding; /* NULL: processes are not bound */
    struct rz_board_writer *board;
    struct rz_child_life *life;
    struct rz_watchdog *watchdog; /* NULL: nothing is ended for making no progress */
    struct rz_stall *stall;       /* NULL: no report is wanted */
    struct rz_recovery *recovery;
    struct rz_revocations *revocations;
    struct rz_groups *groups;
    struct rz_names *names;
    struct rz_arbiter *arbiter; /* NULL: another detector */
    struct rz_decision_cache *decisions;
    struct rz_endpoints *endpoints;
    struct rz_placement *placement;
    struct rz_spawns *spawns;
    struct rz_link_service *link_service;
    struct rz_barrier *barrier;
    struct rz_orders *orders;
    struct rz_daemon_news news;
    struct rz_status_page page;
    struct rz_control *control; /* NULL: nobody can ask */
};

/* What JOB asks for: all modules are opened and registered. After an error *why (static text) says
 * what was wrong. */
rz_status_t rz_daemon_begin_job(struct rz_daemon *daemon, const struct rz_launch_job *message,
                                const char **why);

/* What is open of it, and the job. */
void rz_daemon_end_job(struct rz_daemon *daemon);

#endif
