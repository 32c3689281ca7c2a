/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of a job: starts the nodes, sends JOB to their daemons, handles what they report, and
 * ends them. The files session_*.c handle output, input, signals, faults, silence and waits. */
#include "launch/session.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "outcome/exit_codes.h"
#include "launch/mpir.h"
#include "launch/program.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "port/netns.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NODES_END_NS (10 * RZ_SECOND) /* for all nodes to end in order */
#define LOST_BOUND_S 2                /* for excluded nodes */

/* ---- the end ---- */

void rz_session_send_all(struct rz_launch_session *session, const struct rz_launch_message *message)
{
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        rz_node_send(&session->nodes[i], message);
    }
}

bool rz_session_all_gone(const struct rz_launch_session *session)
{
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        if (!session->nodes[i].gone) {
            return false;
        }
    }
    return true;
}

/* A node that the others excluded: it may be stopped, and is not waited for. */
static bool is_lost(const struct rz_launch_session *session, const struct rz_node *node)
{
    return node->lost || node->epoch < session->epoch;
}

/* Sends LEAVE when all daemons have said DONE, ended, or were excluded: a daemon that does not know
 * yet that the job is over would take the end of another for a failure. */
static void let_all_leave(struct rz_launch_session *session)
{
    const struct rz_launch_message message = {.type = RZ_LAUNCH_LEAVE};
    if (!session->ending || session->leaving) {
        return;
    }
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        const struct rz_node *node = &session->nodes[i];
        if (!node->done && !node->gone && !is_lost(session, node)) {
            return;
        }
    }
    session->leaving = true;
    rz_session_send_all(session, &message);
    rz_kill_here(RZ_KILL_LAUNCH_LEAVE);
}

void rz_session_leave_loop(struct rz_launch_session *session)
{
    if (!session->flushing) {
        event_base_loopbreak(session->base);
    }
}

void rz_session_arm(struct event *timer, rz_time after)
{
    event_add(timer,
              &(struct timeval){.tv_sec = (time_t)(after / RZ_SECOND),
                                .tv_usec = (suseconds_t)(after % RZ_SECOND / RZ_MICROSECOND)});
}

static void release_lost(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    (void)fd, (void)what;
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        if (is_lost(session, &session->nodes[i])) {
            rz_node_release(&session->nodes[i]);
        }
    }
    let_all_leave(session);
    if (rz_session_all_gone(session)) {
        rz_session_leave_loop(session);
    }
}

/* Nodes on other hosts whose daemons have not come: none comes any more. */
static void drop_absent(struct rz_launch_session *session)
{
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        struct rz_node *node = &session->nodes[i];
        node->gone |= node->remote && !node->channel;
    }
}

/* Tells all nodes to end; the loop is left when the last one has ended. complete: all ranks have
 * ended by themselves; output of what they have left is awaited. */
static void end_session(struct rz_launch_session *session, uint32_t grace_ms, bool complete)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_SHUTDOWN,
                                        .shutdown = {.grace_ms = grace_ms, .complete = complete}};
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        rz_node_send(&session->nodes[i], &message);
        rz_kill_here(RZ_KILL_LAUNCH_SHUTDOWN);
    }
    rz_kill_here(RZ_KILL_LAUNCH_ENDING);
    if (session->ending) {
        return;
    }
    session->ending = session->referee.over = true;
    if (session->hosts) {
        rz_hosts_ending(session->hosts);
    }
    drop_absent(session);
    rz_session_arm(session->last_word,
                   NODES_END_NS + (complete ? session->options->output_wait : 0));
    event_base_once(session->base, -1, EV_TIMEOUT, release_lost, session,
                    &(struct timeval){.tv_sec = LOST_BOUND_S});
    let_all_leave(session);
    if (rz_session_all_gone(session)) {
        event_base_loopbreak(session->base);
    }
}

void rz_launch_session_end(struct rz_launch_session *session, uint32_t grace_ms)
{
    end_session(session, grace_ms, false);
}

