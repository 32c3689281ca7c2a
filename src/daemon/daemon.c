#include "daemon/daemon.h"

#include "daemon/binding.h"
#include "daemon/spawns.h"
#include "daemon/board_writer.h"
#include "daemon/control.h"
#include "daemon/detached.h"
#include "daemon/ending.h"
#include "daemon/environment.h"
#include "daemon/groups.h"
#include "daemon/input.h"
#include "daemon/job.h"
#include "daemon/arbiter.h"
#include "daemon/keeper.h"
#include "daemon/launcher.h"
#include "daemon/link_service.h"
#include "daemon/loop.h"
#include "daemon/names.h"
#include "daemon/news.h"
#include "daemon/output.h"
#include "daemon/child.h"
#include "daemon/revocations.h"
#include "daemon/scratch.h"
#include "daemon/stall.h"
#include "daemon/watchdog.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "port/process.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long processes may take to end by themselves when the daemon is told to end by a signal or by
 * its keeper. */
#define END_GRACE_MS 1000
/* How long rzrun may take to read the last messages. */
#define FLUSH_MS 1000
/* Heartbeats and verdicts must not wait behind computing processes; granted where the system allows
 * it. */
#define NICENESS (-15)

/* What the loop itself attends to. */
struct loop_events {
    struct event *lifeline, *terminated, *interrupted;
};

/* Never waits for whoever reads standard error: a daemon that waits is held for failed. */
static void say(const char *line, size_t n)
{
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&fd, 1, 0) == 1) {
        ssize_t written = write(STDERR_FILENO, line, n);
        (void)written;
    }
}

void rz_daemon_log(const struct rz_daemon *daemon, uint32_t level, const char *format, ...)
{
    char line[512], said[sizeof line + 24];
    va_list arguments;
    if (level > daemon->job.verbosity)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (daemon->detached && rz_detached_log(daemon->detached, line))
        return;
    int n = snprintf(said, sizeof said, "rzd[%u]: %s\n", daemon->job.node, line);
    say(said, (size_t)n);
}

static void send_revocations(void *arg, rz_id to, const struct rz_message *message,
                             const uint64_t *items)
{
    const struct rz_daemon *daemon = arg;
    rz_overlay_send_protocol(daemon->overlay, to, message, items, false);
}

static void write_revocations(void *arg, const uint64_t *revocations, uint32_t n)
{
    const struct rz_daemon *daemon = arg;
    for (uint32_t i = 0; i < n; i++)
        rz_board_writer_revoked(daemon->board, revocations[i]);
    rz_board_writer_publish(daemon->board);
}

static rz_status_t open_revocations(struct rz_daemon *daemon)
{
    const struct rz_revocations_config config = {.n_nodes = daemon->job.n_nodes,
                                                 .self = daemon->job.node,
                                                 .base = daemon->base,
                                                 .arg = daemon,
                                                 .send = send_revocations,
                                                 .learnt = write_revocations};
    return rz_revocations_open(&daemon->revocations, &config);
}

static rz_status_t open_modules(struct rz_daemon *daemon)
{
    daemon->places = calloc(daemon->job.n_slots, sizeof *daemon->places);
    daemon->failed = calloc(daemon->job.n_slots, sizeof *daemon->failed);
    if (!daemon->places || !daemon->failed)
        return RZ_ERR_NO_MEMORY;
    for (uint32_t slot = 0; slot < daemon->job.n_slots; slot++)
        daemon->places[slot].node = RZ_ID_NONE;
    rz_status_t status = RZ_OK;
    if (daemon->job.flags & RZ_JOB_DETACHED)
        status = rz_detached_open(&daemon->detached, daemon);
    if (status == RZ_OK)
        status = rz_input_open(&daemon->input, daemon);
    if (status == RZ_OK)
        status = rz_link_service_open(&daemon->link_service, daemon);
    if (status == RZ_OK)
        status = rz_binding_open(&daemon->binding, &daemon->job);
    if (status == RZ_OK)
        status = rz_child_table_open(&daemon->children, daemon);
    if (status == RZ_OK)
        status = rz_board_writer_open(&daemon->board, daemon);
    if (status == RZ_OK)
        status = rz_spawns_open(&daemon->spawns, daemon);
    if (status == RZ_OK)
        status = rz_names_open(&daemon->names, daemon);
    if (status == RZ_OK)
        status = rz_watchdog_open(&daemon->watchdog, daemon);
    if (status == RZ_OK)
        status = rz_stall_open(&daemon->stall, daemon);
    if (status == RZ_OK)
        status = rz_arbiter_open(&daemon->arbiter, daemon);
    if (status == RZ_OK)
        status = open_revocations(daemon);
    if (status == RZ_OK)
        status = rz_groups_open(&daemon->groups, daemon);
    if (status == RZ_OK)
        status = rz_recovery_open(&daemon->recovery, daemon, &rz_news_hooks);
    return status;
}

