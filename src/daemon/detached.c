#include "daemon/detached.h"

#include "base/assert.h"
#include "daemon/attached.h"
#include "daemon/child.h"
#include "daemon/ending.h"
#include "daemon/keeper.h"
#include "daemon/loop.h"
#include "daemon/orders.h"
#include "outcome/referee.h"
#include "port/kill_point.h"
#include "port/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So long the result waits for nodes that do not say DONE: failed ones that nobody has missed yet.
 */
#define DONE_BOUND_NS (5 * RZ_SECOND)

struct rz_detached {
    struct rz_daemon *daemon;
    struct rz_referee referee;
    struct rz_spool *spool;
    struct rz_attached *attached;
    struct event *deciding; /* from the loop: the cause may lie in the middle of something */
    struct event *timeout, *done_bound, *linger;
    bool finish;       /* the job shall end */
    uint32_t grace_ms; /* with this grace */
    bool joined_told;  /* one JOINED per node is enough */
    bool going, ready; /* rzrun said DETACH; was told CAN_DETACH */
    bool let_go;       /* it said LET_GO, and was told DETACHED */
    bool dismissed;    /* the daemon does not stay */
    bool empty;        /* no process is left here */
    bool over;         /* the result is fixed */
    bool *done;        /* [n_nodes]: has said DONE, or has failed */
    uint8_t frame[RZ_LAUNCH_FRAME_MAX];
};

/* ---- facts: what each daemon must know of all others' processes */

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
        if (message->event.kind == RZ_EVENT_RECORD_JOINED && !d->joined_told)
            return d->joined_told = true;
        /* A spawn also, that each daemon decides: the end of its parents may be heard before that
         * decision is. */
        if (message->event.kind == RZ_EVENT_RECORD_ACKNOWLEDGED ||
            message->event.kind == RZ_EVENT_RECORD_ENDED_BY ||
            message->event.kind == RZ_EVENT_RECORD_SPAWNED)
            return true;
        return message->event.kind == RZ_EVENT_RECORD_FAILURE_SEEN &&
               message->event.rank != RZ_ID_NONE;
    default:
        return false;
    }
}

static void tell_others(struct rz_detached *d, const void *frame, size_t n)
{
    struct rz_daemon *daemon = d->daemon;
    if (!daemon->recovery)
        return; /* the overlay has not started */
    const struct rz_overlay_message fact = {
        .type = RZ_OVERLAY_FACT, .fact = {.message = frame, .message_length = (uint32_t)n}};
    for (rz_id node = 0; node < daemon->job.n_nodes; node++)
        if (node != daemon->job.node)
            rz_overlay_send(daemon->overlay, node, &fact);
}

static void decide_soon(struct rz_detached *d, uint32_t grace_ms)
{
    if (!d->finish || grace_ms < d->grace_ms)
        d->grace_ms = grace_ms;
    d->finish = true;
    rz_loop_soon(d->deciding);
}

static void hear(struct rz_detached *d, uint32_t node, const struct rz_launch_message *message)
{
    uint32_t grace_ms;
    if (d->over)
        return;
    if (message->type == RZ_LAUNCH_DONE)
        d->done[node] = true;
    if (rz_referee_take(&d->referee, node, message, &grace_ms))
        decide_soon(d, grace_ms);
    if (message->type == RZ_LAUNCH_DONE)
        rz_loop_soon(d->deciding);
}

/* Something that is no output: for the outcome here, and where they need it on all other nodes. */
static void note(struct rz_detached *d, const struct rz_launch_message *message)
{
    if (is_fact(d, message)) {
        size_t n = rz_launch_encode(message, d->frame, sizeof d->frame);
        rz_assert(n > 0);
        tell_others(d, d->frame, n);
    }
    hear(d, d->daemon->job.node, message);
}

void rz_detached_fact(struct rz_detached *d, uint32_t from, const void *bytes, size_t n)
{
    struct rz_launch_message message;
    if (rz_launch_decode(&message, bytes, n) == RZ_OK)
        hear(d, from, &message);
}

void rz_detached_node_failed(struct rz_detached *d, uint32_t node)
{
    uint32_t grace_ms;
    d->done[node] = true; /* nothing is waited for there */
    rz_loop_soon(d->deciding);
    if (rz_referee_node_lost(&d->referee, node, &grace_ms))
        decide_soon(d, grace_ms);
}

/* ---- output */