/* The job is over by itself. While its newest checkpoint is being written, only success ends it. */
static void end_by_itself(struct rz_launch_session *session, uint32_t grace_ms)
{
    const char *cause;
    if (!session->save.signal || session->ending ||
        rz_outcome_status(&session->referee.outcome, &cause) == 0) {
        end_session(session, grace_ms, rz_outcome_ended_by_itself(&session->referee.outcome));
    }
}

static void last_word(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    (void)fd, (void)what;
    if (session->output_held && !session->interrupted && !session->out_of_time) {
        rz_session_arm(session->last_word, NODES_END_NS); /* a slow reader: they wait for us */
        return;
    }
    event_base_loopbreak(session->base);
}

/* ---- messages of the nodes ---- */

static void on_recovered(void *arg, const struct rz_recovery_times *times)
{
    struct rz_launch_session *session = arg;
    if (session->cases) {
        rz_cases_recovered(session->cases, times);
    }
    if (session->attempts->report) {
        rz_html_report_recovered(session->attempts->report, times);
    }
    rz_session_check_recovered(session, times->generation);
}

/* A generation was given up, and its daemon has said why. If there are files the job is about to
 * end, and to begin again. */
static void on_fell_back(struct rz_launch_session *session, uint64_t number)
{
    rz_checkpoints_give_up(&session->attempts->checkpoints, number);
    rz_session_check_fell_back(session);
}

static void on_settled(void *arg, uint32_t by, const struct rz_launch_event *event)
{
    struct rz_launch_session *session = arg;
    if (event->kind == RZ_EVENT_RECORD_FELL_BACK) {
        on_fell_back(session, event->value);
    }
    rz_story_event(&session->story, by, event);
    if (session->cases) {
        rz_cases_event(session->cases, by, event);
    }
    if (session->attempts->report) {
        rz_html_report_event(session->attempts->report, by, event);
    }
}

static void on_event(struct rz_launch_session *session, struct rz_node *node,
                     const struct rz_launch_event *event)
{
    rz_story_record(&session->story, node->index, event);
    rz_settled_event(&session->settled, node->index, event);
    rz_session_check_event(session, event);
    if (event->kind == RZ_EVENT_RECORD_EPOCH && event->epoch > node->epoch) {
        node->epoch = event->epoch;
        session->epoch = event->epoch > session->epoch ? event->epoch : session->epoch;
    }
    if (event->kind == RZ_EVENT_RECORD_JOINED) {
        rz_session_debug_joined(session, event->rank, event->incarnation);
    }
    if (event->kind == RZ_EVENT_RECORD_RUN) {
        rz_session_arm_faults(session);
    }
    if (event->kind == RZ_EVENT_RECORD_EXCLUDED && event->node < session->options->layout.n_nodes) {
        session->nodes[event->node].input_credit =
            0; /* rank 0 will read on another node, sooner or later */
    }
    if (event->kind == RZ_EVENT_RECORD_NOTED && event->rank == RZ_ID_NONE &&
        event->node < session->options->layout.n_nodes) {
        session->nodes[event->node].lost = true;
    }
}

static void on_stopping(struct rz_launch_session *session, struct rz_node *node,
                        const struct rz_launch_stopping *told)
{
    rz_story_stopping(&session->story, node->index, told->reason);
    bool lost = told->status == RZ_ERR_CHECKPOINT_LOST;
    bool ends = lost || told->status == RZ_ERR_JOB_ENDED || told->status == RZ_ERR_NO_SLOTS ||
                told->status == RZ_ERR_CHECKPOINT_UNKEPT;
    session->checkpoint_lost |= lost;
    if (session->options->story || session->options->verbosity) {
        fprintf(stderr, "rzrun: node %u %s: %s\n", node->index, ends ? "ends" : "is cut off",
                told->reason);
    }
    if (!ends) {
        rz_settled_cut_off(&session->settled, node->index);
    }
    if (!ends && session->cases) {
        rz_cases_stopping(session->cases, node->index, told->reason);
    }
}

