/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the messages of the daemons one by one, updates the outcome, and decides when the job must
 * end. */
#include "outcome/referee.h"

#include "base/status.h"
#include "outcome/exit_codes.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

/* Why the first failure ends the job. */
static const char *first_failure(const struct rz_referee *referee)
{
    return referee->abort      ? "; --on-failure lets the first failure end the job"
           : referee->at_start ? "; it had not connected yet: that ends the job"
                               : "; the program has not asked to be told of failures";
}

void rz_referee_open(struct rz_referee *referee, uint32_t n_ranks, const uint32_t *placement,
                     uint32_t n_nodes, uint32_t flags)
{
    *referee = (struct rz_referee){.no_ft = flags & RZ_JOB_NO_FT,
                                   .abort = flags & RZ_JOB_ABORT,
                                   .repairs = flags & RZ_JOB_REPAIRS,
                                   .stranger = RZ_ID_NONE};
    rz_outcome_open(&referee->outcome, n_ranks, placement, n_nodes);
    referee->outcome.accepts = flags & RZ_JOB_ACCEPT_FAILURES;
}

void rz_referee_clear(struct rz_referee *referee)
{
    rz_outcome_clear(&referee->outcome);
}

static bool is_complete(const struct rz_referee *referee, uint32_t *grace_ms)
{
    if (referee->over || !rz_outcome_complete(&referee->outcome)) {
        return false;
    }
    if (referee->repairs && rz_outcome_all_failed(&referee->outcome)) {
        return false; /* the daemons restart them, or report why they do not */
    }
    *grace_ms = 0;
    return true;
}

/* A process that has joined waits in MPI_Init for all ranks; one that ended without it will never
 * enter it. */
static bool half_joined(struct rz_referee *referee, uint32_t *grace_ms)
{
    if (!referee->joined || referee->stranger == RZ_ID_NONE || referee->over) {
        return false;
    }
    rz_outcome_decide(&referee->outcome, referee->stranger_code ? referee->stranger_code : 1,
                      "rank %u ended (status %d) without MPI_Init, while other ranks wait for it",
                      referee->stranger, referee->stranger_code);
    *grace_ms = 0;
    return true;
}

/* The standard's default error handling, chosen for the whole job. */
static bool end_at_failure(struct rz_referee *referee, const struct rz_rank *r, uint32_t *grace_ms)
{
    if (!(referee->abort || referee->intolerant) || referee->over || r->state != RZ_RANK_FAILED) {
        return false;
    }
    referee->outcome.by_failure |= !referee->outcome.decided && !r->abort_code;
    if (r->with_node) {
        rz_outcome_decide(&referee->outcome, 128 + SIGKILL, "node %u was lost%s", r->node,
                          first_failure(referee));
    } else {
        rz_outcome_decide(&referee->outcome, r->code, "%s%s", r->cause, first_failure(referee));
    }
    *grace_ms = RZ_END_GRACE_MS;
    return true;
}

static bool on_exited(struct rz_referee *referee, const struct rz_launch_exited *told,
                      uint32_t *grace_ms)
{
    int status = (int)told->status;
    bool end = false;
    if (told->rank >= referee->outcome.n_slots) {
        return false;
    }
    bool spawned = told->rank >= referee->outcome.n_ranks;
    /* A later one is repaired, and a killed one is a failure like any other. */
    bool plain = !spawned && !told->hello &&
                 (told->clean || (told->incarnation == 1 && (referee->no_ft || WIFEXITED(status))));
    if (plain) {
        referee->stranger = told->rank;
        referee->stranger_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        end = half_joined(referee, grace_ms);
    }
    if (told->starved) {
        rz_outcome_starved(&referee->outcome, told->rank, told->incarnation);
    }
    rz_outcome_exited(&referee->outcome, told->rank, told->incarnation, status,
                      told->clean || plain);
    if (referee->no_ft && !told->clean && told->hello) {
        *grace_ms = RZ_END_GRACE_MS;
        end = true;
    }
    if (end_at_failure(referee, &referee->outcome.ranks[told->rank], grace_ms)) {
        end = true;
    }
    return end || is_complete(referee, grace_ms);
}

