/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorts the waits of a job by what they wait for, follows them to cycles, and shows both: on a page
 * of rztop, and in a hang report. */
#include "view/top_waits.h"

#include "base/no_memory.h"
#include "view/top_screen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Waiters ---- */

/* Ranks that wait for the same. */
static int by_wait(const struct rz_top_rank *l, const struct rz_top_rank *r)
{
    int order = strcmp(l->call, r->call);
    order = order ? order : strcmp(l->communicator, r->communicator);
    return order ? order : (l->peer > r->peer) - (l->peer < r->peer);
}

static int by_wait_and_rank(const void *a, const void *b)
{
    const struct rz_top_rank *const *l = a, *const *r = b;
    int order = by_wait(*l, *r);
    return order ? order : ((*l)->rank > (*r)->rank) - ((*l)->rank < (*r)->rank);
}

static int longest_first(const void *a, const void *b)
{
    const struct rz_top_waiters *l = a, *r = b;
    return (l->longest_s < r->longest_s) - (l->longest_s > r->longest_s);
}

static bool waits_now(const struct rz_top_rank *rank)
{
    return rank->call[0] && rank->state != RZ_TOP_FAILED && rank->state != RZ_TOP_ENDED;
}

static void find_waiters(const struct rz_top *top, struct rz_top_waits *waits)
{
    const struct rz_top_rank **ranks = calloc(top->n_ranks + 1, sizeof(*ranks));
    uint32_t n = 0;
    rz_need_memory(ranks, "for the waits of a job");
    for (uint32_t i = 0; i < top->n_ranks; i++) {
        if (waits_now(&top->ranks[i])) {
            ranks[n++] = &top->ranks[i];
        }
    }
    qsort(ranks, n, sizeof(*ranks), by_wait_and_rank);
    waits->waiters = calloc(n + 1, sizeof(*waits->waiters));
    rz_need_memory(waits->waiters, "for the waits of a job");
    for (uint32_t i = 0, j; i < n; i = j) {
        struct rz_top_waiters *one = &waits->waiters[waits->n++];
        one->one = ranks[i];
        for (j = i; j < n && by_wait(ranks[i], ranks[j]) == 0; j++) {
            one->longest_s =
                ranks[j]->waits_s > one->longest_s ? ranks[j]->waits_s : one->longest_s;
        }
        one->n = j - i;
        rz_top_ranks_text(&ranks[i], one->n, one->ranks, sizeof(one->ranks));
    }
    qsort(waits->waiters, waits->n, sizeof(*waits->waiters), longest_first);
    free(ranks);
}

/* ---- Cycles ---- */

/* In one call only (base/wait_cycle.h). */
static bool waits_in_one_call(const struct rz_top_rank *rank)
{
    return waits_now(rank) && rank->n_waits == 1;
}

static struct rz_wait_node node_of(const struct rz_top *top, const struct rz_top_rank *rank)
{
    const struct rz_top_rank *peer = waits_in_one_call(rank) ? rz_top_rank(top, rank->peer) : NULL;
    bool follows = peer && waits_in_one_call(peer);
    return (struct rz_wait_node){.peer = follows ? (size_t)(peer - top->ranks) : RZ_WAIT_NONE,
                                 .rank = rank->rank,
                                 .sequence = strtoull(rank->context, NULL, 16),
                                 .operation = rank->operation};
}

static void find_cycles(const struct rz_top *top, struct rz_top_waits *waits)
{
    size_t n = top->n_ranks;
    struct rz_wait_node *nodes = calloc(n + 1, sizeof(*nodes));
    size_t *walk = calloc(n + 1, sizeof(*walk));
    waits->cycles = calloc(n + 1, sizeof(*waits->cycles));
    rz_need_memory(nodes && walk && waits->cycles, "for the waits of a job");
    for (size_t i = 0; i < n; i++) {
        nodes[i] = node_of(top, &top->ranks[i]);
    }
    waits->n_cycles = (uint32_t)rz_wait_cycles(nodes, n, walk, waits->cycles);
    free(nodes);
    free(walk);
}

void rz_top_waits_find(const struct rz_top *top, struct rz_top_waits *waits)
{
    *waits = (struct rz_top_waits){.n = 0};
    find_waiters(top, waits);
    find_cycles(top, waits);
}

void rz_top_waits_clear(struct rz_top_waits *waits)
{
    free(waits->waiters);
    free(waits->cycles);
    *waits = (struct rz_top_waits){.n = 0};
}

/* "rank 1 -> 2 -> 1": 1 waits for 2, ...; at most max bytes. */
static void cycle_text(const struct rz_top *top, const struct rz_wait_cycle *cycle, char *text,
                       size_t max)
{
    const struct rz_top_rank *rank = &top->ranks[cycle->first];
    int used = snprintf(text, max, "rank %u", rank->rank);
    for (size_t i = 0; i < cycle->n && rank && (size_t)used < max; i++) {
        used += snprintf(text + used, max - (size_t)used, " -> %" PRId64, rank->peer);
        rank = rz_top_rank(top, rank->peer);
    }
}