static void report_binding(const struct rz_launch_session *session, const struct rz_node *node,
                           const struct rz_launch_started *told)
{
    const struct rz_layout_node *place = &session->options->layout.nodes[node->index];
    char name[sizeof(place->host) + sizeof(place->rack) + 16] = "";
    if (session->options->named) {
        snprintf(name, sizeof(name), " (%s%s%s)", place->host, *place->rack ? ", rack " : "",
                 place->rack);
    }
    fprintf(stderr, "rzrun: rank %u, incarnation %u, node %u%s: %s\n", told->rank,
            told->incarnation, node->index, name, told->binding);
}

static void on_started(struct rz_launch_session *session, struct rz_node *node,
                       const struct rz_launch_started *told)
{
    if (session->options->report_bindings) {
        report_binding(session, node, told);
    }
    if (session->cases) {
        rz_cases_started(session->cases, told);
    }
    rz_session_debug_started(session, node, told);
    rz_session_foreign_started(session, node, told);
    rz_session_input_look(session); /* rank 0 may now read on another node */
    rz_session_detach_if_all_run(session);
}

static void on_refused(struct rz_launch_session *session, const struct rz_node *node,
                       const char *reason)
{
    if (session->preload.nodes && !session->started) {
        rz_outcome_decide(&session->referee.outcome, RZ_EXIT_START, "--preload: host %s: %s",
                          session->options->layout.nodes[node->index].host, reason);
    } else {
        rz_outcome_decide(&session->referee.outcome, RZ_EXIT_START, "node %u refuses: %s",
                          node->index, reason);
    }
    rz_launch_session_end(session, 0);
}

static void on_done(struct rz_launch_session *session, struct rz_node *node,
                    const struct rz_launch_done *told)
{
    node->done = true;
    node->strangers = told->strangers;
    let_all_leave(session);
}

static void reach_kill_points(const struct rz_launch_message *message)
{
    if (message->type == RZ_LAUNCH_STARTED) {
        rz_kill_here(RZ_KILL_LAUNCH_STARTED);
    }
    if (message->type == RZ_LAUNCH_EXITED) {
        rz_kill_here(RZ_KILL_LAUNCH_EXITED);
    }
}

static void on_detaching(struct rz_launch_session *session, struct rz_node *node,
                         enum rz_node_detached detached)
{
    node->detached = detached;
    rz_session_look_at_detached(session);
}

static void take_message(struct rz_launch_session *session, struct rz_node *node,
                         const struct rz_launch_message *message)
{
    uint32_t grace_ms;
    if (rz_referee_refuses(&session->referee, node->index, message)) {
        if (rz_referee_is_second_agreement(&session->referee, node->index, message)) {
            rz_node_end(node, "it continues without others, which continue without it");
        }
        return;
    }
    rz_session_tell(session, node->index, message);
    rz_session_report_message(session, message);
    rz_session_check_message(session, message);
    bool over = rz_referee_take(&session->referee, node->index, message, &grace_ms);
    switch (message->type) {
    case RZ_LAUNCH_LISTENING:
        rz_session_listening(session, node, &message->listening);
        break;
    case RZ_LAUNCH_REFUSED:
        on_refused(session, node, message->refused.reason);
        break;
    case RZ_LAUNCH_FILES_TAKEN:
        rz_session_preload_taken(session, node, &message->files_taken);
        break;
    case RZ_LAUNCH_STARTED:
        on_started(session, node, &message->started);
        break;
    case RZ_LAUNCH_CAN_DETACH:
        on_detaching(session, node, RZ_NODE_CAN_DETACH);
        break;
    case RZ_LAUNCH_DETACHED:
        on_detaching(session, node, RZ_NODE_DETACHED);
        break;
    case RZ_LAUNCH_OUTPUT:
    case RZ_LAUNCH_OUTPUT_SAFE:
        rz_session_output(session, message);
        break;
    case RZ_LAUNCH_STDIN_WANTED:
        rz_session_input_wanted(session, node, &message->stdin_wanted);
        break;
    case RZ_LAUNCH_MARK:
        rz_story_mark(&session->story, &message->mark);
        rz_session_faults_at_iteration(session, message->mark.iteration);
        break;
    case RZ_LAUNCH_EVENT:
        on_event(session, node, &message->event);
        break;
    case RZ_LAUNCH_STOPPING:
        on_stopping(session, node, &message->stopping);
        break;
    case RZ_LAUNCH_WAITING:
    case RZ_LAUNCH_UNDER_WAY:
        rz_session_waits_told(session, node, message);
        break;
    case RZ_LAUNCH_WAITING_END:
        rz_session_waits_end(session, node);
        break;
    case RZ_LAUNCH_SAVED:
        rz_session_saved(session, message->saved.generation);
        break;
    case RZ_LAUNCH_DONE:
        on_done(session, node, &message->done);
        break;
    case RZ_LAUNCH_STALLED:
        rz_session_waits_stalled(session, message->stalled.for_ns);
        break;
    default:
        break; /* only for the referee, or sent by rzrun itself */
    }
    /* The daemons of a job to be detached handle its end themselves, however early it is. But a job
     * that could not even start is an error here. */
    bool started = session->referee.joined || message->type != RZ_LAUNCH_ABORTED;
    if (over && session->options->detach && started) {
        rz_session_detach(session);
    } else if (over) {
        end_by_itself(session, grace_ms);
    }
}