/* Without a keeper nobody removes it when the daemon is killed. */
static void name_scratch(const struct rz_daemon *daemon)
{
    char path[RZ_SCRATCH_PATH_MAX];
    rz_scratch_path(path, daemon->job.id, daemon->job.node);
    if (daemon->lifeline_fd >= 0)
        rz_keeper_scratch(daemon->lifeline_fd, path);
}

static void remove_scratch(const struct rz_daemon *daemon)
{
    char path[RZ_SCRATCH_PATH_MAX];
    rz_scratch_path(path, daemon->job.id, daemon->job.node);
    if (daemon->has_job)
        rz_scratch_remove(path);
}

rz_status_t rz_daemon_begin_job(struct rz_daemon *daemon, const struct rz_launch_job *message,
                                const char **why)
{
    rz_kill_here(RZ_KILL_DAEMON_JOB);
    rz_status_t status = rz_job_read(&daemon->job, message, why);
    if (status != RZ_OK)
        return status;
    daemon->has_job = true;
    name_scratch(daemon);
    daemon->begun = rz_clock_now();
    status = open_modules(daemon);
    *why = rz_status_text(status);
    if (status == RZ_OK && rz_control_open(&daemon->control, daemon) != RZ_OK)
        rz_daemon_log(daemon, 1, "has no control socket: rzps will not see it");
    if (status == RZ_OK && daemon->job.node == 0) /* the others have the same */
        rz_environment_tell_overruled(daemon);
    rz_kill_here(RZ_KILL_DAEMON_OPEN);
    return status;
}

static void close_modules(struct rz_daemon *daemon)
{
    if (daemon->recovery)
        rz_recovery_close(daemon->recovery);
    daemon->recovery = NULL;
    rz_revocations_close(daemon->revocations);
    rz_groups_close(daemon->groups);
    rz_control_close(daemon->control);
    rz_watchdog_close(daemon->watchdog);
    rz_stall_close(daemon->stall);
    rz_arbiter_close(daemon->arbiter);
    rz_names_close(daemon->names);
    rz_spawns_close(daemon->spawns);
    rz_child_table_close(daemon->children);
    daemon->children = NULL;
    rz_binding_close(daemon->binding);
    rz_link_service_close(daemon->link_service);
    rz_board_writer_close(daemon->board);
    rz_input_close(daemon->input);
    rz_outputs_close(daemon);
    rz_detached_close(daemon->detached);
    daemon->detached = NULL;
    if (daemon->overlay)
        rz_overlay_close(daemon->overlay);
    rz_launcher_close(daemon->launcher);
    rz_ending_close(daemon->end);
    free(daemon->places);
    free(daemon->failed);
    rz_job_clear(&daemon->job);
}

static void told_to_end(evutil_socket_t signal_or_fd, short what, void *arg)
{
    struct rz_daemon *daemon = arg;
    int status = what & EV_SIGNAL ? 128 + (int)signal_or_fd : EXIT_FAILURE;
    daemon->told_to_end |= !daemon->ending;
    if (daemon->detached)
        rz_detached_dismiss(daemon->detached);
    rz_ending_begin(daemon, status, RZ_ERR_JOB_ENDED, END_GRACE_MS);
}

/* Nothing but its end can come: rzrun is gone, or the keeper is. */
static void lifeline_readable(evutil_socket_t fd, short what, void *arg)
{
    struct rz_daemon *daemon = arg;
    told_to_end(fd, what, daemon);
}