static bool on_noted(struct rz_referee *referee, const struct rz_launch_event *event,
                     uint32_t *grace_ms)
{
    if (event->rank < referee->outcome.n_slots) {
        rz_outcome_noted(&referee->outcome, event->rank, event->incarnation);
    } else if (event->node < referee->outcome.n_nodes) {
        rz_outcome_node_noted(&referee->outcome, event->node);
        return rz_referee_node_lost(referee, event->node, grace_ms);
    }
    return is_complete(referee, grace_ms);
}

static bool on_intolerant(struct rz_referee *referee, uint32_t *grace_ms)
{
    bool end = false;
    referee->intolerant = true;
    for (uint32_t slot = 0; slot < referee->outcome.n_slots && !end; slot++) {
        end = end_at_failure(referee, &referee->outcome.ranks[slot], grace_ms);
    }
    return end;
}

static bool on_event(struct rz_referee *referee, const struct rz_launch_event *event,
                     uint32_t *grace_ms)
{
    bool process = event->rank < referee->outcome.n_slots;
    if (event->kind == RZ_EVENT_RECORD_SPAWNED && process &&
        event->node < referee->outcome.n_nodes) {
        rz_outcome_spawned(&referee->outcome, event->rank, event->incarnation, event->node,
                           event->value == RZ_START_SPAWNED);
    }
    if (event->kind == RZ_EVENT_RECORD_ACKNOWLEDGED && process) {
        rz_outcome_acknowledged(&referee->outcome, event->rank, event->incarnation);
    }
    if (event->kind == RZ_EVENT_RECORD_ENDED_BY && process) {
        rz_outcome_ended_by(&referee->outcome, event->rank, event->incarnation,
                            (uint32_t)event->value, event->note);
    }
    if (event->kind == RZ_EVENT_RECORD_FAILURE_SEEN && process) {
        if (event->value == RZ_FAILURE_HUNG) {
            rz_outcome_hung(&referee->outcome, event->rank, event->incarnation);
        } else {
            rz_outcome_failing(&referee->outcome, event->rank, event->incarnation);
        }
    }
    if (event->kind == RZ_EVENT_RECORD_FAILURE_SEEN && event->value == RZ_FAILURE_SILENT &&
        event->rank == RZ_ID_NONE && event->node < referee->outcome.n_nodes) {
        rz_outcome_silent(&referee->outcome, event->node);
    }
    if (event->kind == RZ_EVENT_RECORD_FAILURE_NEWS) {
        rz_outcome_failure_known(&referee->outcome);
        /* The daemon of a surviving process may report it before the daemon of the failed one does,
         * and report an abort next. */
        if (process) {
            rz_outcome_failing(&referee->outcome, event->rank, event->incarnation);
        }
    }
    if (event->kind == RZ_EVENT_RECORD_LEFT) {
        rz_outcome_left(&referee->outcome);
    }
    if (event->kind == RZ_EVENT_RECORD_EXCLUDED && event->node < referee->outcome.n_nodes) {
        referee->outcome.out[event->node] = true;
    }
    if (event->kind == RZ_EVENT_RECORD_INTOLERANT) {
        referee->at_start |= !referee->intolerant && event->value == RZ_INTOLERANT_START;
        return on_intolerant(referee, grace_ms);
    }
    if (event->kind == RZ_EVENT_RECORD_NOTED) {
        return on_noted(referee, event, grace_ms);
    }
    if (event->kind != RZ_EVENT_RECORD_JOINED || event->rank >= referee->outcome.n_ranks) {
        return false;
    }
    referee->joined = true;
    return half_joined(referee, grace_ms);
}

/* The exit status of a job that cannot continue; 0: only this node is disconnected. */
static int code_of_stop(uint32_t status)
{
    switch (status) {
    case RZ_ERR_JOB_ENDED:
        return RZ_EXIT_RESTARTS;
    case RZ_ERR_NO_SLOTS:
        return RZ_EXIT_SLOTS;
    case RZ_ERR_CHECKPOINT_LOST:
    case RZ_ERR_CHECKPOINT_UNKEPT:
        return RZ_EXIT_CHECKPOINT;
    default:
        return 0;
    }
}

static bool on_stopping(struct rz_referee *referee, uint32_t node,
                        const struct rz_launch_stopping *told, uint32_t *grace_ms)
{
    int code = code_of_stop(told->status);
    if (code == 0) {
        if (node < referee->outcome.n_nodes) {
            rz_outcome_cut_off(&referee->outcome, node, told->reason);
        }
        return false;
    }
    if (code == RZ_EXIT_RESTARTS) {
        rz_outcome_worn_out(&referee->outcome, code, told->reason);
    } else {
        rz_outcome_decide(&referee->outcome, code, "%s", told->reason);
    }
    *grace_ms = RZ_END_GRACE_MS;
    return true;
}