/* A program that another host cannot start: the host is named, which may lack it as the only one.
 */
static void take_abort(struct rz_launch_session *session, struct rz_node *node,
                       const struct rz_launch_message *told)
{
    struct rz_launch_message message = *told;
    char text[1200];
    if (strncmp(told->aborted.reason, "cannot ", 7) == 0) {
        snprintf(text, sizeof(text), "%s (on host %s)", told->aborted.reason,
                 session->options->layout.nodes[node->index].host);
        message.aborted.reason = text;
    }
    take_message(session, node, &message);
}

static void on_node_message(void *arg, struct rz_node *node, const struct rz_launch_message *told)
{
    rz_session_heard(arg, node, told);
    reach_kill_points(told);
    if (told->type == RZ_LAUNCH_ABORTED && node->remote) {
        take_abort(arg, node, told);
    } else {
        take_message(arg, node, told);
    }
}

static void on_ended(void *arg, struct rz_node *node)
{
    struct rz_launch_session *session = arg;
    uint32_t grace_ms;
    node->early = !session->ending;
    rz_session_tell_node_end(session, node->index);
    if (!session->started && !session->ending) {
        rz_outcome_decide(&session->referee.outcome, RZ_EXIT_START,
                          "the daemon of node %u (%s) ended before it was ready; are memory, files "
                          "and ports free there (ulimit -a, --port-range)?",
                          node->index,
                          session->options->named ? session->options->layout.nodes[node->index].host
                                                  : "this machine");
        rz_launch_session_end(session, 0);
    }
    if (!session->ending) {
        rz_story_lost(&session->story);
        rz_settled_gone(&session->settled, node->index);
    }
    if (rz_referee_node_lost(&session->referee, node->index, &grace_ms) &&
        !session->options->detach) {
        end_by_itself(session, grace_ms);
    }
    let_all_leave(session);
    rz_session_detach_if_all_run(session);
    rz_session_look_at_detached(session);
    if (!rz_session_all_gone(session)) {
        return;
    }
    if (!session->ending && !session->detached) {
        rz_referee_all_lost(&session->referee, node->index);
    }
    rz_session_leave_loop(session);
}

/* ---- bounds ---- */

/* An rzrun that was stopped, or got no processor, finds its bound over before it has read what the
 * daemons have sent meanwhile: the job may have ended in time. */
#define BOUND_LATE_NS (100 * RZ_MILLISECOND)
#define BOUND_LOOK_NS RZ_SECOND

/* --timeout holds for what ranks have left, too. */
static void end_wait_for_output(struct rz_launch_session *session)
{
    if (session->options->output_wait > 0 && !rz_session_all_gone(session) && !session->leaving &&
        rz_outcome_ended_by_itself(&session->referee.outcome)) {
        fprintf(stderr,
                "rzrun: --timeout: what processes that ranks have left would still write is "
                "lost\n");
        rz_launch_session_end(session, 0);
    }
}

