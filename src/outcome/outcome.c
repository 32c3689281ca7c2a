/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the state of each slot and node from the daemons' reports, finds the first cause of the
 * job's end, and computes the exit status from it. */
#include "outcome/outcome.h"

#include "base/no_memory.h"
#include "outcome/exit_codes.h"
#include "wire/slots.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define NAME_BYTES 40
#define LAST_FAILURE "; the last failure: "

void rz_outcome_open(struct rz_outcome *outcome, uint32_t n_ranks, const uint32_t *placement,
                     uint32_t n_nodes)
{
    *outcome = (struct rz_outcome){.n_ranks = n_ranks, .n_slots = rz_slots_of(n_ranks)};
    outcome->ranks = calloc(outcome->n_slots, sizeof(*outcome->ranks));
    outcome->nodes_noted = calloc(n_nodes, sizeof(*outcome->nodes_noted));
    outcome->cut_off = calloc(n_nodes, sizeof(*outcome->cut_off));
    outcome->silent = calloc(n_nodes, sizeof(*outcome->silent));
    outcome->out = calloc(n_nodes, sizeof(*outcome->out));
    outcome->refused = calloc(n_nodes, sizeof(*outcome->refused));
    rz_need_memory(outcome->ranks && outcome->nodes_noted && outcome->cut_off && outcome->silent &&
                       outcome->out && outcome->refused,
                   "for the outcome of the job");
    outcome->n_nodes = n_nodes;
    for (uint32_t i = 0; i < n_ranks; i++) {
        outcome->ranks[i].node = placement[i];
    }
    for (uint32_t i = n_ranks; i < outcome->n_slots; i++) {
        outcome->ranks[i].state = RZ_RANK_EMPTY;
    }
}

void rz_outcome_clear(struct rz_outcome *outcome)
{
    free(outcome->ranks);
    free(outcome->past);
    free(outcome->nodes_noted);
    for (uint32_t i = 0; i < outcome->n_nodes; i++) {
        free(outcome->cut_off[i]);
    }
    free(outcome->cut_off);
    free(outcome->silent);
    free(outcome->out);
    free(outcome->refused);
    outcome->ranks = outcome->past = NULL;
    outcome->nodes_noted = NULL;
}

const char *rz_outcome_name(const struct rz_outcome *outcome, uint32_t slot, char *name,
                            size_t bytes)
{
    snprintf(name, bytes, slot < outcome->n_ranks ? "rank %u" : "process %u (spawned)", slot);
    return name;
}

/* Whether reports about incarnations up to `told` concern this process. For a process that never
 * started (incarnation 0) that is so if there was no report about the slot at all. */
static bool covers(uint32_t told, const struct rz_rank *r)
{
    return told > 0 && told >= r->incarnation;
}

static bool outcome_any_ended(const struct rz_outcome *outcome)
{
    bool any = outcome->n_slots == 0;
    for (uint32_t i = 0; i < outcome->n_slots && !any; i++) {
        any = outcome->ranks[i].state == RZ_RANK_ENDED;
    }
    return any;
}

static bool spoils(const struct rz_outcome *outcome, const struct rz_rank *r)
{
    bool failed = r->state == RZ_RANK_FAILED && !r->abort_code;
    bool known = failed && covers(r->acknowledged, r);
    return r->code != 0 && !known && !(failed && outcome->accepts && outcome_any_ended(outcome));
}

/* Keeps the bad end of the slot's previous process, which must not be forgotten. */
static void keep_past(struct rz_outcome *outcome, const struct rz_rank *r)
{
    outcome->past = realloc(outcome->past, (outcome->n_past + 1) * sizeof(*outcome->past));
    rz_need_memory(outcome->past, "for the outcome of the job");
    outcome->past[outcome->n_past++] = *r;
}

static void begin(struct rz_outcome *outcome, struct rz_rank *r, enum rz_rank_state state,
                  uint32_t incarnation, uint32_t node)
{
    if (r->state == RZ_RANK_FAILED && r->order > outcome->replaced.order) {
        outcome->replaced = *r;
    }
    *r = (struct rz_rank){.state = state,
                          .incarnation = incarnation,
                          .node = node,
                          .noted = r->noted,
                          .acknowledged = r->acknowledged};
}

/* Whether the process was on a node without which the job continues. That node had decided alone,
 * and numbered its incarnations as the others do. */
