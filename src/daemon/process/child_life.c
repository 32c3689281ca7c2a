/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the processes of the node, gives them what they need when they join, and handles their
 * failure, end and exit. All ways to an end meet in rz_child_failed or process_exited. */
#include "daemon/process/child_life.h"

#include "base/assert.h"
#include "base/trace.h"
#include "daemon/process/binding.h"
#include "daemon/process/environment.h"
#include "daemon/process/input.h"
#include "daemon/process/lanes.h"
#include "daemon/process/link_router.h"
#include "daemon/process/output.h"
#include "daemon/process/share.h"
#include "daemon/process/spawn.h"
#include "daemon/process/tell_counts.h"
#include "daemon/state/board_writer.h"
#include "daemon/state/loop.h"
#include "port/child_process.h"
#include "port/control_group.h"
#include "port/signals.h"
#include "port/watch.h"
#include "port/kill_point.h"
#include "port/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long a process that has closed its link without BYE may take to end. */
#define PATIENCE_NS RZ_SECOND

/* The watch needs a thread for each 127 slots; a node has fewer processes than this. */
#define WATCH_SLOTS_MAX 4096u

struct rz_child_life {
    struct rz_child_life_config config;
    uint32_t *started; /* [n_slots]: the newest incarnation forked here; 0: none */
    struct rz_watch *watch;
    struct event *failures, *exits;
    struct rz_lanes *lanes; /* NULL: the module is being closed */
    uint64_t memory_kills; /* rz_memory_kills(), as read last, and when it was seen to have grown */
    rz_time memory_killed;
};

/* A kill for lack of memory and the exits that it causes are not further apart. */
#define STARVED_WITHIN (5 * RZ_SECOND)

bool rz_child_has_ended(const struct rz_child_life *life, uint32_t rank)
{
    const struct rz_own_node *own = life->config.own;
    const struct rz_membership_slot *member = &own->membership.slots[rank];
    const struct rz_child *p = rz_child_of(life->config.children, rank);
    return member->node == own->job.node && life->started[rank] == member->incarnation &&
           member->failed < member->incarnation && (!p || p->state == RZ_CHILD_LEFT);
}

/* ---- the end of a process ---- */

static void record_failure(const struct rz_child *p, const char *how, rz_time at)
{
    struct rz_launch_event event = {.kind = RZ_EVENT_RECORD_FAILURE_SEEN,
                                    .epoch = p->all->own->membership.epoch,
                                    .rank = p->rank,
                                    .node = p->all->own->job.node,
                                    .incarnation = p->incarnation,
                                    .value = p->hung ? RZ_FAILURE_HUNG : RZ_FAILURE_PLAIN,
                                    .at_ns = at,
                                    .note = how};
    rz_report_event(&p->all->own->report, &event);
}

/* Writes the state of a rank on the board and rings the doorbells. */
static void post(const struct rz_child_life *life, uint32_t rank, uint32_t incarnation,
                 enum rz_process_state state)
{
    rz_board_writer_rank(life->config.board, rank, incarnation, life->config.own->job.node, state);
    rz_board_writer_publish(life->config.board);
}

void rz_child_failed(struct rz_child *p, const char *how, rz_time at)
{
    const struct rz_child_life *life = p->life;
    struct rz_own_node *own = life->config.own;
    rz_link_router_drain(p); /* what it sent before counts, a BYE above all */
    if (p->state == RZ_CHILD_FAILED || p->state == RZ_CHILD_LEFT) {
        return;
    }
    p->state = RZ_CHILD_FAILED;
    RZ_TRACE(PROCESS_FAILED, p->rank, p->incarnation, p->hung);
    rz_child_signal(p, SIGKILL); /* a failure is final, for its descendants, too */
    rz_link_peer_close(&p->link);
    life->config.gone(life->config.arg, p->rank, p->incarnation);
    if (p->ordered || own->membership.ending || !rz_child_is_current(p)) {
        return;
    }
    record_failure(p, how, at);
    if (own->job.flags & RZ_JOB_NO_FT) {
        return; /* rzrun learns of its exit, and ends the job */
    }
    post(life, p->rank, p->incarnation, p->hung ? RZ_PROCESS_HUNG : RZ_PROCESS_FAILED);
    rz_membership_observe_process(&own->membership, p->rank, p->incarnation,
                                  p->hung           ? RZ_END_HUNG
                                  : p->not_executed ? RZ_END_NEVER
                                                    : RZ_END_FAILURE);
    rz_children_recount(p->all);
}

