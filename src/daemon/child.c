#include "daemon/child.h"

#include "base/assert.h"
#include "daemon/binding.h"
#include "daemon/spawns.h"
#include "daemon/board_writer.h"
#include "daemon/detached.h"
#include "daemon/ending.h"
#include "daemon/input.h"
#include "daemon/job.h"
#include "daemon/lanes.h"
#include "daemon/link_service.h"
#include "daemon/loop.h"
#include "daemon/output.h"
#include "daemon/share.h"
#include "daemon/spawn.h"
#include "port/kill_point.h"
#include "port/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a process that has closed its link without BYE may take to end by itself. */
#define PATIENCE_NS RZ_SECOND

/* Each 127 slots cost a thread; nobody runs more processes than this on a node. */
#define WATCH_SLOTS_MAX 4096u

struct rz_child_table {
    struct rz_daemon *daemon;
    struct rz_child *first;
    uint32_t *spawned; /* [n_slots]: newest incarnation forked here, 0: none */
    struct rz_watch *watch;
    struct event *causes, *exits, *recount;
    struct rz_lanes *lanes; /* NULL: all is being freed */
};

struct rz_child *rz_children(const struct rz_daemon *daemon)
{
    return daemon->children ? daemon->children->first : NULL;
}

struct rz_child *rz_child_of(const struct rz_daemon *daemon, uint32_t rank)
{
    for (struct rz_child *p = rz_children(daemon); p; p = p->next)
        if (p->rank == rank && p->state != RZ_CHILD_FAILED)
            return p;
    return NULL;
}

static bool current(const struct rz_child *p)
{
    const struct rz_daemon_place *place = &p->daemon->places[p->rank];
    return place->node == p->daemon->job.node && place->incarnation == p->incarnation;
}

bool rz_child_has_ended(const struct rz_daemon *daemon, uint32_t rank)
{
    const struct rz_daemon_place *place = &daemon->places[rank];
    const struct rz_child *p = rz_child_of(daemon, rank);
    return place->node == daemon->job.node &&
           daemon->children->spawned[rank] == place->incarnation &&
           daemon->failed[rank] < place->incarnation && (!p || p->state == RZ_CHILD_LEFT);
}

void rz_child_signal(const struct rz_child *p, int number)
{
    kill(-p->pid, number);
}

void rz_children_signal(const struct rz_daemon *daemon, int number)
{
    for (struct rz_child *p = rz_children(daemon); p; p = p->next)
        rz_child_signal(p, number);
}

void rz_child_ring(const struct rz_child *p, uint32_t reason)
{
    if (!p->share.bell)
        return;
    atomic_fetch_or_explicit(&p->share.bell->reasons, reason, memory_order_release);
    rz_doorbell_ring(p->share.bell, p->share.bell_fd);
}

void rz_children_ring(const struct rz_daemon *daemon, uint32_t reason)
{
    for (struct rz_child *p = rz_children(daemon); p; p = p->next)
        rz_child_ring(p, reason);
}

/* ---- the end of a process */

static void record_failure(const struct rz_child *p, const char *how, rz_time at)
{
    struct rz_launch_event event = {.kind = RZ_EVENT_RECORD_FAILURE_SEEN,
                                    .epoch = p->daemon->epoch,
                                    .rank = p->rank,
                                    .node = p->daemon->job.node,
                                    .incarnation = p->incarnation,
                                    .value = p->hung ? RZ_FAILURE_HUNG : RZ_FAILURE_PLAIN,
                                    .at_ns = at,
                                    .note = how};
    rz_daemon_record(p->daemon, &event);
}