bool rz_referee_refuses(struct rz_referee *referee, uint32_t node,
                        const struct rz_launch_message *message)
{
    if (node >= referee->outcome.n_nodes || !referee->outcome.out[node]) {
        return false;
    }
    switch (message->type) {
    case RZ_LAUNCH_STARTED:
    case RZ_LAUNCH_OUTPUT:
    case RZ_LAUNCH_STDIN_WANTED:
    case RZ_LAUNCH_MARK:
    case RZ_LAUNCH_EXITED:
    case RZ_LAUNCH_ABORTED:
        referee->outcome.refused[node]++;
        return true;
    default:
        return rz_referee_is_second_agreement(referee, node, message);
    }
}

bool rz_referee_is_second_agreement(const struct rz_referee *referee, uint32_t node,
                                    const struct rz_launch_message *message)
{
    if (message->type != RZ_LAUNCH_EVENT || message->event.kind != RZ_EVENT_RECORD_EXCLUDED) {
        return false;
    }
    uint32_t n_nodes = referee->outcome.n_nodes, without = message->event.node;
    if (without == node || node >= n_nodes || !referee->outcome.out[node]) {
        return false;
    }
    /* That the others are without it, too, is their agreement, which has reached the node late. */
    return without >= n_nodes || !referee->outcome.out[without];
}

bool rz_referee_take(struct rz_referee *referee, uint32_t node,
                     const struct rz_launch_message *message, uint32_t *grace_ms)
{
    switch (message->type) {
    case RZ_LAUNCH_STARTED:
        if (message->started.rank < referee->outcome.n_slots) {
            rz_outcome_started(&referee->outcome, message->started.rank,
                               message->started.incarnation, node);
        }
        return false;
    case RZ_LAUNCH_EXITED:
        return on_exited(referee, &message->exited, grace_ms);
    case RZ_LAUNCH_ABORTED:
        rz_outcome_aborted(&referee->outcome, message->aborted.rank, message->aborted.code,
                           message->aborted.reason);
        *grace_ms = 0;
        return true;
    case RZ_LAUNCH_EVENT:
        return on_event(referee, &message->event, grace_ms);
    case RZ_LAUNCH_STOPPING:
        return on_stopping(referee, node, &message->stopping, grace_ms);
    case RZ_LAUNCH_FINISH:
        rz_outcome_decide(&referee->outcome, (int)message->finish.code, "%s",
                          message->finish.reason);
        *grace_ms = RZ_END_GRACE_MS;
        return true;
    default:
        return false;
    }
}

bool rz_referee_node_lost(struct rz_referee *referee, uint32_t node, uint32_t *grace_ms)
{
    if (referee->over) {
        return false;
    }
    rz_outcome_node_lost(&referee->outcome, node);
    if (!referee->no_ft && !referee->abort) {
        /* Its processes may have ended in order before. */
        return (referee->intolerant && on_intolerant(referee, grace_ms)) ||
               is_complete(referee, grace_ms);
    }
    referee->outcome.by_failure |= !referee->outcome.decided;
    rz_outcome_decide(&referee->outcome, 128 + SIGKILL, "node %u was lost%s", node,
                      referee->no_ft ? ", which ends a job without fault tolerance"
                                     : first_failure(referee));
    *grace_ms = RZ_END_GRACE_MS;
    return true;
}

void rz_referee_all_lost(struct rz_referee *referee, uint32_t node)
{
    const char *why = referee->outcome.cut_off[node];
    referee->outcome.by_failure |= !referee->outcome.decided;
    if (why) {
        rz_outcome_decide(&referee->outcome, RZ_EXIT_LOST,
                          "all nodes of the job are lost; the last one, node %u, was cut off: %s",
                          node, why);
    } else {
        rz_outcome_decide(&referee->outcome, RZ_EXIT_LOST, "all nodes of the job are lost");
    }
}

void rz_referee_timed_out(struct rz_referee *referee, rz_time timeout)
{
    rz_outcome_decide(&referee->outcome, RZ_EXIT_TIMEOUT,
                      "the job was ended after --timeout (%.3g s)", (double)timeout / 1e9);
}