/* Whether the kernel kills processes of this machine for lack of memory. */
static bool memory_is_short(struct rz_child_life *life)
{
    uint64_t kills = rz_memory_kills();
    if (kills != life->memory_kills) {
        life->memory_kills = kills;
        life->memory_killed = rz_clock_now();
    }
    return life->memory_killed && rz_clock_now() - life->memory_killed < STARVED_WITHIN;
}

static void tell_exited(const struct rz_child *p, int status, bool clean, bool hello)
{
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    struct rz_launch_message message = {
        .type = RZ_LAUNCH_EXITED,
        .exited = {.rank = p->rank,
                   .incarnation = p->incarnation,
                   .waited_ns = rz_child_waited_ns(p),
                   .status = (uint32_t)status,
                   .clean = clean,
                   .hello = hello,
                   .starved = killed && p->life && memory_is_short(p->life)}};
    rz_report_send(&p->all->own->report, &message);
}

void rz_child_start_failed(struct rz_child_life *life, uint32_t rank, uint32_t incarnation,
                           const char *how)
{
    struct rz_own_node *own = life->config.own;
    struct rz_child never = {
        .all = life->config.children, .rank = rank, .incarnation = incarnation};
    record_failure(&never, how, rz_clock_now());
    post(life, rank, incarnation, RZ_PROCESS_FAILED);
    rz_membership_observe_process(&own->membership, rank, incarnation, RZ_END_NEVER);
    tell_exited(&never, rz_child_process_status_of(RZ_SPAWN_NOT_STARTED), false, false);
}

void rz_child_order_end(struct rz_child *p)
{
    rz_link_router_drain(p); /* what it sent before counts, a BYE above all */
    p->ordered = true;
    if (p->state != RZ_CHILD_LEFT) {
        p->state = RZ_CHILD_FAILED;
    }
    rz_child_signal(p, SIGKILL);
    rz_link_peer_close(&p->link);
    p->life->config.gone(p->life->config.arg, p->rank, p->incarnation);
}

void rz_children_end_stale(struct rz_children *children)
{
    for (struct rz_child *p = children->first; p; p = p->next) {
        if (!rz_child_is_current(p)) {
            rz_child_order_end(p);
        }
    }
}

void rz_child_life_process_failed(void *arg, uint32_t slot, uint32_t incarnation, enum rz_end end)
{
    const struct rz_child_life *life = arg;
    struct rz_child *p = rz_child_of(life->config.children, slot);
    if (end != RZ_END_ORDER && p && p->incarnation <= incarnation) {
        rz_child_order_end(p);
    }
}

/* The process that may still write to the lane of a reaped child: see rz_lanes_ended. */
static pid_t writer_of(const struct rz_child *p)
{
    return p->share.pid == p->pid ? 0 : p->share.seen ? p->share.pid : -1;
}

/* For each lane whose writer has gone: all live processes are asked to close their part of it. */
static void look_at_lanes(const struct rz_child_life *life)
{
    struct rz_lanes *lanes = life->lanes;
    struct rz_link_message message = {.type = RZ_LINK_LANE_OVER};
    struct rz_link_lane_over *over = &message.lane_over;
    for (; rz_lanes_next_over(lanes, &over->lane, &over->rank, &over->incarnation); over->lane++) {
        for (struct rz_child *p = life->config.children->first; p; p = p->next) {
            if (p->state == RZ_CHILD_JOINED) {
                /* A process that is about to fail counts until its failure, even if it never reads
                 * this. */
                rz_lanes_ask(lanes, over->lane, p->share.lane);
                rz_link_router_send(p, &message);
            }
        }
        rz_lanes_asked(lanes, over->lane);
    }
}

bool rz_child_closed_lane(struct rz_child *p, uint32_t lane, uint32_t rank, uint32_t incarnation)
{
    return rz_lanes_closed(p->life->lanes, lane, rank, incarnation, p->share.lane);
}

void rz_child_leave(struct rz_child *p)
{
    p->state = RZ_CHILD_LEFT;
    RZ_TRACE(PROCESS_LEFT, p->rank, p->incarnation, 0);
    rz_lanes_left(p->life->lanes, p->share.lane);
    rz_children_recount(p->all);
}