void rz_child_failed(struct rz_child *p, const char *how, rz_time at)
{
    struct rz_daemon *daemon = p->daemon;
    rz_link_service_drain(p); /* what it said before counts: a BYE above all */
    if (p->state == RZ_CHILD_FAILED || p->state == RZ_CHILD_LEFT)
        return;
    p->state = RZ_CHILD_FAILED;
    rz_child_signal(p, SIGKILL); /* failed is final, also for what it started */
    rz_link_service_forget(p);
    rz_spawns_forget(daemon, p->rank, p->incarnation);
    if (p->ordered || daemon->ending || !current(p))
        return;
    record_failure(p, how, at);
    if (daemon->job.flags & RZ_JOB_NO_FT)
        return; /* rzrun hears how it ended, and ends the job */
    rz_board_writer_rank(daemon->board, p->rank, p->incarnation, daemon->job.node,
                         p->hung ? RZ_PROCESS_HUNG : RZ_PROCESS_FAILED);
    rz_board_writer_publish(daemon->board);
    if (p->not_executed)
        rz_spawns_never(daemon, p->rank, p->incarnation);
    rz_recovery_process_failed(daemon->recovery, p->rank, p->incarnation,
                               p->hung           ? RZ_END_HUNG
                               : p->not_executed ? RZ_END_NEVER
                                                 : RZ_END_FAILURE);
    rz_children_recount(daemon);
}

static void tell_exited(struct rz_daemon *daemon, uint32_t rank, uint32_t incarnation, int status,
                        bool clean, bool hello)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_EXITED,
                                        .exited = {.rank = rank,
                                                   .incarnation = incarnation,
                                                   .status = (uint32_t)status,
                                                   .clean = clean,
                                                   .hello = hello}};
    rz_daemon_tell_launcher(daemon, &message);
}

void rz_child_start_failed(struct rz_daemon *daemon, uint32_t rank, uint32_t incarnation,
                           const char *how)
{
    struct rz_child never = {.daemon = daemon, .rank = rank, .incarnation = incarnation};
    record_failure(&never, how, rz_clock_now());
    rz_spawns_never(daemon, rank, incarnation);
    rz_board_writer_rank(daemon->board, rank, incarnation, daemon->job.node, RZ_PROCESS_FAILED);
    rz_board_writer_publish(daemon->board);
    rz_recovery_process_failed(daemon->recovery, rank, incarnation, RZ_END_NEVER);
    tell_exited(daemon, rank, incarnation, W_EXITCODE(RZ_SPAWN_NOT_STARTED, 0), false, false);
}

void rz_child_kill(struct rz_child *p, const char *why)
{
    if (p->state == RZ_CHILD_FAILED || p->given_up)
        return;
    p->given_up = true;
    rz_daemon_log(p->daemon, 0, "rank %u is killed: %s", p->rank, why);
    rz_child_signal(p, SIGKILL);
    rz_link_peer_close(&p->link);
}

void rz_child_order_end(struct rz_child *p)
{
    rz_link_service_drain(p); /* what it said before counts: a BYE above all */
    p->ordered = true;
    if (p->state != RZ_CHILD_LEFT)
        p->state = RZ_CHILD_FAILED;
    rz_child_signal(p, SIGKILL);
    rz_link_service_forget(p);
    rz_spawns_forget(p->daemon, p->rank, p->incarnation);
}

/* Who may still write to the lane of a child that was reaped: rz_lanes_ended. */
static pid_t writer_of(const struct rz_child *p)
{
    return p->share.pid == p->pid ? 0 : p->share.seen ? p->share.pid : -1;
}

/* Lanes to which nobody writes any more: all that live close what they have of them. */
static void look_at_lanes(struct rz_daemon *daemon)
{
    struct rz_lanes *lanes = daemon->children->lanes;
    struct rz_link_message message = {.type = RZ_LINK_LANE_OVER};
    struct rz_link_lane_over *over = &message.lane_over;
    for (; rz_lanes_next_over(lanes, &over->lane, &over->rank, &over->incarnation); over->lane++) {
        for (struct rz_child *p = rz_children(daemon); p; p = p->next)
            if (p->state == RZ_CHILD_JOINED) {
                /* One that is about to fail counts until then, whether it hears this or not. */
                rz_lanes_ask(lanes, over->lane, p->share.lane);
                rz_link_service_send(p, &message);
            }
        rz_lanes_asked(lanes, over->lane);
    }
}

