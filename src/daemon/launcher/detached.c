/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a detached job in one daemon: it sends facts about its processes to the other
 * daemons, evaluates all facts (outcome/referee.h), lets rzrun go, and keeps the result until it
 * was fetched. */
#include "daemon/launcher/detached.h"

#include "base/assert.h"
#include "daemon/launcher/attached.h"
#include "daemon/launcher/keeper.h"
#include "daemon/state/loop.h"
#include "outcome/referee.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "port/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long the result waits for nodes that do not say DONE: nodes that have failed without being
 * detected. */
#define DONE_BOUND_NS (5 * RZ_SECOND)

struct rz_detached {
    struct rz_detached_config config;
    const struct rz_own_node *own; /* copied from config */
    struct rz_referee referee;
    struct rz_spool *spool;
    struct rz_attached *attached;
    /* Defers the decision to the loop, because the fact may arrive in the middle of another call.
     */
    struct event *deciding;
    struct event *timeout, *done_bound, *linger;
    bool finish;       /* the job must end */
    uint32_t grace_ms; /* the grace period for that */
    bool joined_told;  /* one JOINED per node is enough */
    bool going, ready; /* rzrun has said DETACH; it was told CAN_DETACH */
    bool let_go;       /* rzrun has said LET_GO, and was told DETACHED */
    bool dismissed;    /* the daemon does not stay */
    bool empty;        /* no process is left here */
    bool over;         /* the result is fixed */
    rz_time over_at;
    bool *done; /* [n_nodes]: has said DONE, or its connection broke with --no-ft */
    uint8_t frame[RZ_LAUNCH_FRAME_MAX];
};

/* ---- facts: what each daemon must know of the processes of all others ---- */

static bool is_fact(struct rz_detached *d, const struct rz_launch_message *message)
{
    switch (message->type) {
    case RZ_LAUNCH_STARTED:
    case RZ_LAUNCH_EXITED:
    case RZ_LAUNCH_ABORTED:
    case RZ_LAUNCH_STOPPING:
    case RZ_LAUNCH_FINISH:
    case RZ_LAUNCH_DONE:
        return true;
    case RZ_LAUNCH_EVENT:
        if (message->event.kind == RZ_EVENT_RECORD_JOINED && !d->joined_told) {
            return d->joined_told = true;
        }
        /* A spawn is a fact, too, although each daemon decides it itself: a daemon may hear that
         * the spawning processes have ended before it learns of the decision. */
        if (message->event.kind == RZ_EVENT_RECORD_ACKNOWLEDGED ||
            message->event.kind == RZ_EVENT_RECORD_ENDED_BY ||
            message->event.kind == RZ_EVENT_RECORD_INTOLERANT ||
            message->event.kind == RZ_EVENT_RECORD_SPAWNED) {
            return true;
        }
        return message->event.kind == RZ_EVENT_RECORD_FAILURE_SEEN &&
               message->event.rank != RZ_ID_NONE;
    default:
        return false;
    }
}

static void tell_others(struct rz_detached *d, const void *frame, size_t n)
{
    const struct rz_own_node *own = d->own;
    if (!rz_overlay_started(d->config.overlay)) {
        return;
    }
    const struct rz_overlay_message fact = {
        .type = RZ_OVERLAY_FACT, .fact = {.message = frame, .message_length = (uint32_t)n}};
    for (rz_id node = 0; node < own->job.n_nodes; node++) {
        if (node != own->job.node) {
            rz_overlay_send(d->config.overlay, node, &fact);
        }
    }
}

static void decide_soon(struct rz_detached *d, uint32_t grace_ms)
{
    if (!d->finish || grace_ms < d->grace_ms) {
        d->grace_ms = grace_ms;
    }
    d->finish = true;
    rz_loop_soon(d->deciding);
}

static void hear_node(struct rz_detached *d, uint32_t node, const struct rz_launch_message *message)
{
    uint32_t grace_ms;
    if (d->over) {
        return;
    }
    if (message->type == RZ_LAUNCH_DONE) {
        d->done[node] = true;
    }
    if (rz_referee_take(&d->referee, node, message, &grace_ms)) {
        decide_soon(d, grace_ms);
    }
    if (message->type == RZ_LAUNCH_DONE) {
        rz_loop_soon(d->deciding);
    }
}