static void process_free(struct rz_child *p)
{
    struct rz_child_life *life = p->life;
    struct rz_child **link = &p->all->first;
    while (*link != p) {
        link = &(*link)->next;
    }
    *link = p->next;
    rz_link_peer_close(&p->link);
    life->config.gone(life->config.arg, p->rank, p->incarnation);
    if (p->joined && life->lanes) {
        rz_lanes_left(life->lanes, p->share.lane);
        rz_lanes_ended(life->lanes, p->share.lane, writer_of(p));
    }
    if (life->config.own->trace) {
        rz_node_trace_give_back(life->config.own->trace, p->share.trace_ring);
    }
    rz_share_give_back(&p->share, life->watch);
    rz_loop_free(p->report);
    rz_loop_free(p->resume);
    rz_loop_free(p->patience);
    if (p->report_fd >= 0) {
        close(p->report_fd);
    }
    for (int i = 0; i < 2; i++) {
        if (p->output[i]) {
            rz_output_leave(p->output[i], p->state != RZ_CHILD_FAILED);
        }
    }
    free(p->ep_address);
    free(p->acknowledged);
    free(p->heard);
    free(p);
}

/* A program that was brought to this host is executed from where it lies. */
static struct rz_program program_of(const struct rz_child_life *life, uint32_t slot)
{
    const struct rz_daemon_job *job = &life->config.own->job;
    struct rz_program program;
    if (!life->config.program(life->config.arg, slot, &program)) {
        program = rz_job_program(job, slot);
    }
    if (job->preloaded) {
        program.file = rz_preloaded_program(job->preloaded, program.arguments[0]);
    }
    return program;
}

/* Its failure is reported when its exit is seen. A node reports the reason once for all its
 * processes of the same command. */
static void say_not_executed(struct rz_child *p, const struct rz_spawn_report *report)
{
    char reason[512];
    const struct rz_program program = program_of(p->life, p->rank);
    p->not_executed = true;
    rz_spawn_report_tell(report, &program, reason, sizeof(reason));
    if (p->life->config.reports(p->life->config.arg, p->rank, p->incarnation)) {
        rz_report_log(&p->all->own->report, 0, "a process that the program wants: %s", reason);
    }
}

/* Reads the outcome of exec. Returns true if the program could not be executed. */
static bool look_at_report(struct rz_child *p)
{
    struct rz_spawn_report report;
    if (p->report_fd < 0) {
        return false;
    }
    ssize_t got = read(p->report_fd, &report, sizeof(report));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    rz_loop_free(p->report);
    p->report = NULL;
    close(p->report_fd);
    p->report_fd = -1;
    rz_kill_here(RZ_KILL_DAEMON_EXECUTED);
    p->life->config.executed(p->life->config.arg);
    if (got != sizeof(report)) {
        return false;
    }
    if (rz_membership_is_spawned(&p->all->own->membership, p->rank, p->incarnation)) {
        say_not_executed(p, &report);
        return true;
    }
    char reason[512];
    const struct rz_program program = program_of(p->life, p->rank);
    int code = rz_spawn_report_tell(&report, &program, reason, sizeof(reason));
    rz_report_aborted(&p->all->own->report, p->rank, (uint32_t)code, reason);
    p->state = p->state == RZ_CHILD_FAILED ? RZ_CHILD_FAILED : RZ_CHILD_LEFT;
    return true;
}

/* The child is a zombie with this status. Reads what it has left, then determines whether it
 * failed. */
