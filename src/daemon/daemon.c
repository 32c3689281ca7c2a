/* SPDX-License-Identifier: BSD-3-Clause */
/* The event loop of the daemon: its start and its end, the signals, and the stream to rzrun. What
 * depends on the job is in daemon_modules.c. */
#include "daemon/daemon.h"

#include "daemon/daemon_private.h"
#include "daemon/launcher/keeper.h"
#include "daemon/state/loop.h"
#include "daemon/state/scratch.h"
#include "port/interface.h"
#include "port/kill_point.h"
#include "port/process.h"
#include "port/prompt.h"
#include "port/signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long processes may take to end by themselves when the daemon is told to end by a signal or by
 * its keeper, or when rzrun has gone. */
#define END_GRACE_MS 1000
/* How long rzrun may take to read the last messages. */
#define FLUSH_MS 1000
/* Heartbeats and failure reports must not wait behind computing processes. The priority is raised
 * where the system allows it. */
#define NICENESS (-15)

/* The events of the loop that belong to no module. */
struct loop_events {
    struct event *lifeline, *terminated, *interrupted;
};

/* ---- the end ---- */

static void dismiss(struct rz_daemon *daemon)
{
    if (daemon->detached) {
        rz_detached_dismiss(daemon->detached);
    }
}

static void told_to_end(evutil_socket_t signal_or_fd, short what, void *arg)
{
    struct rz_daemon *daemon = arg;
    int status = what & EV_SIGNAL ? 128 + (int)signal_or_fd : EXIT_FAILURE;
    daemon->own.membership.told_to_end |= !daemon->own.membership.ending;
    dismiss(daemon);
    rz_ending_begin(daemon->end, status, RZ_ERR_JOB_ENDED, END_GRACE_MS, false);
}

/* The lifeline carries no data to the daemon: readable means that its other end was closed, because
 * rzrun has gone or the keeper has ended. */
static void lifeline_readable(evutil_socket_t fd, short what, void *arg)
{
    told_to_end(fd, what, arg);
}

/* ---- the stream to rzrun ---- */

static bool deaf(void *arg)
{
    const struct rz_daemon *daemon = arg;
    return daemon->own.membership.ending && !daemon->detached;
}

static void backed_up(void *arg, bool hold)
{
    const struct rz_daemon *daemon = arg;
    if (daemon->outputs) {
        rz_outputs_hold(daemon->outputs, hold);
    }
}

/* The stream to rzrun has ended. The daemon ends, too, unless the job is detached and rzrun was
 * allowed to go. */
static void lost(void *arg)
{
    struct rz_daemon *daemon = arg;
    rz_ending_release(daemon->end);
    if (daemon->detached && rz_detached_may_lose_rzrun(daemon->detached)) {
        return;
    }
    rz_ending_begin(daemon->end, EXIT_FAILURE, RZ_ERR_JOB_ENDED, END_GRACE_MS, false);
}

static void refused(void *arg)
{
    struct rz_daemon *daemon = arg;
    dismiss(daemon);
    rz_ending_begin(daemon->end, 2, RZ_ERR_INVALID, 0, false);
}

static const char *on_job(void *arg, const struct rz_launch_message *message)
{
    struct rz_daemon *daemon = arg;
    const char *why = "JOB came twice";
    if (daemon->has_job || rz_daemon_begin_job(daemon, &message->job, &why) != RZ_OK) {
        return why;
    }
    return NULL;
}

static const char *on_shutdown(void *arg, const struct rz_launch_message *message)
{
    struct rz_daemon *daemon = arg;
    dismiss(daemon);
    rz_ending_begin(daemon->end, EXIT_SUCCESS, RZ_ERR_JOB_ENDED, message->shutdown.grace_ms,
                    message->shutdown.complete);
    return NULL;
}

static const char *on_rzrun_leave(void *arg, const struct rz_launch_message *message)
{
    const struct rz_daemon *daemon = arg;
    (void)message;
    rz_ending_release(daemon->end);
    return NULL;
}