static bool begins_elsewhere(const struct rz_outcome *outcome, const struct rz_rank *r,
                             uint32_t node)
{
    bool lost = r->state == RZ_RANK_FAILED && r->with_node;
    return r->node != node && !outcome->out[node] && (lost || outcome->out[r->node]);
}

void rz_outcome_started(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation,
                        uint32_t node)
{
    struct rz_rank *r = &outcome->ranks[rank];
    bool awaited = r->state == RZ_RANK_WAITED_FOR || begins_elsewhere(outcome, r, node);
    if (incarnation > r->incarnation && r->state == RZ_RANK_ENDED && spoils(outcome, r)) {
        keep_past(outcome, r);
    }
    if (incarnation > r->incarnation || (incarnation == r->incarnation && awaited)) {
        begin(outcome, r, RZ_RANK_RUNNING, incarnation, node);
    }
}

void rz_outcome_spawned(struct rz_outcome *outcome, uint32_t slot, uint32_t incarnation,
                        uint32_t node, bool spawned)
{
    struct rz_rank *r = &outcome->ranks[slot];
    if (incarnation < r->incarnation ||
        (incarnation == r->incarnation && !begins_elsewhere(outcome, r, node))) {
        return;
    }
    if (spawned && spoils(outcome, r)) {
        keep_past(outcome, r);
    }
    begin(outcome, r, RZ_RANK_WAITED_FOR, incarnation, node);
}

void rz_outcome_acknowledged(struct rz_outcome *outcome, uint32_t slot, uint32_t incarnation)
{
    struct rz_rank *r = &outcome->ranks[slot];
    if (incarnation > r->acknowledged) {
        r->acknowledged = incarnation;
    }
}

void rz_outcome_ended_by(struct rz_outcome *outcome, uint32_t slot, uint32_t incarnation,
                         uint32_t code, const char *by)
{
    char name[NAME_BYTES];
    struct rz_rank *r = &outcome->ranks[slot];
    bool lives = r->state == RZ_RANK_RUNNING || r->state == RZ_RANK_WAITED_FOR;
    if (incarnation != r->incarnation || !lives || r->abort_code || code == 0) {
        return;
    }
    r->abort_code = code & 0xFF ? (int)(code & 0xFF) : 1;
    snprintf(r->cause, sizeof(r->cause), "%s was ended by MPI_Abort: %s",
             rz_outcome_name(outcome, slot, name, sizeof(name)), by);
}

/* The last failure that was not caused by the end of the job; NULL: none was reported. */
static const struct rz_rank *last_failure(const struct rz_outcome *outcome)
{
    const struct rz_rank *last = outcome->replaced.order > 0 ? &outcome->replaced : NULL;
    for (uint32_t i = 0; i < outcome->n_slots; i++) {
        const struct rz_rank *r = &outcome->ranks[i];
        bool is_failure = r->state == RZ_RANK_FAILED && (r->failing || r->seen);
        if (is_failure && (!last || r->order > last->order)) {
            last = r;
        }
    }
    return last;
}

static void name_last_failure(struct rz_outcome *outcome)
{
    const struct rz_rank *last = outcome->worn_out ? last_failure(outcome) : NULL;
    char *behind = strstr(outcome->cause, LAST_FAILURE), node[32] = "";
    if (!last) {
        return;
    }
    size_t n = behind ? (size_t)(behind - outcome->cause) : strlen(outcome->cause);
    if (!last->with_node) {
        snprintf(node, sizeof(node), " on node %u", last->node);
    }
    snprintf(outcome->cause + n, sizeof(outcome->cause) - n, LAST_FAILURE "%s%s", last->cause,
             node);
}

void rz_outcome_starved(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation)
{
    if (incarnation == outcome->ranks[rank].incarnation) {
        outcome->ranks[rank].starved = true;
    }
}