bool rz_child_closed_lane(struct rz_child *p, uint32_t lane, uint32_t rank, uint32_t incarnation)
{
    return rz_lanes_closed(p->daemon->children->lanes, lane, rank, incarnation, p->share.lane);
}

void rz_child_leave(struct rz_child *p)
{
    p->state = RZ_CHILD_LEFT;
    rz_lanes_left(p->daemon->children->lanes, p->share.lane);
    rz_children_recount(p->daemon);
}

static void process_free(struct rz_child *p)
{
    struct rz_child_table *table = p->daemon->children;
    struct rz_child **link = &table->first;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    rz_link_service_forget(p);
    if (p->joined && table->lanes) {
        rz_lanes_left(table->lanes, p->share.lane);
        rz_lanes_ended(table->lanes, p->share.lane, writer_of(p));
    }
    rz_share_give_back(&p->share, table->watch);
    rz_loop_free(p->report);
    rz_loop_free(p->resume);
    rz_loop_free(p->patience);
    if (p->report_fd >= 0)
        close(p->report_fd);
    for (int i = 0; i < 2; i++)
        if (p->output[i])
            rz_output_leave(p->output[i]);
    free(p->ep_address);
    free(p);
}

/* It is told as a failure when its exit is seen; the reason once for all that run the same. */
static void say_not_executed(struct rz_child *p, const struct rz_spawn_report *report)
{
    char reason[512];
    struct rz_program program;
    p->not_executed = true;
    if (!rz_spawns_program(p->daemon, p->rank, &program))
        program = rz_job_program(&p->daemon->job, p->rank);
    rz_spawn_report_tell(report, &program, reason, sizeof reason);
    if (rz_spawns_speaks(p->daemon, p->rank, p->incarnation))
        rz_daemon_log(p->daemon, 0, "a process that the program wants: %s", reason);
}

/* Reads the outcome of exec; true when the program could not be run. */
static bool look_at_report(struct rz_child *p)
{
    struct rz_spawn_report report;
    if (p->report_fd < 0)
        return false;
    ssize_t got = read(p->report_fd, &report, sizeof report);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    rz_loop_free(p->report);
    p->report = NULL;
    close(p->report_fd);
    p->report_fd = -1;
    rz_kill_here(RZ_KILL_DAEMON_EXECUTED);
    if (p->daemon->detached)
        rz_detached_executed(p->daemon->detached);
    if (got != sizeof report)
        return false;
    if (rz_spawns_is_spawned_process(p->daemon, p->rank, p->incarnation)) {
        say_not_executed(p, &report);
        return true;
    }
    char reason[512];
    const struct rz_program program = rz_job_program(&p->daemon->job, p->rank);
    int code = rz_spawn_report_tell(&report, &program, reason, sizeof reason);
    rz_daemon_tell_aborted(p->daemon, p->rank, (uint32_t)code, reason);
    p->state = p->state == RZ_CHILD_FAILED ? RZ_CHILD_FAILED : RZ_CHILD_LEFT;
    return true;
}

/* The child is a zombie with this status: the last look at what it left, then the verdict. */
static void process_exited(struct rz_child *p, int status)
{
    struct rz_daemon *daemon = p->daemon;
    rz_kill_here(RZ_KILL_DAEMON_ENDED);
    look_at_report(p);
    for (int i = 0; i < 2; i++)
        if (p->output[i])
            rz_output_drain(p->output[i]);
    rz_link_service_drain(p);
    bool plain = !p->joined && WIFEXITED(status);
    if (p->state != RZ_CHILD_FAILED && p->not_executed)
        rz_child_failed(p, "it could not be executed", rz_clock_now());
    else if (p->state != RZ_CHILD_FAILED && !plain)
        rz_child_failed(p, "exit", rz_clock_now());
    bool clean = p->state != RZ_CHILD_FAILED;
    rz_child_signal(p, SIGKILL); /* before waitpid: until then the group's number is its own */
    if (clean && current(p) && !daemon->ending) {
        rz_board_writer_rank(daemon->board, p->rank, p->incarnation, daemon->job.node,
                             RZ_PROCESS_ENDED);
        rz_board_writer_publish(daemon->board);
        rz_link_service_ended(p);
        if (p->rank >= daemon->job.n_ranks)
            rz_recovery_process_failed(daemon->recovery, p->rank, p->incarnation, RZ_END_ORDER);
    }
    if (clean || !daemon->told_to_end) /* else by our own signal: it is lost with the node */
        tell_exited(daemon, p->rank, p->incarnation, status, clean, p->joined);
    rz_kill_here(RZ_KILL_DAEMON_TOLD);
}