static void job_out_of_time(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    (void)fd, (void)what;
    if (!session->bound_late && rz_clock_now() > session->bound_at + BOUND_LATE_NS) {
        session->bound_late = true;
        rz_session_arm(session->bound, BOUND_LOOK_NS);
        return;
    }
    session->out_of_time = true;
    if (session->flushing) {
        event_base_loopbreak(session->base);
    }
    if (session->ending) {
        end_wait_for_output(session);
        return;
    }
    rz_referee_timed_out(&session->referee, session->options->timeout);
    rz_session_waits_at_timeout(session);
}

/* ---- start and end of a session ---- */

static void open_events(struct rz_launch_session *session)
{
    rz_session_signals_open(session);
    rz_session_input_open(session);
    rz_session_readmit_open(session);
    session->last_word = evtimer_new(session->base, last_word, session);
    session->bound = evtimer_new(session->base, job_out_of_time, session);
    rz_time timeout = session->options->detach ? 0 : session->options->timeout;
    rz_time used = rz_clock_now() - session->attempts->begun; /* by earlier attempts */
    if (timeout && session->attempts->n > 0) {
        timeout = timeout > used + RZ_MILLISECOND ? timeout - used : RZ_MILLISECOND;
    }
    if (timeout) {
        session->bound_at = rz_clock_now() + timeout;
        rz_session_arm(session->bound, timeout);
    }
    rz_session_silence_open(session);
    rz_session_check_open(session);
}

/* Returns false if the job could not be started. */
static bool make_switch(struct rz_launch_session *session)
{
    const char *why;
    session->switch_fd = -1;
    if (session->options->adapter != RZ_ADAPTER_NETNS) {
        return true;
    }
    if (rz_netns_switch(&session->switch_fd, &why) != RZ_OK) {
        rz_outcome_decide(&session->referee.outcome, RZ_EXIT_START, "--adapter netns: %s", why);
        return false;
    }
    rz_story_switch(&session->story, session->switch_fd);
    return true;
}

static void start_nodes(struct rz_launch_session *session, const char *daemon)
{
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        const char *why;
        struct rz_node *node = &session->nodes[i];
        node->arg = session;
        node->message = on_node_message;
        node->ended = on_ended;
        node->index = i;
        node->alive_fd = node->status = -1;
        node->remote = session->options->layout.nodes[i].remote;
        if (node->remote) {
            continue;
        }
        if (session->options->n_remote > 0) { /* it listens where other hosts reach it */
            node->address = session->options->addresses[0];
        }
        if (rz_node_start(node, session->switch_fd, daemon, session->base, &why) == RZ_OK) {
            continue;
        }
        node->gone = true;
        rz_outcome_decide(&session->referee.outcome, RZ_EXIT_START, "node %u cannot be started: %s",
                          i, why);
        rz_launch_session_end(session, 0);
    }
    if (session->options->n_remote > 0 && !session->ending) {
        rz_session_start_hosts(session);
    }
}

/* Keepers end when their pipe ends. Those of a detached job stay. */
static void end_nodes(struct rz_launch_session *session)
{
    uint32_t n = session->options->layout.n_nodes;
    for (uint32_t i = 0; session->detached && i < n; i++) {
        rz_node_release(&session->nodes[i]);
    }
    if (!session->detached) {
        rz_nodes_end(session->nodes, n, NODES_END_NS / RZ_MILLISECOND);
    }
    rz_hosts_close(session->hosts, session->detached);
}

static void close_events(struct rz_launch_session *session)
{
    rz_session_signals_close(session);
    for (uint32_t i = 0; i < session->options->n_faults; i++) {
        if (session->faults[i].timer) {
            event_free(session->faults[i].timer);
        }
        if (session->faults[i].over) {
            event_free(session->faults[i].over);
        }
    }
    rz_session_input_close(session);
    event_free(session->last_word);
    event_free(session->look);
    event_free(session->bound);
    rz_session_waits_close(session);
    rz_session_report_close(session);
    rz_session_save_close(session);
    rz_session_readmit_close(session);
    rz_session_preload_close(session);
    rz_session_check_close(session);
}