static void keep(struct rz_detached *d, const struct rz_launch_message *message, uint64_t output)
{
    size_t n = rz_launch_encode(message, d->frame, sizeof d->frame);
    rz_assert(n > 0);
    rz_spool_put(d->spool, d->frame, n, output); /* without memory it is missed, which is said */
    rz_attached_look(d->attached);
}

bool rz_detached_told(struct rz_detached *d, const struct rz_launch_message *message)
{
    switch (message->type) {
    case RZ_LAUNCH_OUTPUT:
        keep(d, message, message->output.data_length);
        return false;
    case RZ_LAUNCH_WAITING:
        keep(d, message, 0);
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

bool rz_detached_log(struct rz_detached *d, const char *line)
{
    char text[600];
    if (!d->let_go)
        return false;
    int n = snprintf(text, sizeof text, "rzd[%u]: %s\n", d->daemon->job.node, line);
    struct rz_launch_message message = {.type = RZ_LAUNCH_OUTPUT,
                                        .output = {.rank = RZ_ID_NONE,
                                                   .stream = 2,
                                                   .data = (const uint8_t *)text,
                                                   .data_length = (uint32_t)n}};
    keep(d, &message, (uint64_t)n);
    return true;
}

/* ---- rzrun goes */

static void say_ready(struct rz_detached *d)
{
    struct rz_daemon *daemon = d->daemon;
    const struct rz_launch_message can = {.type = RZ_LAUNCH_CAN_DETACH};
    if (!d->going || d->ready)
        return;
    for (struct rz_child *p = rz_children(daemon); p; p = p->next)
        if (p->report_fd >= 0)
            return;
    d->ready = true;
    rz_daemon_tell_launcher(daemon, &can);
    rz_kill_here(RZ_KILL_DAEMON_CAN_DETACH);
}

void rz_detached_let_go(struct rz_detached *d)
{
    struct rz_daemon *daemon = d->daemon;
    if (!d->ready || d->let_go)
        return;
    d->let_go = true;
    rz_kill_here(RZ_KILL_DAEMON_LET_GO);
    if (daemon->lifeline_fd >= 0)
        rz_keeper_detach(daemon->lifeline_fd);
    rz_process_leave_terminal();
    rz_kill_here(RZ_KILL_DAEMON_DETACHED);
    const struct rz_launch_message detached = {.type = RZ_LAUNCH_DETACHED};
    rz_daemon_tell_launcher(daemon, &detached);
}

void rz_detached_wanted(struct rz_detached *d)
{
    d->going = true;
    rz_loop_soon(d->deciding);
}

void rz_detached_executed(struct rz_detached *d)
{
    rz_loop_soon(d->deciding);
}

bool rz_detached_may_lose_rzrun(struct rz_detached *d)
{
    if (d->let_go)
        return true;
    const struct rz_launch_message message = {
        .type = RZ_LAUNCH_FINISH,
        .finish = {.code = 128 + 1, .reason = "rzrun was lost before the job was detached"}};
    note(d, &message);
    rz_detached_dismiss(d);
    return false;
}

/* ---- the end */

static void leave(struct rz_detached *d)
{
    d->dismissed = true;
    event_base_loopbreak(d->daemon->base);
}

static void nobody_came(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    leave(arg);
}

static void result_was_fetched(struct rz_daemon *daemon)
{
    leave(daemon->detached);
}

static bool all_done(const struct rz_detached *d)
{
    for (uint32_t node = 0; node < d->daemon->job.n_nodes; node++)
        if (!d->done[node])
            return false;
    return true;
}

/* The job is over as far as this daemon can ever know. */
static void conclude(struct rz_detached *d)
{
    const char *cause;
    uint32_t self = d->daemon->job.node;
    bool cut_off = d->referee.outcome.cut_off[self] != NULL;
    if (d->over || !d->empty)
        return;
    d->over = true;
    event_del(d->done_bound);
    if (cut_off && !d->finish)
        rz_referee_all_lost(&d->referee, self);
    if (!cut_off && d->daemon->recovery)
        rz_recovery_leave(d->daemon->recovery);
    int code = rz_outcome_status(&d->referee.outcome, &cause);
    const struct rz_launch_message result = {.type = RZ_LAUNCH_RESULT,
                                             .result = {.code = (uint32_t)code,
                                                        .cut_off = cut_off,
                                                        .n_nodes = d->daemon->job.n_nodes,
                                                        .cause = cause ? cause : ""}};
    rz_attached_conclude(d->attached, &result);
    rz_loop_arm_every(d->linger, d->daemon->job.linger_ns);
}

static void waited_long_enough(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    conclude(arg);
}

bool rz_detached_stays(struct rz_detached *d)
{
    if (d->dismissed)
        return false;
    if (!d->empty) {
        const struct rz_launch_message done = {.type = RZ_LAUNCH_DONE};
        d->empty = true;
        d->referee.over = true;
        note(d, &done);
        rz_loop_arm_every(d->done_bound, DONE_BOUND_NS);
    }
    return true;
}

void rz_detached_dismiss(struct rz_detached *d)
{
    d->dismissed = true;
    if (d->empty)
        leave(d);
}

/* Whatever is due: the answer to DETACH, the end, the result. */
static void decide(evutil_socket_t fd, short what, void *arg)
{
    struct rz_detached *d = arg;
    (void)fd, (void)what;
    say_ready(d);
    if (d->finish && !d->dismissed) {
        d->referee.over = true;
        rz_ending_begin(d->daemon, EXIT_SUCCESS, RZ_ERR_JOB_ENDED, d->grace_ms);
    }
    if (d->empty && (d->referee.outcome.cut_off[d->daemon->job.node] || all_done(d)))
        conclude(d);
}

static void out_of_time(evutil_socket_t fd, short what, void *arg)
{
    struct rz_detached *d = arg;
    (void)fd, (void)what;
    event_del(d->timeout);
    if (d->daemon->ending)
        return;
    rz_orders_dump_waiting(d->daemon);
    rz_referee_timed_out(&d->referee, d->daemon->job.timeout_ns);
    decide_soon(d, RZ_END_GRACE_MS);
}

/* ---- attaching */

static void somebody_ends_it(struct rz_daemon *daemon, const struct rz_launch_message *message)
{
    struct rz_detached *d = daemon->detached;
    if (!daemon->ending)
        note(d, message);
}

const char *rz_detached_attach(struct rz_detached *d, int fd)
{
    return rz_attached_add(d->attached, fd) ? NULL : "too many are attached to the job already";
}

const char *rz_detached_state(const struct rz_detached *d)
{
    return d->over ? "over" : d->daemon->ending ? "ending" : d->let_go ? "running" : "starting";
}

/* ---- life */

static rz_status_t open_parts(struct rz_detached *d)
{
    struct rz_daemon *daemon = d->daemon;
    const struct rz_daemon_job *job = &daemon->job;
    d->done = calloc(job->n_nodes, sizeof *d->done);
    rz_status_t status = d->done ? RZ_OK : RZ_ERR_NO_MEMORY;
    if (status == RZ_OK)
        status = rz_spool_open(&d->spool, job->spool_bytes);
    const struct rz_attached_host host = {.daemon = daemon,
                                          .spool = d->spool,
                                          .finish = somebody_ends_it,
                                          .collected = result_was_fetched};
    if (status == RZ_OK)
        status = rz_attached_open(&d->attached, &host);
    if (status == RZ_OK)
        status = rz_loop_timer(daemon->base, &d->deciding, decide, d);
    if (status == RZ_OK)
        status = rz_loop_timer(daemon->base, &d->timeout, out_of_time, d);
    if (status == RZ_OK)
        status = rz_loop_timer(daemon->base, &d->done_bound, waited_long_enough, d);
    if (status == RZ_OK)
        status = rz_loop_timer(daemon->base, &d->linger, nobody_came, d);
    return status;
}

rz_status_t rz_detached_open(struct rz_detached **detached, struct rz_daemon *daemon)
{
    const struct rz_daemon_job *job = &daemon->job;
    struct rz_detached *d = calloc(1, sizeof *d);
    if (!d)
        return RZ_ERR_NO_MEMORY;
    d->daemon = daemon;
    rz_referee_open(&d->referee, job->n_ranks, job->placement, job->n_nodes, job->flags);
    rz_status_t status = open_parts(d);
    if (status != RZ_OK) {
        rz_detached_close(d);
        return status;
    }
    if (job->timeout_ns)
        rz_loop_arm_every(d->timeout, job->timeout_ns);
    *detached = d;
    return RZ_OK;
}

void rz_detached_close(struct rz_detached *d)
{
    if (!d)
        return;
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