static struct rz_child *process_of_pid(const struct rz_daemon *daemon, pid_t pid)
{
    for (struct rz_child *p = rz_children(daemon); p; p = p->next)
        if (p->pid == pid)
            return p;
    return NULL;
}

/* Children that have ended; those that are no process of ours are orphans that we adopted. */
static void reap(evutil_socket_t fd, short what, void *arg)
{
    struct rz_daemon *daemon = arg;
    siginfo_t info;
    (void)fd, (void)what;
    while (info.si_pid = 0,
           waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
        struct rz_child *p = process_of_pid(daemon, info.si_pid);
        int status = info.si_code == CLD_EXITED
                         ? (info.si_status & 0xFF) << 8
                         : (info.si_status & 0x7F) | (info.si_code == CLD_DUMPED ? 0x80 : 0);
        if (p)
            process_exited(p, status);
        waitpid(info.si_pid, &status, 0);
        if (p)
            process_free(p);
    }
    if (!daemon->ending)
        look_at_lanes(daemon);
    rz_children_recount(daemon);
    rz_ending_look(daemon);
}

static void take_causes(evutil_socket_t fd, short what, void *arg)
{
    struct rz_child_table *table = arg;
    uint32_t slot;
    enum rz_watch_end end;
    rz_time at;
    (void)fd, (void)what;
    while (rz_watch_take(table->watch, &slot, &end, &at))
        for (struct rz_child *p = table->first; p && end == RZ_WATCH_FAILED; p = p->next)
            if (p->share.slot == slot) {
                rz_child_failed(p, "robust mutex", at);
                break;
            }
}

/* ---- the beginning of a process */

static void report_readable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    look_at_report(arg);
}

static void tell_started(struct rz_child *p)
{
    char binding[320];
    rz_binding_tell(p->daemon->binding, p->core, binding, sizeof binding);
    struct rz_launch_message message = {.type = RZ_LAUNCH_STARTED,
                                        .started = {.rank = p->rank,
                                                    .incarnation = p->incarnation,
                                                    .node = p->daemon->job.node,
                                                    .pid = (uint32_t)p->pid,
                                                    .binding = binding}};
    rz_daemon_tell_launcher(p->daemon, &message);
    rz_daemon_record(p->daemon, &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_BEGUN,
                                                          .epoch = p->daemon->epoch,
                                                          .rank = p->rank,
                                                          .node = p->daemon->job.node,
                                                          .incarnation = p->incarnation,
                                                          .note = ""});
}

/* Takes over every descriptor of spawned, also after an error. */
static rz_status_t process_attach(struct rz_child *p, const struct rz_spawned *spawned)
{
    struct rz_daemon *daemon = p->daemon;
    p->pid = spawned->pid;
    p->report_fd = spawned->report_fd;
    rz_status_t output = rz_output_open(&p->output[0], daemon, p->rank, 1, spawned->output_fd);
    rz_status_t error = rz_output_open(&p->output[1], daemon, p->rank, 2, spawned->error_fd);
    rz_status_t link = rz_link_service_attach(p, spawned->link_fd);
    rz_status_t report = rz_loop_watch(daemon->base, &p->report, p->report_fd, EV_READ | EV_PERSIST,
                                       report_readable, p);
    return output != RZ_OK ? output : error != RZ_OK ? error : link != RZ_OK ? link : report;
}

