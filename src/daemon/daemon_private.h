/* SPDX-License-Identifier: BSD-3-Clause */
/* All modules of a daemon. Only daemon.c and daemon_modules.c include this file: they alone know
 * all modules. */
#ifndef RZ_DAEMON_DAEMON_PRIVATE_H
#define RZ_DAEMON_DAEMON_PRIVATE_H

#include "daemon/ending.h"
#include "daemon/launcher/preload_orders.h"
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
#include "daemon/process/watchdog.h"
#include "daemon/service/barrier.h"
#include "daemon/service/decision_cache.h"
#include "daemon/service/gateway_link.h"
#include "daemon/service/acknowledgements.h"
#include "daemon/service/link_service.h"
#include "daemon/service/link_socket.h"
#include "daemon/service/file_marks.h"
#include "daemon/service/pointers.h"
#include "daemon/service/restored_files.h"
#include "daemon/service/snapshots.h"
#include "port/inherited.h"

struct rz_daemon {
    struct rz_own_node own;
    struct rz_node_trace trace;
    struct rz_inherited inherited; /* what processes inherit unchanged */
    int lifeline_fd;               /* keeper.h; -1 without a keeper */
    bool has_job;
    struct rz_preloaded preloaded; /* files, before JOB */

    struct rz_launcher *launcher;
    struct rz_preload_orders preload;
    struct rz_ending *end;
    struct rz_overlay *overlay; /* open before JOB; started by recovery */
    /* The same at an address of the other family (IPv4, IPv6), until JOB has one of both; NULL:
     * there is no such address, or the job has come. */
    struct rz_overlay *other_overlay;

    /* These are open from JOB on, in the order of their layers, lowest first. */
    struct rz_children *children;
    struct rz_overlay_router *overlay_router;
    struct rz_detached *detached; /* NULL: the job is not detached */
    struct rz_input *input;
    struct rz_outputs *outputs;
    struct rz_link_router *router;
    struct rz_binding *binding; /* NULL: processes are not bound */
    struct rz_board_writer *board;
    struct rz_child_life *life;
    struct rz_watchdog *watchdog; /* NULL: no process is ended for lack of progress */
    struct rz_stall *stall;       /* NULL: no report is requested */
    struct rz_recovery *recovery;
    struct rz_revocations *revocations;
    struct rz_groups *groups;
    struct rz_names *names;
    struct rz_pointers *pointers;
    struct rz_file_marks *file_marks;
    struct rz_restored_files *restored_files;
    struct rz_snapshots *snapshots;
    struct rz_gateway_link *gateway; /* NULL: the programs use this MPI library */
    struct rz_arbiter *arbiter;      /* NULL: another detector */
    struct rz_decision_cache *decisions;
    struct rz_endpoints *endpoints;
    struct rz_placement *placement;
    struct rz_spawns *spawns;
    struct rz_link_service *link_service;
    struct rz_acknowledgements *acknowledgements;
    struct rz_link_socket *link_socket; /* or NULL */
    bool start_explained;               /* why it cannot start was said already */
    struct rz_barrier *barrier;
    struct rz_orders *orders;
    struct rz_daemon_news news;
    struct rz_status_page page;
    struct rz_control *control; /* NULL: the control socket could not be opened */
};

/* Opens and registers all modules that JOB asks for. After an error *why (static text) says what
 * was wrong. */
rz_status_t rz_daemon_begin_job(struct rz_daemon *daemon, const struct rz_launch_job *message,
                                const char **why);

/* Closes all modules that are open, and frees the job. */
void rz_daemon_end_job(struct rz_daemon *daemon);

#endif