void rz_outcome_exited(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation,
                       int wait_status, bool clean)
{
    struct rz_rank *r = &outcome->ranks[rank];
    bool awaited = r->state == RZ_RANK_WAITED_FOR && r->incarnation > 0; /* it never ran */
    char name[NAME_BYTES];
    if (incarnation != r->incarnation || (r->state != RZ_RANK_RUNNING && !awaited)) {
        return;
    }
    if (!r->seen) {
        r->order = ++outcome->ends;
    }
    rz_outcome_name(outcome, rank, name, sizeof(name));
    if (r->abort_code) {
        r->code = r->abort_code;
    } else if (r->hung) {
        r->code = 128 + SIGKILL;
        snprintf(r->cause, sizeof(r->cause),
                 "%s made no progress for longer than --hang-timeout, and was killed", name);
    } else if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL &&
               outcome->cut_off[r->node]) {
        /* Its own daemon caused it, while the daemon ended. */
        r->code = 128 + SIGKILL;
        r->with_node = true;
        snprintf(r->cause, sizeof(r->cause), "%s was ended with node %u, which was cut off: %s",
                 name, r->node, outcome->cut_off[r->node]);
    } else if (WIFSIGNALED(wait_status)) {
        r->code = 128 + WTERMSIG(wait_status);
        snprintf(r->cause, sizeof(r->cause), "%s was killed by signal %d (%s)%s", name,
                 WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)),
                 r->starved && WTERMSIG(wait_status) == SIGKILL
                     ? ", when the kernel killed a process for lack of memory"
                     : "");
    } else {
        r->code = WEXITSTATUS(wait_status);
        snprintf(r->cause, sizeof(r->cause), "%s exited with status %d%s", name, r->code,
                 clean ? "" : " before MPI_Finalize");
        if (!clean && r->code == 0) {
            r->code = 1; /* an end before MPI_Finalize is a failure whatever the status is */
        }
    }
    r->state = clean ? RZ_RANK_ENDED : RZ_RANK_FAILED;
    r->failing |= !clean && !outcome->decided;
    name_last_failure(outcome);
}

void rz_outcome_failing(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation)
{
    struct rz_rank *r = &outcome->ranks[rank];
    if (incarnation != r->incarnation || r->seen) {
        return;
    }
    r->failing |= !outcome->decided;
    r->seen = true;
    r->order = ++outcome->ends; /* exits are reported later, in any order */
}

void rz_outcome_hung(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation)
{
    struct rz_rank *r = &outcome->ranks[rank];
    rz_outcome_failing(outcome, rank, incarnation);
    r->hung |= incarnation == r->incarnation;
}

void rz_outcome_failure_known(struct rz_outcome *outcome)
{
    outcome->failure_known |= !outcome->decided;
}

void rz_outcome_cut_off(struct rz_outcome *outcome, uint32_t node, const char *why)
{
    free(outcome->cut_off[node]);
    outcome->cut_off[node] = strdup(why);
}

void rz_outcome_silent(struct rz_outcome *outcome, uint32_t node)
{
    outcome->silent[node] = true;
}

void rz_outcome_node_lost(struct rz_outcome *outcome, uint32_t node)
{
    for (uint32_t i = 0; i < outcome->n_slots; i++) {
        struct rz_rank *r = &outcome->ranks[i];
        char name[NAME_BYTES];
        if (r->node != node || (r->state != RZ_RANK_WAITED_FOR && r->state != RZ_RANK_RUNNING)) {
            continue;
        }
        r->state = RZ_RANK_FAILED;
        r->failing |= !outcome->decided;
        r->order = ++outcome->ends;
        r->with_node = true;
        r->code = r->abort_code ? r->abort_code : 128 + 9;
        const char *why = outcome->cut_off[node];
        if (!r->abort_code) {
            snprintf(r->cause, sizeof(r->cause), "%s was lost with node %u%s%s",
                     rz_outcome_name(outcome, i, name, sizeof(name)), node,
                     why                     ? ", which was cut off: "
                     : outcome->silent[node] ? ", which was silent (--hb-timeout)"
                                             : "",
                     why ? why : "");
        }
    }
}

void rz_outcome_noted(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation)
{
    struct rz_rank *r = &outcome->ranks[rank];
    if (incarnation > r->noted) {
        r->noted = incarnation;
    }
}

void rz_outcome_node_noted(struct rz_outcome *outcome, uint32_t node)
{
    outcome->nodes_noted[node] = true;
}

void rz_outcome_decide(struct rz_outcome *outcome, int code, const char *format, ...)
{
    if (outcome->decided) {
        return;
    }
    outcome->decided = true;
    outcome->code = code;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(outcome->cause, sizeof(outcome->cause), format, arguments);
    va_end(arguments);
}

void rz_outcome_worn_out(struct rz_outcome *outcome, int code, const char *reason)
{
    outcome->worn_out |= !outcome->decided;
    rz_outcome_decide(outcome, code, "%s", reason);
    name_last_failure(outcome);
}