static rz_status_t open_launcher(struct rz_daemon *daemon, const struct rz_daemon_options *options)
{
    struct rz_stream *stream = options->launcher;
    rz_status_t status = RZ_OK;
    if (!stream) {
        status = rz_stream_plain(&stream, options->launcher_fd, RZ_LAUNCH_JOB_MAX);
    }
    if (status != RZ_OK) {
        return status;
    }
    const struct rz_launcher_config config = {.own = &daemon->own,
                                              .stream = stream,
                                              .arg = daemon,
                                              .deaf = deaf,
                                              .backed_up = backed_up,
                                              .lost = lost,
                                              .refused = refused};
    status = rz_launcher_open(&daemon->launcher, &config);
    if (status != RZ_OK) {
        return status;
    }
    rz_launcher_handle(daemon->launcher, RZ_LAUNCH_JOB, RZ_LAUNCHER_BEFORE_END, on_job, daemon);
    rz_launcher_handle(daemon->launcher, RZ_LAUNCH_SHUTDOWN, RZ_LAUNCHER_ALWAYS, on_shutdown,
                       daemon);
    rz_launcher_handle(daemon->launcher, RZ_LAUNCH_LEAVE, RZ_LAUNCHER_ALWAYS, on_rzrun_leave,
                       daemon);
    daemon->preload = (struct rz_preload_orders){
        .own = &daemon->own, .preloaded = &daemon->preloaded, .lifeline_fd = daemon->lifeline_fd};
    rz_preload_orders_register(&daemon->preload, daemon->launcher);
    return RZ_OK;
}

/* ---- open and close ---- */

static rz_status_t open_loop(struct rz_daemon *daemon, struct loop_events *events)
{
    /* The loop looks for heartbeats after this time at the latest, however many other events there
     * are. */
    const struct timeval turn = {.tv_usec = 5000};
    struct event_config *config = event_config_new();
    /* libevent's default clock has a resolution of some milliseconds: timers would fire too early,
     * several times, or too late. */
    if (config && event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) == 0 &&
        event_config_set_max_dispatch_interval(config, &turn, -1, 1) == 0) {
        daemon->own.base = event_base_new_with_config(config);
    }
    if (config) {
        event_config_free(config);
    }
    struct event_base *base = daemon->own.base;
    if (!base || event_base_priority_init(base, RZ_LOOP_PRIORITIES) != 0) {
        return RZ_ERR_SYSTEM;
    }
    rz_status_t status = rz_ending_open(&daemon->end, &daemon->own);
    if (status == RZ_OK) {
        status = rz_loop_watch(base, &events->terminated, SIGTERM, EV_SIGNAL | EV_PERSIST,
                               told_to_end, daemon);
    }
    if (status == RZ_OK) {
        status = rz_loop_watch(base, &events->interrupted, SIGINT, EV_SIGNAL | EV_PERSIST,
                               told_to_end, daemon);
    }
    if (status == RZ_OK && daemon->lifeline_fd >= 0) {
        status = rz_loop_watch(base, &events->lifeline, daemon->lifeline_fd, EV_READ,
                               lifeline_readable, daemon);
    }
    return status;
}

static void close_loop(struct rz_daemon *daemon, struct loop_events *events)
{
    rz_loop_free(events->lifeline);
    rz_loop_free(events->terminated);
    rz_loop_free(events->interrupted);
    if (daemon->own.base) {
        event_base_free(daemon->own.base);
    }
}

/* Nodes of one machine listen at addresses of the loopback device; where it has none of IPv4, all
 * at that of IPv6. */