static void process_exited(struct rz_child *p, int status)
{
    const struct rz_child_life *life = p->life;
    struct rz_own_node *own = life->config.own;
    rz_kill_here(RZ_KILL_DAEMON_ENDED);
    RZ_TRACE(PROCESS_EXITED, p->rank, p->incarnation, status);
    look_at_report(p);
    for (int i = 0; i < 2; i++) {
        if (p->output[i]) {
            rz_output_drain(p->output[i]);
        }
    }
    rz_link_router_drain(p);
    rz_link_router_tell_refusals(p);
    rz_child_tell_traffic(p);
    life->config.exiting(life->config.arg);
    bool plain = !p->joined && p->service != RZ_CHILD_CONNECTED && rz_child_process_exited(status);
    if (p->state != RZ_CHILD_FAILED && p->not_executed) {
        rz_child_failed(p, "it could not be executed", rz_clock_now());
    } else if (p->state != RZ_CHILD_FAILED && !plain) {
        if (p->restoring && rz_child_process_ended_itself(status)) {
            life->config.unrestored(life->config.arg, p, status);
        }
        rz_child_failed(p, "exit", rz_clock_now());
    }
    bool clean = p->state != RZ_CHILD_FAILED;
    if (!clean) {
        /* Before waitpid: until then no other process can get the group's number. What a process
         * has left that ended in order may write on until the job ends (rz_outputs_await). */
        rz_child_signal(p, SIGKILL);
    }
    if (clean && rz_child_is_current(p) && !own->membership.ending) {
        post(life, p->rank, p->incarnation, RZ_PROCESS_ENDED);
        life->config.ended(life->config.arg, p);
        if (p->rank >= own->job.n_ranks) {
            rz_membership_observe_process(&own->membership, p->rank, p->incarnation, RZ_END_ORDER);
        }
    }
    if (clean || !own->membership.told_to_end) {
        /* Otherwise the daemon's own signal ended it: it counts as lost with the node. */
        tell_exited(p, status, clean, p->joined || p->service != RZ_CHILD_UNSERVED);
    }
    rz_kill_here(RZ_KILL_DAEMON_TOLD);
}

static struct rz_child *process_of_pid(const struct rz_children *children, pid_t pid)
{
    for (struct rz_child *p = children->first; p; p = p->next) {
        if (p->pid == pid) {
            return p;
        }
    }
    return NULL;
}

/* Reaps children that have ended. A child without a record is an orphan that was adopted. */
static void reap(evutil_socket_t fd, short what, void *arg)
{
    const struct rz_child_life *life = arg;
    pid_t pid;
    int status;
    (void)fd, (void)what;
    while (rz_child_process_next_end(&pid, &status)) {
        struct rz_child *p = process_of_pid(life->config.children, pid);
        if (p) {
            process_exited(p, status);
        }
        rz_child_process_reap(pid);
        if (p) {
            process_free(p);
        }
    }
    if (!life->config.own->membership.ending) {
        look_at_lanes(life);
    }
    rz_children_recount(life->config.children);
    life->config.reaped(life->config.arg);
}

/* The exit of a process that is being restored says whether its image is the reason: it is awaited
 * before the failure is reported. */
static void lost_mutex(struct rz_child *p, rz_time at)
{
    rz_link_router_drain(p);
    if (p->restoring && p->state == RZ_CHILD_JOINED) {
        rz_child_signal(p, SIGKILL);
    } else {
        rz_child_failed(p, "robust mutex", at);
    }
}

static void take_causes(evutil_socket_t fd, short what, void *arg)
{
    const struct rz_child_life *life = arg;
    uint32_t slot;
    enum rz_watch_end end;
    rz_time at;
    (void)fd, (void)what;
    while (rz_watch_take(life->watch, &slot, &end, &at)) {
        for (struct rz_child *p = life->config.children->first; p && end == RZ_WATCH_FAILED;
             p = p->next) {
            if (p->share.slot == slot) {
                lost_mutex(p, at);
                break;
            }
        }
    }
}

/* ---- the start of a process ---- */

static void report_readable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    look_at_report(arg);
}

static void tell_started(struct rz_child *p)
{
    char binding[320];
    rz_binding_tell(p->life->config.binding, p->core, binding, sizeof(binding));
    struct rz_launch_message message = {.type = RZ_LAUNCH_STARTED,
                                        .started = {.rank = p->rank,
                                                    .incarnation = p->incarnation,
                                                    .node = p->all->own->job.node,
                                                    .pid = (uint32_t)p->pid,
                                                    .binding = binding}};
    rz_report_send(&p->all->own->report, &message);
    rz_report_event(&p->all->own->report,
                    &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_BEGUN,
                                              .epoch = p->all->own->membership.epoch,
                                              .rank = p->rank,
                                              .node = p->all->own->job.node,
                                              .incarnation = p->incarnation,
                                              .note = ""});
}