void rz_outcome_aborted(struct rz_outcome *outcome, uint32_t rank, uint32_t code,
                        const char *reason)
{
    char name[NAME_BYTES];
    outcome->aborted |= !outcome->decided;
    rz_outcome_decide(outcome, (int)(code & 0xFF ? code & 0xFF : 1), "%s ended the job: %s",
                      rz_outcome_name(outcome, rank, name, sizeof(name)), reason);
}

bool rz_outcome_complete(const struct rz_outcome *outcome)
{
    for (uint32_t i = 0; i < outcome->n_slots; i++) {
        const struct rz_rank *r = &outcome->ranks[i];
        bool stays_failed =
            r->state == RZ_RANK_FAILED && (covers(r->noted, r) || outcome->nodes_noted[r->node]);
        if (r->state != RZ_RANK_ENDED && r->state != RZ_RANK_EMPTY && !stays_failed) {
            return false;
        }
    }
    return true;
}

bool rz_outcome_ended_by_itself(const struct rz_outcome *outcome)
{
    return !outcome->decided && rz_outcome_complete(outcome);
}

/* The first bad end. failing: only among processes whose failure was seen before any end of the
 * job. */
static const struct rz_rank *first_end(const struct rz_outcome *outcome, bool failing)
{
    const struct rz_rank *first = NULL;
    for (uint32_t i = 0; i < outcome->n_slots + outcome->n_past; i++) {
        const struct rz_rank *r =
            i < outcome->n_slots ? &outcome->ranks[i] : &outcome->past[i - outcome->n_slots];
        if (spoils(outcome, r) && (r->failing || !failing) && (!first || r->order < first->order)) {
            first = r;
        }
    }
    return first;
}

bool rz_outcome_all_failed(const struct rz_outcome *outcome)
{
    for (uint32_t rank = 0; rank < outcome->n_ranks; rank++) {
        if (outcome->ranks[rank].state != RZ_RANK_FAILED) {
            return false;
        }
    }
    return !outcome->any_left;
}

void rz_outcome_left(struct rz_outcome *outcome)
{
    outcome->any_left = true;
    for (uint32_t i = 0; i < outcome->n_slots; i++) {
        const struct rz_rank *r = &outcome->ranks[i];
        bool failed =
            i < outcome->n_ranks && (covers(r->noted, r) || outcome->nodes_noted[r->node]);
        bool spawned = i >= outcome->n_ranks &&
                       (r->state == RZ_RANK_WAITED_FOR || r->state == RZ_RANK_RUNNING);
        if (failed || spawned) {
            return;
        }
    }
    outcome->all_left = true;
}

bool rz_outcome_by_failure(const struct rz_outcome *outcome)
{
    if (outcome->all_left) {
        return false;
    }
    if (outcome->decided && !outcome->aborted) {
        return outcome->by_failure;
    }
    if (outcome->aborted && outcome->failure_known) {
        return true; /* the reason for which the surviving process gave up */
    }
    for (uint32_t i = 0; outcome->aborted && i < outcome->n_slots; i++) {
        if ((outcome->ranks[i].seen || outcome->ranks[i].failing) &&
            !outcome->ranks[i].abort_code) {
            return true; /* also such a reason; the processes of a failed node are not observed */
        }
    }
    const struct rz_rank *first = outcome->aborted ? NULL : first_end(outcome, false);
    return first && first->state == RZ_RANK_FAILED && !first->abort_code;
}

/* The job succeeded if every rank has ended in order, or has failed and a process that ended in
 * order knew of it. A rank whose end was never reported is no success, whatever the reason. */
static bool has_succeeded(const struct rz_outcome *outcome)
{
    for (uint32_t i = 0; i < outcome->n_slots; i++) {
        enum rz_rank_state state = outcome->ranks[i].state;
        if (state == RZ_RANK_WAITED_FOR || state == RZ_RANK_RUNNING) {
            return false;
        }
    }
    return outcome_any_ended(outcome);
}

int rz_outcome_status(const struct rz_outcome *outcome, const char **cause)
{
    /* A surviving process that gives up because a rank has failed is not the cause of the job's
     * end. */
    const struct rz_rank *first = NULL;
    if (!outcome->decided || outcome->aborted) {
        first = first_end(outcome, outcome->aborted);
    }
    if (first) {
        *cause = first->cause;
        return first->code;
    }
    if (!outcome->decided && !has_succeeded(outcome)) {
        *cause = "the job ended, and some of its processes are not known to have ended";
        return RZ_EXIT_LOST;
    }
    *cause = outcome->decided && outcome->cause[0] ? outcome->cause : NULL;
    return outcome->decided ? outcome->code : 0;
}