/* ---- Text ---- */

static void peer_text(const struct rz_top *top, const struct rz_top_rank *waiter, char *text,
                      size_t max)
{
    const struct rz_top_rank *peer = rz_top_rank(top, waiter->peer);
    if (waiter->peer == RZ_TOP_PEER_ANY) {
        snprintf(text, max, " for any rank");
    } else if (waiter->peer >= 0) {
        snprintf(text, max, " for rank %" PRId64 "%s", waiter->peer,
                 peer && peer->state == RZ_TOP_FAILED  ? ", which has failed"
                 : peer && peer->state == RZ_TOP_ENDED ? ", which has ended"
                 : peer && !waits_now(peer)            ? ", which computes"
                                                       : "");
    } else {
        text[0] = 0;
    }
}

void rz_top_draw_waits(const struct rz_top *top, struct rz_top_view *view,
                       struct rz_top_screen *screen, struct rz_top_lines lines)
{
    struct rz_top_waits waits;
    uint32_t row = lines.from, room = lines.until - lines.from;
    rz_top_waits_find(top, &waits);
    uint32_t n = waits.n + waits.n_cycles, max = n > room ? n - room : 0;
    view->first = view->first > max ? max : view->first;
    if (n == 0) {
        rz_top_put(screen, row, 1, RZ_TOP_FAINT, "no rank waits in an MPI call");
    }
    for (uint32_t i = view->first; i < n && row < lines.until; i++, row++) {
        char text[300], age[32];
        if (i < waits.n_cycles) {
            cycle_text(top, &waits.cycles[i], text, sizeof(text));
            rz_top_put(screen, row, 1, RZ_TOP_BAD, "cycle of waits: %s", text);
            continue;
        }
        const struct rz_top_waiters *one = &waits.waiters[i - waits.n_cycles];
        peer_text(top, one->one, text, sizeof(text));
        rz_top_age_text(one->longest_s, age, sizeof(age));
        uint32_t at = rz_top_put(screen, row, 1, RZ_TOP_PLAIN, "%8s  %-16s %5u  ", age,
                                 one->one->call, one->n);
        rz_top_put(screen, row, at,
                   one->longest_s >= RZ_TOP_WAITS_AFTER_S ? RZ_TOP_SLOW : RZ_TOP_FAINT,
                   "rank%s %s%s", one->n == 1 ? "" : "s", one->ranks, text);
    }
    rz_top_waits_clear(&waits);
}

void rz_top_waits_report(const struct rz_top *top, FILE *out)
{
    struct rz_top_waits waits;
    char text[4096], age[32];
    rz_top_waits_find(top, &waits);
    fprintf(out, "hang report of job %s (%s), %.1f s after its begin, epoch %u, %s\n", top->job,
            top->program, top->age_s, top->epoch, top->phase);
    fprintf(out, "\nWaits, the longest first: call, communicator, ranks\n");
    for (uint32_t i = 0; i < waits.n; i++) {
        const struct rz_top_waiters *one = &waits.waiters[i];
        peer_text(top, one->one, text, sizeof(text));
        fprintf(out, "  %.1f s  %s on %s: rank%s %s%s\n", one->longest_s, one->one->call,
                one->one->communicator, one->n == 1 ? "" : "s", one->ranks, text);
    }
    fprintf(out, "\nCycles at this moment (a -> b: a waits for b):%s\n",
            waits.n_cycles > 0 ? "" : " none");
    for (uint32_t i = 0; i < waits.n_cycles; i++) {
        cycle_text(top, &waits.cycles[i], text, sizeof(text));
        fprintf(out, "  %s\n", text);
    }
    fprintf(out, "\nRanks\n");
    for (uint32_t i = 0; i < top->n_ranks; i++) {
        const struct rz_top_rank *rank = &top->ranks[i];
        fprintf(out, "  rank %u, incarnation %u, node %u, ", rank->rank, rank->incarnation,
                rank->node);
        if (rank->pid > 0) {
            fprintf(out, "process %" PRId64 ", ", rank->pid);
        }
        fputs(rank->state == RZ_TOP_RUNS && !waits_now(rank) && rank->pid > 0
                  ? "computes"
                  : rz_top_state_name(rank->state),
              out);
        if (rank->marked) {
            fprintf(out, ", iteration %" PRIu64, rank->iteration);
        }
        if (waits_now(rank)) {
            rz_top_age_text(rank->waits_s, age, sizeof(age));
            peer_text(top, rank, text, sizeof(text));
            fprintf(out, ", in %s for %s%s", rank->call, age, text);
        }
        fputc('\n', out);
    }
    rz_top_waits_clear(&waits);
}