/* Takes over every descriptor of spawned, also after an error. */
static rz_status_t process_attach(struct rz_child *p, const struct rz_spawned *spawned)
{
    const struct rz_child_life_config *config = &p->life->config;
    p->pid = spawned->pid;
    p->report_fd = spawned->report_fd;
    rz_status_t output =
        rz_output_open(&p->output[0], config->outputs, p->rank, 1, spawned->output_fd);
    rz_status_t error =
        rz_output_open(&p->output[1], config->outputs, p->rank, 2, spawned->error_fd);
    if (output == RZ_OK && error == RZ_OK && config->own->job.flags & RZ_JOB_REWIND &&
        p->incarnation == 1) {
        rz_output_place(p->output[0], 0);
        rz_output_place(p->output[1], 0);
    }
    rz_status_t link = rz_link_router_attach(config->router, p, spawned->link_fd);
    rz_status_t report = rz_loop_watch(config->own->base, &p->report, p->report_fd,
                                       EV_READ | EV_PERSIST, report_readable, p);
    return output != RZ_OK ? output : error != RZ_OK ? error : link != RZ_OK ? link : report;
}

static void not_forked(struct rz_child_life *life, uint32_t rank, uint32_t incarnation,
                       rz_status_t status)
{
    const struct rz_own_node *own = life->config.own;
    char reason[256];
    snprintf(reason, sizeof(reason), "cannot start a process: %s: %s%s", rz_status_text(status),
             strerror(errno),
             errno == EMFILE   ? "; a daemon needs ten for each process: raise `ulimit -n`"
             : errno == EAGAIN ? "; raise the number of processes, `ulimit -u`"
                               : "");
    bool spawned = rz_membership_is_spawned(&own->membership, rank, incarnation);
    if (spawned || incarnation > 1) { /* rzrun names the failure that made it necessary */
        rz_report_log(&own->report, 0, "%s", reason);
    }
    if (spawned) {
        rz_child_start_failed(life, rank, incarnation, reason);
    } else {
        rz_report_aborted(&own->report, rank, RZ_SPAWN_NOT_STARTED, reason);
    }
}

void rz_child_start(struct rz_child_life *life, uint32_t rank, uint32_t incarnation)
{
    const struct rz_child_life_config *config = &life->config;
    struct rz_spawned spawned;
    struct rz_environment_given given = {0};
    if (config->own->membership.ending || life->started[rank] >= incarnation ||
        !config->may_start(config->arg, rank, &given)) {
        return;
    }
    life->started[rank] = incarnation;
    const struct rz_program program = program_of(life, rank);
    struct rz_child *p = calloc(1, sizeof(*p));
    rz_status_t status = p ? RZ_OK : RZ_ERR_NO_MEMORY;
    uint32_t core = rz_binding_choose(config->binding, config->children);
    const struct rz_spawn_config how = {.job = &config->own->job,
                                        .inherited = config->inherited,
                                        .binding = config->binding,
                                        .program = &program,
                                        .given = &given,
                                        .stdin_fd = rz_input_fd(config->input, rank, incarnation)};
    if (status == RZ_OK) {
        status = rz_spawn(&how, rank, incarnation, &spawned);
    }
    if (status != RZ_OK) {
        free(p);
        not_forked(life, rank, incarnation, status);
        return;
    }
    *p = (struct rz_child){.next = config->children->first,
                           .all = config->children,
                           .router = config->router,
                           .life = life,
                           .rank = rank,
                           .incarnation = incarnation,
                           .core = core};
    rz_share_init(&p->share);
    config->children->first = p;
    if (process_attach(p, &spawned) != RZ_OK) {
        rz_child_kill(p, "no memory to attend to it");
    }
    rz_kill_here(RZ_KILL_DAEMON_FORKED);
    RZ_TRACE(PROCESS_STARTED, rank, incarnation, spawned.pid);
    tell_started(p);
    config->started(config->arg, p);
    rz_kill_here(RZ_KILL_DAEMON_STARTED);
}

rz_status_t rz_child_join(struct rz_child *p, pid_t pid, const char **why)
{
    const struct rz_child_life *life = p->life;
    rz_status_t status = rz_share_make(p, life->watch, life->lanes, why);
    if (status != RZ_OK) {
        return status;
    }
    p->share.pid = pid;
    p->share.seen = rz_child_process_in_group(pid, p->pid);
    p->joined = true;
    const struct rz_trace_owner owner = {.slot = p->rank,
                                         .incarnation = p->incarnation,
                                         .node = life->config.own->job.node,
                                         .pid = (uint32_t)pid};
    if (life->config.own->trace) {
        p->share.trace_ring = rz_node_trace_give(life->config.own->trace, &owner);
    }
    p->state = RZ_CHILD_JOINED;
    return RZ_OK;
}