static void close_report(struct rz_launch_session *session)
{
    FILE *report = session->story.report;
    if (!report) {
        return;
    }
    bool lost = ferror(report);
    errno = ENOSPC; /* of the lines lost before it, the last one is the likely cause */
    if (fclose(report) != 0 || lost) {
        fprintf(stderr, "rzrun: --report %s: not all of it could be written: %s\n",
                session->options->report, strerror(errno));
    }
}

/* Returns whether a failure or a lost checkpoint ended this attempt and another one follows;
 * otherwise the exit status. */
static int look_for_restart(struct rz_launch_session *session, int status)
{
    const struct rz_rzrun_options *options = session->options;
    bool failure = options->on_failure == RZ_ON_FAILURE_RESTART &&
                   rz_outcome_by_failure(&session->referee.outcome);
    bool lost = session->checkpoint_lost && session->attempts->checkpoints.used;
    if (!failure && !lost) {
        return status;
    }
    if (options->restarts_max == 0 || session->attempts->n < options->restarts_max) {
        session->attempts->again = true;
        return status;
    }
    fprintf(stderr, "rzrun: the job was restarted %u times (--max-restarts)\n",
            session->attempts->n);
    return RZ_EXIT_RESTARTS;
}

static void say_another_mpi(const struct rz_rzrun_options *options)
{
    char library[64];
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        const struct rz_context *part = &options->contexts[i];
        const char *program = part->executable;
        enum rz_program_mpi mpi =
            options->mpi == RZ_MPI_RHIZOME
                ? rz_program_words_mpi(part->program, rz_context_library_path(part), library,
                                       sizeof(library))
                : RZ_PROGRAM_PLAIN;
        if (mpi != RZ_PROGRAM_PLAIN && mpi != RZ_PROGRAM_OWN) {
            fprintf(stderr,
                    "rzrun: %s is linked to %s, the library of another MPI: each of its processes "
                    "was alone. Leave out --mpi rhizome, or compile it with Rhizome's mpicc.\n",
                    program, library);
        }
    }
}

/* What another attempt would follow is the end of the job if rzrun was told to end. */
static int end_instead(struct rz_launch_session *session, int status, char text[RZ_ENDED_BY_TEXT],
                       const char **cause)
{
    struct rz_attempts *attempts = session->attempts;
    if (!attempts->ended_by || !(attempts->again || attempts->without)) {
        return status;
    }
    attempts->again = attempts->without = false;
    *cause = text;
    return rz_attempts_ended_by_signal(attempts, text);
}

/* Reports what went wrong, once, where the program has not reported it itself. */
static int conclude_job(struct rz_launch_session *session)
{
    const char *cause, *why;
    char text[RZ_ENDED_BY_TEXT];
    if (session->detached) {
        return 0;
    }
    rz_session_signals_look(session);
    int status = rz_outcome_status(&session->referee.outcome, &cause);
    if (session->save.signal) {
        status = status != 0 ? RZ_EXIT_SAVED : 0;
    } else if (session->save.readmits && status == RZ_EXIT_SAVED) {
        session->attempts->again = true;
    } else {
        status = look_for_restart(session, status);
    }
    status = end_instead(session, status, text, &cause);
    rz_session_tell_end(session, status);
    rz_story_refused(&session->story, session->referee.outcome.refused,
                     session->options->layout.n_nodes);
    rz_story_end(&session->story, status, session->attempts->again, &session->attempts->failed);
    if (session->cases) {
        session->attempts->n_cases = rz_cases_count(session->cases);
    }
    rz_session_report_end(session, status, cause);
    if (session->cases && !rz_cases_close(session->cases, status, &why)) {
        fprintf(stderr, "rzrun: --cases %s: %s\n", session->options->cases, why);
    }
    if (session->options->check) {
        rz_session_check_over(session, status, cause);
        return status;
    }
    if (session->attempts->again) {
        fprintf(stderr, "rzrun: %s; the job restarts (%u)\n", cause ? cause : "a failure",
                session->attempts->n + 1);
    } else if (session->attempts->without) {
        fprintf(stderr, "rzrun: %s; attempt %u begins without\n", cause ? cause : "",
                session->attempts->n + 1);
        return status;
    } else if (cause && *cause) {
        fprintf(stderr, "rzrun: %s\n", cause);
        rz_mpir_tell_aborting(cause);
    }
    if (status == RZ_EXIT_LOST || status == RZ_EXIT_START ||
        (status != 0 && rz_outcome_by_failure(&session->referee.outcome))) {
        rz_nodes_tell_ends(session->nodes, session->options->layout.n_nodes,
                           session->referee.outcome.cut_off);
    }
    rz_nodes_tell_strangers(session->nodes, session->options->layout.n_nodes);
    if (session->referee.stranger != RZ_ID_NONE && session->referee.outcome.n_ranks > 1) {
        say_another_mpi(session->options);
    }
    return status;
}