/* Takes a message that is no output into the outcome of this daemon, and sends it to all other
 * nodes if it is a fact that they need. */
static void note(struct rz_detached *d, const struct rz_launch_message *message)
{
    if (is_fact(d, message)) {
        size_t n = rz_launch_encode(message, d->frame, sizeof(d->frame));
        rz_assert(n > 0);
        tell_others(d, d->frame, n);
    }
    hear_node(d, d->own->job.node, message);
}

static void on_fact(void *arg, rz_id from, const struct rz_overlay_message *told)
{
    struct rz_detached *d = arg;
    struct rz_launch_message message;
    if (rz_launch_decode(&message, told->fact.message, told->fact.message_length) == RZ_OK) {
        hear_node(d, from, &message);
    }
}

static void node_lost(struct rz_detached *d, uint32_t node)
{
    uint32_t grace_ms;
    rz_loop_soon(d->deciding); /* that node is not waited for */
    if (rz_referee_node_lost(&d->referee, node, &grace_ms)) {
        decide_soon(d, grace_ms);
    }
}

void rz_detached_node_failed(void *arg, rz_id node, bool proof, bool first)
{
    struct rz_detached *d = arg;
    (void)proof;
    if (first && !d->own->membership.ending) {
        node_lost(d, node);
    }
}

void rz_detached_unwatched(struct rz_detached *d, rz_id node)
{
    d->done[node] = true;
    node_lost(d, node);
}

/* ---- output ---- */

static void keep_message(struct rz_detached *d, const struct rz_launch_message *message,
                         uint64_t output)
{
    size_t n = rz_launch_encode(message, d->frame, sizeof(d->frame));
    rz_assert(n > 0);
    /* Without memory the output is lost, and the reader is told how much. */
    rz_spool_put(d->spool, d->frame, n, output);
    rz_attached_look(d->attached);
}

static bool told(void *arg, const struct rz_launch_message *message)
{
    struct rz_detached *d = arg;
    switch (message->type) {
    case RZ_LAUNCH_OUTPUT:
        keep_message(d, message, message->output.data_length);
        return false;
    case RZ_LAUNCH_WAITING:
        keep_message(d, message, 0);
        return false;
    case RZ_LAUNCH_MARK:
    case RZ_LAUNCH_STALLED:
    case RZ_LAUNCH_WAITING_END:
        return false;
    default:
        note(d, message);
        return true;
    }
}

static bool log_line(void *arg, const char *line)
{
    struct rz_detached *d = arg;
    char text[600];
    if (!d->let_go) {
        return false;
    }
    int n = snprintf(text, sizeof(text), "rzd[%u]: %s\n", d->own->job.node, line);
    struct rz_launch_message message = {.type = RZ_LAUNCH_OUTPUT,
                                        .output = {.rank = RZ_ID_NONE,
                                                   .stream = 2,
                                                   .at = RZ_OUTPUT_ANYWHERE,
                                                   .data = (const uint8_t *)text,
                                                   .data_length = (uint32_t)n}};
    keep_message(d, &message, (uint64_t)n);
    return true;
}

/* ---- detaching from rzrun ---- */

static void say_ready(struct rz_detached *d)
{
    const struct rz_launch_message can = {.type = RZ_LAUNCH_CAN_DETACH};
    if (!d->going || d->ready) {
        return;
    }
    for (struct rz_child *p = d->config.children->first; p; p = p->next) {
        if (p->report_fd >= 0) {
            return;
        }
    }
    d->ready = true;
    rz_report_send(&d->own->report, &can);
    rz_kill_here(RZ_KILL_DAEMON_CAN_DETACH);
}