void rz_child_tell_joined(const struct rz_child *p)
{
    const struct rz_own_node *own = p->all->own;
    rz_report_event(&own->report, &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_JOINED,
                                                            .epoch = own->membership.epoch,
                                                            .rank = p->rank,
                                                            .node = RZ_ID_NONE,
                                                            .incarnation = p->incarnation,
                                                            .note = ""});
}

int rz_child_life_watch_fd(const struct rz_child_life *life)
{
    return rz_watch_page_fd(life->watch);
}

/* ---- stopping, and closed links ---- */

static void resume(evutil_socket_t fd, short what, void *arg)
{
    struct rz_child *p = arg;
    (void)fd, (void)what;
    rz_child_signal(p, SIGCONT);
    event_del(p->resume);
}

void rz_child_stop_for(struct rz_child *p, rz_time for_ns)
{
    if (!p->resume && rz_loop_timer(p->all->own->base, &p->resume, resume, p) != RZ_OK) {
        return;
    }
    rz_child_signal(p, SIGSTOP);
    rz_loop_arm_every(p->resume, for_ns);
}

static void child_out_of_patience(evutil_socket_t fd, short what, void *arg)
{
    struct rz_child *p = arg;
    (void)fd, (void)what;
    event_del(p->patience);
    if (p->state == RZ_CHILD_JOINED) {
        rz_child_failed(p, "closed its link", rz_clock_now());
    }
}

static void link_closed(struct rz_child *p)
{
    if (p->state != RZ_CHILD_JOINED) {
        return;
    }
    if (!p->patience &&
        rz_loop_timer(p->all->own->base, &p->patience, child_out_of_patience, p) != RZ_OK) {
        return;
    }
    rz_loop_arm_every(p->patience, PATIENCE_NS);
}

/* ---- open and close ---- */

rz_status_t rz_child_life_open(struct rz_child_life **result,
                               const struct rz_child_life_config *config)
{
    const struct rz_own_node *own = config->own;
    struct rz_child_life *life = calloc(1, sizeof(*life));
    if (!life) {
        return RZ_ERR_NO_MEMORY;
    }
    /* All slots may get a process here, while as many processes as ranks that failed here wait to
     * be reaped. */
    uint32_t n = own->job.n_slots + own->job.n_ranks;
    life->config = *config;
    life->memory_kills = rz_memory_kills();
    rz_link_router_on_closed(config->router, link_closed);
    life->started = calloc(own->job.n_slots, sizeof(*life->started));
    rz_status_t status = life->started ? RZ_OK : RZ_ERR_NO_MEMORY;
    if (status == RZ_OK) {
        status = rz_lanes_open(&life->lanes, rz_share_lanes_max(own->job.n_slots));
    }
    if (status == RZ_OK) {
        status = rz_watch_open(&life->watch, n < WATCH_SLOTS_MAX ? n : WATCH_SLOTS_MAX);
    }
    if (status == RZ_OK) {
        status = rz_loop_watch(own->base, &life->failures, rz_watch_event_fd(life->watch),
                               EV_READ | EV_PERSIST, take_causes, life);
    }
    if (status == RZ_OK) {
        status =
            rz_loop_watch(own->base, &life->exits, SIGCHLD, EV_SIGNAL | EV_PERSIST, reap, life);
    }
    if (status != RZ_OK) {
        rz_child_life_close(life);
        return status;
    }
    event_priority_set(life->failures, RZ_LOOP_PRIORITY_FAILURE);
    *result = life;
    return RZ_OK;
}

void rz_child_life_close(struct rz_child_life *life)
{
    if (!life) {
        return;
    }
    rz_lanes_close(life->lanes);
    life->lanes = NULL;
    while (life->config.children->first) {
        process_free(life->config.children->first);
    }
    rz_loop_free(life->failures);
    rz_loop_free(life->exits);
    if (life->watch) {
        rz_watch_close(life->watch);
    }
    free(life->started);
    free(life);
}
