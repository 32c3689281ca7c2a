#include "outcome/outcome.h"

#include "base/assert.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

void rz_outcome_open(struct rz_outcome *outcome, uint32_t n_ranks, const uint32_t *placement,
                     uint32_t n_nodes)
{
    *outcome = (struct rz_outcome){.n_ranks = n_ranks};
    outcome->ranks = calloc(n_ranks, sizeof *outcome->ranks);
    outcome->nodes_noted = calloc(n_nodes, sizeof *outcome->nodes_noted);
    outcome->cut_off = calloc(n_nodes, sizeof *outcome->cut_off);
    outcome->out = calloc(n_nodes, sizeof *outcome->out);
    outcome->refused = calloc(n_nodes, sizeof *outcome->refused);
    rz_assert(outcome->ranks && outcome->nodes_noted && outcome->cut_off && outcome->out &&
              outcome->refused);
    outcome->n_nodes = n_nodes;
    for (uint32_t i = 0; i < n_ranks; i++)
        outcome->ranks[i].node = placement[i];
}

void rz_outcome_clear(struct rz_outcome *outcome)
{
    free(outcome->ranks);
    free(outcome->nodes_noted);
    for (uint32_t i = 0; i < outcome->n_nodes; i++)
        free(outcome->cut_off[i]);
    free(outcome->cut_off);
    free(outcome->out);
    free(outcome->refused);
    outcome->ranks = NULL;
    outcome->nodes_noted = NULL;
}

void rz_outcome_started(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation,
                        uint32_t node)
{
    struct rz_rank *r = &outcome->ranks[rank];
    if (incarnation <= r->incarnation)
        return;
    *r = (struct rz_rank){
        .state = RZ_RANK_RUNNING, .incarnation = incarnation, .node = node, .noted = r->noted};
}

void rz_outcome_exited(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation,
                       int wait_status, bool clean)
{
    struct rz_rank *r = &outcome->ranks[rank];
    if (incarnation != r->incarnation || r->state != RZ_RANK_RUNNING)
        return;
    r->order = ++outcome->ends;
    if (r->hung) {
        r->code = 128 + SIGKILL;
        snprintf(r->cause, sizeof r->cause,
                 "rank %u made no progress for longer than --hang-timeout, and was killed", rank);
    } else if (WIFSIGNALED(wait_status)) {
        r->code = 128 + WTERMSIG(wait_status);
        snprintf(r->cause, sizeof r->cause, "rank %u was killed by signal %d (%s)", rank,
                 WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
    } else {
        r->code = WEXITSTATUS(wait_status);
        snprintf(r->cause, sizeof r->cause, "rank %u exited with status %d%s", rank, r->code,
                 clean ? "" : " before MPI_Finalize");
        if (!clean && r->code == 0)
            r->code = 1; /* an end before MPI_Finalize is a death whatever its status says */
    }
    r->state = clean ? RZ_RANK_ENDED : RZ_RANK_DIED;
    r->dying |= !clean && !outcome->decided;
}

void rz_outcome_dying(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation)
{
    struct rz_rank *r = &outcome->ranks[rank];
    r->dying |= incarnation == r->incarnation && !outcome->decided;
}

void rz_outcome_hung(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation)
{
    struct rz_rank *r = &outcome->ranks[rank];
    rz_outcome_dying(outcome, rank, incarnation);
    r->hung |= incarnation == r->incarnation;
}

void rz_outcome_cut_off(struct rz_outcome *outcome, uint32_t node, const char *why)
{
    free(outcome->cut_off[node]);
    outcome->cut_off[node] = strdup(why);
}

void rz_outcome_node_lost(struct rz_outcome *outcome, uint32_t node)
{
    for (uint32_t i = 0; i < outcome->n_ranks; i++) {
        struct rz_rank *r = &outcome->ranks[i];
        if (r->node != node || r->state == RZ_RANK_ENDED || r->state == RZ_RANK_DIED)
            continue;
        r->state = RZ_RANK_DIED;
        r->dying |= !outcome->decided;
        r->order = ++outcome->ends;
        r->code = 128 + 9;
        const char *why = outcome->cut_off[node];
        snprintf(r->cause, sizeof r->cause, "rank %u was lost with node %u%s%s", i, node,
                 why ? ", which was cut off: " : "", why ? why : "");
    }
}

void rz_outcome_noted(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation)
{
    struct rz_rank *r = &outcome->ranks[rank];
    if (incarnation > r->noted)
        r->noted = incarnation;
}

void rz_outcome_node_noted(struct rz_outcome *outcome, uint32_t node)
{
    outcome->nodes_noted[node] = true;
}

void rz_outcome_decide(struct rz_outcome *outcome, int code, const char *format, ...)
{
    if (outcome->decided)
        return;
    outcome->decided = true;
    outcome->code = code;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(outcome->cause, sizeof outcome->cause, format, arguments);
    va_end(arguments);
}

void rz_outcome_aborted(struct rz_outcome *outcome, uint32_t rank, uint32_t code,
                        const char *reason)
{
    outcome->aborted |= !outcome->decided;
    rz_outcome_decide(outcome, (int)(code & 0xFF ? code & 0xFF : 1), "rank %u ended the job: %s",
                      rank, reason);
}

bool rz_outcome_complete(const struct rz_outcome *outcome)
{
    for (uint32_t i = 0; i < outcome->n_ranks; i++) {
        const struct rz_rank *r = &outcome->ranks[i];
        bool stays_dead = r->state == RZ_RANK_DIED &&
                          (r->noted >= r->incarnation || outcome->nodes_noted[r->node]);
        if (r->state != RZ_RANK_ENDED && !stays_dead)
            return false;
    }
    return true;
}

/* The first end that was not good; among those that nothing had preceded, where `dying`. */
static const struct rz_rank *first_end(const struct rz_outcome *outcome, bool dying)
{
    const struct rz_rank *first = NULL;
    for (uint32_t i = 0; i < outcome->n_ranks; i++) {
        const struct rz_rank *r = &outcome->ranks[i];
        if (r->code != 0 && (r->dying || !dying) && (!first || r->order < first->order))
            first = r;
    }
    return first;
}

int rz_outcome_status(const struct rz_outcome *outcome, const char **cause)
{
    /* A survivor that gives up because a rank is dead is not what ended the job. */
    const struct rz_rank *first = NULL;
    if (!outcome->decided || outcome->aborted)
        first = first_end(outcome, outcome->aborted);
    if (first) {
        *cause = first->cause;
        return first->code;
    }
    *cause = outcome->decided && outcome->cause[0] ? outcome->cause : NULL;
    return outcome->decided ? outcome->code : 0;
}