int rz_session_run(const struct rz_rzrun_options *options, struct rz_attempts *attempts,
                   const char *daemon)
{
    struct rz_launch_session *session = calloc(1, sizeof(*session));
    const char *why;
    rz_need_memory(session, "for a job");
    rz_assert(sodium_init() >= 0);
    session->options = options;
    session->attempts = attempts;
    session->daemon = daemon;
    session->random.state = options->seed;
    session->base = event_base_new();
    session->nodes = calloc(options->layout.n_nodes, sizeof(*session->nodes));
    rz_need_memory(session->base && session->nodes, "for the nodes of the job");
    randombytes_buf(session->key, sizeof(session->key));
    randombytes_buf(&session->job, sizeof(session->job));
    rz_referee_open(&session->referee, options->n_ranks, options->layout.placement,
                    options->layout.n_nodes, rz_session_job_flags(session));
    session->story = (struct rz_story){.progress = options->progress,
                                       .line = options->progress && isatty(STDERR_FILENO),
                                       .at = {.total = options->progress_total},
                                       .n_ranks = options->n_ranks,
                                       .told_epoch = 1,
                                       .recovered = on_recovered,
                                       .arg = session};
    rz_settled_open(&session->settled, options->layout.n_nodes, on_settled, session);
    rz_timeline_open(&session->story.timeline, options->n_ranks, &attempts->work,
                     attempts->failed.failures > 0 ? &attempts->failed : NULL);
    if (options->report &&
        !(session->story.report = fopen(options->report, attempts->n > 0 ? "a" : "w"))) {
        rz_cli_refuse(&rz_rzrun_cli, "--report: %s cannot be written: %s", options->report,
                      strerror(errno));
    }
    if ((options->cases || options->report_html) &&
        !(session->cases = rz_cases_open(options->cases, session->job, attempts->n_cases, &why))) {
        rz_cli_refuse(&rz_rzrun_cli, "--cases: %s cannot be used: %s", options->cases, why);
    }
    open_events(session);
    rz_session_debug_begin(session);
    rz_session_trace_open(session);
    rz_session_report_open(session);
    if (rz_session_output_open(session) != RZ_OK) {
        fprintf(stderr, "rzrun: cannot start: %s\n", strerror(errno));
        exit(RZ_EXIT_START);
    }
    session->story.terminal = options->story ? stderr : NULL;
    if (make_switch(session)) {
        start_nodes(session, daemon);
        rz_kill_here(RZ_KILL_LAUNCH_NODES);
        if (!rz_session_all_gone(session)) {
            event_base_dispatch(session->base);
        }
        end_nodes(session);
        rz_kill_here(RZ_KILL_LAUNCH_OVER);
    }
    rz_session_trace_end(session);
    int status = rz_session_output_close(session, conclude_job(session));
    close_events(session);
    rz_session_debug_end(session);
    rz_session_foreign_end(session);
    rz_session_trace_close(session);
    if (session->switch_fd >= 0) {
        close(session->switch_fd);
    }
    close_report(session);
    rz_referee_clear(&session->referee);
    rz_settled_close(&session->settled);
    rz_timeline_close(&session->story.timeline); /* the story of a detached job has no end here */
    free(session->nodes);
    event_base_free(session->base);
    free(session);
    return status;
}