void rz_child_spawn(struct rz_daemon *daemon, uint32_t rank, uint32_t incarnation)
{
    struct rz_child_table *table = daemon->children;
    struct rz_spawned spawned;
    if (daemon->ending || table->spawned[rank] >= incarnation)
        return;
    table->spawned[rank] = incarnation;
    struct rz_program program;
    if (!rz_spawns_program(daemon, rank, &program))
        program = rz_job_program(&daemon->job, rank);
    struct rz_child *p = calloc(1, sizeof *p);
    rz_status_t status = p ? RZ_OK : RZ_ERR_NO_MEMORY;
    uint32_t core = rz_binding_choose(daemon);
    if (status == RZ_OK)
        status = rz_spawn(daemon, rank, incarnation, &program, rz_input_fd(daemon->input, rank),
                          &spawned);
    if (status != RZ_OK) {
        char reason[256];
        snprintf(reason, sizeof reason, "cannot start a process: %s: %s", rz_status_text(status),
                 strerror(errno));
        free(p);
        if (rz_spawns_is_spawned_process(daemon, rank, incarnation)) {
            rz_daemon_log(daemon, 0, "%s", reason);
            rz_child_start_failed(daemon, rank, incarnation, reason);
        } else {
            rz_daemon_tell_aborted(daemon, rank, RZ_SPAWN_NOT_STARTED, reason);
        }
        return;
    }
    *p = (struct rz_child){.next = table->first,
                           .daemon = daemon,
                           .rank = rank,
                           .incarnation = incarnation,
                           .core = core};
    rz_share_init(&p->share);
    table->first = p;
    if (process_attach(p, &spawned) != RZ_OK)
        rz_child_kill(p, "no memory to attend to it");
    rz_kill_here(RZ_KILL_DAEMON_FORKED);
    tell_started(p);
    rz_kill_here(RZ_KILL_DAEMON_STARTED);
}

rz_status_t rz_child_join(struct rz_child *p, pid_t pid, const char **why)
{
    struct rz_child_table *table = p->daemon->children;
    rz_status_t status = rz_share_make(p, table->watch, table->lanes, why);
    if (status != RZ_OK)
        return status;
    p->share.pid = pid;
    p->share.seen = getpgid(pid) == p->pid;
    p->joined = true;
    p->state = RZ_CHILD_JOINED;
    return RZ_OK;
}

int rz_child_watch_fd(const struct rz_daemon *daemon)
{
    return rz_watch_page_fd(daemon->children->watch);
}

/* ---- stopping for a while, and patience */

static void resume(evutil_socket_t fd, short what, void *arg)
{
    struct rz_child *p = arg;
    (void)fd, (void)what;
    rz_child_signal(p, SIGCONT);
    event_del(p->resume);
}

void rz_child_stop_for(struct rz_child *p, rz_time for_ns)
{
    if (!p->resume && rz_loop_timer(p->daemon->base, &p->resume, resume, p) != RZ_OK)
        return;
    rz_child_signal(p, SIGSTOP);
    rz_loop_arm_every(p->resume, for_ns);
}

static void out_of_patience(evutil_socket_t fd, short what, void *arg)
{
    struct rz_child *p = arg;
    (void)fd, (void)what;
    event_del(p->patience);
    if (p->state == RZ_CHILD_JOINED)
        rz_child_failed(p, "closed its link", rz_clock_now());
}

void rz_child_link_closed(struct rz_child *p)
{
    if (p->state != RZ_CHILD_JOINED)
        return;
    if (!p->patience && rz_loop_timer(p->daemon->base, &p->patience, out_of_patience, p) != RZ_OK)
        return;
    rz_loop_arm_every(p->patience, PATIENCE_NS);
}

/* ---- who has reached what */

static bool has_reached(const struct rz_child *p, uint32_t epoch, enum rz_recover_phase phase)
{
    if (p->state == RZ_CHILD_LEFT)
        return true;
    return p->state == RZ_CHILD_JOINED && p->reached_epoch == epoch && p->reached_phase >= phase;
}