static const char *on_let_go(void *arg, const struct rz_launch_message *message)
{
    struct rz_detached *d = arg;
    (void)message;
    if (!d->ready || d->let_go) {
        return NULL;
    }
    d->let_go = true;
    rz_kill_here(RZ_KILL_DAEMON_LET_GO);
    if (d->config.lifeline_fd >= 0) {
        rz_keeper_detach(d->config.lifeline_fd);
    }
    rz_process_leave_terminal();
    rz_kill_here(RZ_KILL_DAEMON_DETACHED);
    const struct rz_launch_message detached = {.type = RZ_LAUNCH_DETACHED};
    rz_report_send(&d->own->report, &detached);
    return NULL;
}

static const char *on_detach(void *arg, const struct rz_launch_message *message)
{
    struct rz_detached *d = arg;
    (void)message;
    d->going = true;
    rz_loop_soon(d->deciding);
    return NULL;
}

void rz_detached_executed(struct rz_detached *d)
{
    rz_loop_soon(d->deciding);
}

bool rz_detached_may_lose_rzrun(struct rz_detached *d)
{
    if (d->let_go) {
        return true;
    }
    const struct rz_launch_message message = {
        .type = RZ_LAUNCH_FINISH,
        .finish = {.code = 128 + 1, .reason = "rzrun was lost before the job was detached"}};
    note(d, &message);
    rz_detached_dismiss(d);
    return false;
}

/* ---- the end ---- */

static void leave_loop(struct rz_detached *d)
{
    d->dismissed = true;
    event_base_loopbreak(d->own->base);
}

static void none_came(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    leave_loop(arg);
}

static void result_was_fetched(void *arg)
{
    leave_loop(arg);
}

static bool all_done(const struct rz_detached *d)
{
    for (uint32_t node = 0; node < d->own->job.n_nodes; node++) {
        if (!d->done[node] && !rz_membership_node_has_failed(&d->own->membership, node)) {
            return false;
        }
    }
    return true;
}

/* Fixes the result: this daemon can learn no more about the job. */
static void conclude(struct rz_detached *d)
{
    const char *cause;
    uint32_t self = d->own->job.node;
    bool cut_off = d->referee.outcome.cut_off[self] != NULL;
    if (d->over || !d->empty) {
        return;
    }
    d->over = true;
    d->over_at = rz_clock_now();
    event_del(d->done_bound);
    if (cut_off && !d->finish) {
        rz_referee_all_lost(&d->referee, self);
    }
    if (!cut_off) {
        d->config.over(d->config.arg);
    }
    int code = rz_outcome_status(&d->referee.outcome, &cause);
    const struct rz_launch_message result = {.type = RZ_LAUNCH_RESULT,
                                             .result = {.code = (uint32_t)code,
                                                        .cut_off = cut_off,
                                                        .n_nodes = d->own->job.n_nodes,
                                                        .cause = cause ? cause : ""}};
    rz_attached_conclude(d->attached, &result);
    rz_loop_arm_every(d->linger, d->own->job.linger_ns);
}

static void waited_long_enough(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    conclude(arg);
}

bool rz_detached_stays(void *arg)
{
    struct rz_detached *d = arg;
    if (d->dismissed) {
        return false;
    }
    if (!d->empty) {
        const struct rz_launch_message done = {.type = RZ_LAUNCH_DONE};
        d->empty = true;
        d->referee.over = true;
        note(d, &done);
        rz_loop_arm_every(d->done_bound, DONE_BOUND_NS + d->own->job.output_wait_ns);
    }
    return true;
}

void rz_detached_dismiss(struct rz_detached *d)
{
    d->dismissed = true;
    if (d->empty) {
        leave_loop(d);
    }
}

/* Does what is due: the answer to DETACH, the end of the job, the result. */
static void decide(evutil_socket_t fd, short what, void *arg)
{
    struct rz_detached *d = arg;
    (void)fd, (void)what;
    say_ready(d);
    if (d->finish && !d->dismissed) {
        d->referee.over = true;
        d->config.end(d->config.arg, d->grace_ms, rz_outcome_ended_by_itself(&d->referee.outcome));
    }
    if (d->empty && (d->referee.outcome.cut_off[d->own->job.node] || all_done(d))) {
        conclude(d);
    }
}