static rz_status_t open_loop(struct rz_daemon *daemon, struct loop_events *events)
{
    /* However much there is to carry, heartbeats are looked at again after so long. */
    const struct timeval turn = {.tv_usec = 5000};
    struct event_config *config = event_config_new();
    /* The usual clock of libevent goes in steps of some milliseconds: it wakes up too early,
     * several times, and then too late. */
    if (config && event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) == 0 &&
        event_config_set_max_dispatch_interval(config, &turn, -1, 1) == 0)
        daemon->base = event_base_new_with_config(config);
    if (config)
        event_config_free(config);
    if (!daemon->base || event_base_priority_init(daemon->base, RZ_DAEMON_PRIORITIES) != 0)
        return RZ_ERR_SYSTEM;
    rz_status_t status = rz_ending_open(&daemon->end, daemon);
    if (status == RZ_OK)
        status = rz_loop_watch(daemon->base, &events->terminated, SIGTERM, EV_SIGNAL | EV_PERSIST,
                               told_to_end, daemon);
    if (status == RZ_OK)
        status = rz_loop_watch(daemon->base, &events->interrupted, SIGINT, EV_SIGNAL | EV_PERSIST,
                               told_to_end, daemon);
    if (status == RZ_OK && daemon->lifeline_fd >= 0)
        status = rz_loop_watch(daemon->base, &events->lifeline, daemon->lifeline_fd, EV_READ,
                               lifeline_readable, daemon);
    return status;
}

static void close_loop(struct rz_daemon *daemon, struct loop_events *events)
{
    rz_loop_free(events->lifeline);
    rz_loop_free(events->terminated);
    rz_loop_free(events->interrupted);
    if (daemon->base)
        event_base_free(daemon->base);
}

static rz_status_t begin(struct rz_daemon *daemon, const struct rz_daemon_options *options)
{
    uint16_t tcp_port, udp_port;
    rz_status_t status = rz_launcher_open(&daemon->launcher, daemon, options->launcher_fd);
    if (status != RZ_OK)
        return status;
    rz_kill_here(RZ_KILL_DAEMON_STREAM);
    status = rz_overlay_open(&daemon->overlay, daemon->base, options->address);
    if (status != RZ_OK)
        return status;
    rz_overlay_ports(daemon->overlay, &tcp_port, &udp_port);
    rz_launcher_say_listening(daemon->launcher, options->node, options->address, tcp_port,
                              udp_port);
    rz_kill_here(RZ_KILL_DAEMON_LISTENING);
    return RZ_OK;
}

/* A daemon holds about ten descriptors for each process; its processes get the bound back that the
 * user chose. */
static void raise_limits(const struct rz_daemon *daemon)
{
    struct rlimit files = daemon->inherited.files;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    setpriority(PRIO_PROCESS, 0, NICENESS);
}

int rz_daemon_run(const struct rz_daemon_options *options)
{
    struct rz_daemon daemon = {.lifeline_fd = options->lifeline_fd};
    struct loop_events events = {0};
    int exit_status = EXIT_FAILURE;
    rz_kill_here(RZ_KILL_DAEMON_BEGIN);
    rz_inherited_take(&daemon.inherited);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    raise_limits(&daemon);
    daemon.job.node = options->node; /* for the log, until JOB says the same */
    rz_status_t status = rz_process_adopt_orphans();
    if (status == RZ_OK)
        status = open_loop(&daemon, &events);
    if (status == RZ_OK)
        status = begin(&daemon, options);
    if (status == RZ_OK) {
        event_base_dispatch(daemon.base);
        exit_status = rz_ending_status(daemon.end);
        rz_kill_here(RZ_KILL_DAEMON_EMPTY);
        rz_ending_clear();
        remove_scratch(&daemon);
        rz_kill_here(RZ_KILL_DAEMON_CLEARED);
        rz_launcher_flush(daemon.launcher, FLUSH_MS);
    } else {
        fprintf(stderr, "rzd[%u]: cannot start: %s\n", options->node, rz_status_text(status));
    }
    close_modules(&daemon);
    close_loop(&daemon, &events);
    return exit_status;
}