/* Nobody who is on the way to MPIX_Reinit can be carried into another epoch: the others are held
 * there until all who live have come, or want to leave without it. */
static void look_who_entered(struct rz_daemon *daemon)
{
    bool entered = false, alive = false;
    for (struct rz_child *p = rz_children(daemon); p; p = p->next) {
        if (p->rank >= daemon->job.n_ranks || p->state == RZ_CHILD_FAILED || !current(p))
            continue;
        alive = true;
        if (!p->entered && !has_reached(p, daemon->epoch, RZ_PHASE_RUN))
            return;
        entered |= p->entered;
    }
    /* That the failed processes would have come nobody knows but who started the job. Not while
     * others wait in MPI_Init: they must come out of it first. */
    entered |= daemon->job.flags & RZ_JOB_REPAIRS && !alive && daemon->phase == RZ_PHASE_RUN;
    if (entered && !rz_recovery_is_repairing(daemon->recovery))
        rz_recovery_repairing(daemon->recovery);
}

static void recount(evutil_socket_t fd, short what, void *arg)
{
    struct rz_daemon *daemon = arg;
    (void)fd, (void)what;
    if (daemon->epoch == 0 || daemon->ending || daemon->phase == RZ_PHASE_LEFT)
        return;
    look_who_entered(daemon);
    for (struct rz_child *p = rz_children(daemon); p; p = p->next)
        if (p->rank < daemon->job.n_ranks && p->state != RZ_CHILD_FAILED && current(p) &&
            !has_reached(p, daemon->epoch, daemon->phase))
            return;
    rz_recovery_reached(daemon->recovery, daemon->epoch, daemon->phase);
}

void rz_children_recount(struct rz_daemon *daemon)
{
    rz_loop_soon(daemon->children->recount);
}

/* ---- life */

rz_status_t rz_child_table_open(struct rz_child_table **result, struct rz_daemon *daemon)
{
    struct rz_child_table *table = calloc(1, sizeof *table);
    if (!table)
        return RZ_ERR_NO_MEMORY;
    /* All processes may come to live here, while as many as ranks that failed here before wait to
     * be reaped.
     */
    uint32_t n = daemon->job.n_slots + daemon->job.n_ranks;
    table->daemon = daemon;
    table->spawned = calloc(daemon->job.n_slots, sizeof *table->spawned);
    rz_status_t status = table->spawned ? RZ_OK : RZ_ERR_NO_MEMORY;
    if (status == RZ_OK)
        status = rz_lanes_open(&table->lanes, rz_share_lanes_max(daemon->job.n_slots));
    if (status == RZ_OK)
        status = rz_watch_open(&table->watch, n < WATCH_SLOTS_MAX ? n : WATCH_SLOTS_MAX);
    if (status == RZ_OK)
        status = rz_loop_watch(daemon->base, &table->causes, rz_watch_event_fd(table->watch),
                               EV_READ | EV_PERSIST, take_causes, table);
    if (status == RZ_OK)
        status = rz_loop_watch(daemon->base, &table->exits, SIGCHLD, EV_SIGNAL | EV_PERSIST, reap,
                               daemon);
    if (status == RZ_OK)
        status = rz_loop_timer(daemon->base, &table->recount, recount, daemon);
    if (status != RZ_OK) {
        rz_child_table_close(table);
        return status;
    }
    event_priority_set(table->causes, RZ_DAEMON_PRIORITY_CAUSE);
    *result = table;
    return RZ_OK;
}

void rz_child_table_close(struct rz_child_table *table)
{
    if (!table)
        return;
    rz_lanes_close(table->lanes);
    table->lanes = NULL;
    while (table->first)
        process_free(table->first);
    rz_loop_free(table->causes);
    rz_loop_free(table->exits);
    rz_loop_free(table->recount);
    if (table->watch)
        rz_watch_close(table->watch);
    free(table->spawned);
    free(table);
}