static void out_of_time(evutil_socket_t fd, short what, void *arg)
{
    struct rz_detached *d = arg;
    (void)fd, (void)what;
    event_del(d->timeout);
    if (d->own->membership.ending) {
        return;
    }
    d->config.dump_waiting(d->config.arg);
    rz_referee_timed_out(&d->referee, d->own->job.timeout_ns);
    decide_soon(d, RZ_END_GRACE_MS);
}

/* ---- attaching ---- */

static void a_process_ends_it(void *arg, const struct rz_launch_message *message)
{
    struct rz_detached *d = arg;
    if (!d->own->membership.ending) {
        note(d, message);
    }
}

const char *rz_detached_attach(struct rz_detached *d, int fd)
{
    return rz_attached_add(d->attached, fd) ? NULL
                                            : "too many rzruns are attached to the job already";
}

const char *rz_detached_state(const struct rz_detached *d)
{
    return d->over                     ? "over"
           : d->own->membership.ending ? "ending"
           : d->let_go                 ? "running"
                                       : "starting";
}

bool rz_detached_result(const struct rz_detached *d, struct rz_detached_result *result)
{
    if (d->over) {
        result->at = d->over_at;
        result->code = rz_outcome_status(&d->referee.outcome, &result->cause);
    }
    return d->over;
}

/* ---- open and close ---- */

static rz_status_t open_detached_parts(struct rz_detached *d)
{
    const struct rz_daemon_job *job = &d->own->job;
    d->done = calloc(job->n_nodes, sizeof(*d->done));
    rz_status_t status = d->done ? RZ_OK : RZ_ERR_NO_MEMORY;
    if (status == RZ_OK) {
        status = rz_spool_open(&d->spool, job->spool_bytes);
    }
    const struct rz_attached_host host = {.arg = d,
                                          .own = d->own,
                                          .spool = d->spool,
                                          .finish = a_process_ends_it,
                                          .collected = result_was_fetched};
    if (status == RZ_OK) {
        status = rz_attached_open(&d->attached, &host);
    }
    if (status == RZ_OK) {
        status = rz_loop_timer(d->own->base, &d->deciding, decide, d);
    }
    if (status == RZ_OK) {
        status = rz_loop_timer(d->own->base, &d->timeout, out_of_time, d);
    }
    if (status == RZ_OK) {
        status = rz_loop_timer(d->own->base, &d->done_bound, waited_long_enough, d);
    }
    if (status == RZ_OK) {
        status = rz_loop_timer(d->own->base, &d->linger, none_came, d);
    }
    return status;
}

rz_status_t rz_detached_open(struct rz_detached **detached, const struct rz_detached_config *config)
{
    const struct rz_daemon_job *job = &config->own->job;
    struct rz_detached *d = calloc(1, sizeof(*d));
    if (!d) {
        return RZ_ERR_NO_MEMORY;
    }
    d->config = *config;
    d->own = config->own;
    rz_referee_open(&d->referee, job->n_ranks, job->placement, job->n_nodes, job->flags);
    rz_status_t status = open_detached_parts(d);
    if (status != RZ_OK) {
        rz_detached_close(d);
        return status;
    }
    if (job->timeout_ns) {
        rz_loop_arm_every(d->timeout, job->timeout_ns);
    }
    config->own->report.tap = (struct rz_report_tap){.arg = d, .message = told, .line = log_line};
    rz_launcher_handle(config->launcher, RZ_LAUNCH_DETACH, RZ_LAUNCHER_BEFORE_END, on_detach, d);
    rz_launcher_handle(config->launcher, RZ_LAUNCH_LET_GO, RZ_LAUNCHER_BEFORE_END, on_let_go, d);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_FACT, on_fact, d);
    *detached = d;
    return RZ_OK;
}

void rz_detached_close(struct rz_detached *d)
{
    if (!d) {
        return;
    }
    d->config.own->report.tap = (struct rz_report_tap){0};
    rz_attached_close(d->attached);
    rz_spool_close(d->spool);
    rz_referee_clear(&d->referee);
    rz_loop_free(d->deciding);
    rz_loop_free(d->timeout);
    rz_loop_free(d->done_bound);
    rz_loop_free(d->linger);
    free(d->done);
    free(d);
}