static rz_status_t open_overlay(struct rz_daemon *daemon, const struct rz_daemon_options *options)
{
    struct rz_address other;
    char text[RZ_ADDRESS_TEXT];
    rz_status_t status = rz_overlay_open(&daemon->overlay, daemon->own.base, &options->address);
    int reason = errno;
    if (status == RZ_ERR_SYSTEM && rz_address_is_loopback(&options->address) &&
        rz_address_parse("::1", &other) == RZ_OK) {
        status = rz_overlay_open(&daemon->overlay, daemon->own.base, &other);
    }
    if (status == RZ_ERR_SYSTEM) {
        daemon->start_explained = true;
        rz_address_ip_text(&options->address, text);
        fprintf(stderr, "rzd[%u]: cannot listen at %s: %s%s\n", options->node, text,
                strerror(reason),
                rz_address_is_loopback(&options->address)
                    ? "; as root: ip link set lo up; ip address add 127.0.0.1/8 dev lo"
                    : "");
    }
    return status;
}

static rz_status_t begin(struct rz_daemon *daemon, const struct rz_daemon_options *options)
{
    struct rz_address other;
    if (options->launcher) { /* this host is not rzrun's: files may have been brought to it */
        rz_preloaded_sweep();
    }
    rz_status_t status = open_launcher(daemon, options);
    if (status != RZ_OK) {
        return status;
    }
    rz_kill_here(RZ_KILL_DAEMON_STREAM);
    status = open_overlay(daemon, options);
    if (status != RZ_OK) {
        return status;
    }
    struct rz_overlay_peer at = rz_overlay_own(daemon->overlay), beside;
    bool both = rz_interface_other_family(&options->address, &other) &&
                rz_overlay_open(&daemon->other_overlay, daemon->own.base, &other) == RZ_OK;
    if (both) {
        beside = rz_overlay_own(daemon->other_overlay);
    }
    rz_launcher_say_listening(daemon->launcher, options->node, &at, both ? &beside : NULL);
    rz_kill_here(RZ_KILL_DAEMON_LISTENING);
    return RZ_OK;
}

static void remove_folders(struct rz_daemon *daemon)
{
    if (daemon->has_job) {
        rz_scratch_remove(daemon->own.job.scratch);
    }
    rz_preloaded_close(&daemon->preloaded);
}

int rz_daemon_run(const struct rz_daemon_options *options)
{
    struct rz_daemon daemon = {.lifeline_fd = options->lifeline_fd};
    struct loop_events events = {0};
    int exit_status = EXIT_FAILURE;
    rz_preloaded_open(&daemon.preloaded);
    rz_kill_here(RZ_KILL_DAEMON_BEGIN);
    rz_inherited_take(&daemon.inherited);
    rz_signals_ignore_losses();
    (void)rz_prompt_prepare(); /* without it a stranger could stop this daemon */
    /* A daemon holds about ten descriptors for each process. Its processes start with the limit
     * that the user chose. */
    rz_inherited_raise(&daemon.inherited, NICENESS);
    rz_node_trace_open(&daemon.trace, options->trace_fd, options->node);
    daemon.own.trace = &daemon.trace;
    daemon.own.job.node = daemon.own.report.node = options->node; /* until JOB confirms it */
    rz_status_t status = rz_process_adopt_orphans();
    if (status == RZ_OK) {
        status = open_loop(&daemon, &events);
    }
    if (status == RZ_OK) {
        status = begin(&daemon, options);
    }
    if (status == RZ_OK) {
        event_base_dispatch(daemon.own.base);
        exit_status = rz_ending_status(daemon.end);
        rz_kill_here(RZ_KILL_DAEMON_EMPTY);
        rz_ending_clear();
        remove_folders(&daemon);
        rz_kill_here(RZ_KILL_DAEMON_CLEARED);
        rz_launcher_flush(daemon.launcher, FLUSH_MS);
    } else if (!daemon.start_explained) {
        fprintf(stderr, "rzd[%u]: cannot start: %s\n", options->node, rz_status_text(status));
    }
    rz_daemon_end_job(&daemon);
    rz_launcher_close(daemon.launcher);
    rz_ending_close(daemon.end);
    close_loop(&daemon, &events);
    rz_node_trace_close(&daemon.trace);
    return exit_status;
}
