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

/* The rules are those of rzrun --hang-report (launch/waits_page.c). */

/* Whether both are in collective operations of one communicator. */
static bool is_same_sequence(const struct rz_top_rank *a, const struct rz_top_rank *b)
{
    return a->operation > 0 && b->operation > 0 && strcmp(a->context, b->context) == 0;
}

static bool is_same_operation(const struct rz_top_rank *a, const struct rz_top_rank *b)
{
    return is_same_sequence(a, b) && a->operation == b->operation;
}

/* In one call only: of two threads one may free the other. */
static bool waits_in_one_call(const struct rz_top_rank *rank)
{
    return waits_now(rank) && rank->n_waits == 1;
}

/* The index of the rank that this one waits for; n_ranks: none, or it is in a later operation of
 * the communicator: what it had to send for this one is on its way. */
static uint32_t next_of(const struct rz_top *top, uint32_t i)
{
    const struct rz_top_rank *rank = &top->ranks[i];
    const struct rz_top_rank *peer = waits_in_one_call(rank) ? rz_top_rank(top, rank->peer) : NULL;
    bool follows = peer && waits_in_one_call(peer) &&
                   !(is_same_sequence(rank, peer) && peer->operation > rank->operation);
    return follows ? (uint32_t)(peer - top->ranks) : top->n_ranks;
}

/* The cycle to which the rank at this index belongs. n 0: ranks that wait for each other in one
 * collective operation are none; they wait for one that has not come. */
static struct rz_top_cycle cycle_from(const struct rz_top *top, uint32_t begun)
{
    struct rz_top_cycle cycle = {.first = top->ranks[begun].rank};
    bool apart = false;
    uint32_t at = begun;
    do {
        uint32_t next = next_of(top, at);
        apart |= !is_same_operation(&top->ranks[at], &top->ranks[next]);
        cycle.n++;
        cycle.first = top->ranks[at].rank < cycle.first ? top->ranks[at].rank : cycle.first;
        at = next;
    } while (at != begun);
    cycle.n = apart ? cycle.n : 0;
    return cycle;
}

static void find_cycles(const struct rz_top *top, struct rz_top_waits *waits)
{
    uint32_t *walk = calloc(top->n_ranks + 1, sizeof(*walk)); /* that has been here; 0: none */
    waits->cycles = calloc(top->n_ranks + 1, sizeof(*waits->cycles));
    rz_need_memory(walk && waits->cycles, "for the waits of a job");
    for (uint32_t i = 0; i < top->n_ranks; i++) {
        uint32_t at = i;
        while (at < top->n_ranks && !walk[at]) {
            walk[at] = i + 1;
            at = next_of(top, at);
        }
        if (at >= top->n_ranks || walk[at] != i + 1) {
            continue;
        }
        waits->cycles[waits->n_cycles] = cycle_from(top, at);
        waits->n_cycles += waits->cycles[waits->n_cycles].n > 0;
    }
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
static void cycle_text(const struct rz_top *top, const struct rz_top_cycle *cycle, char *text,
                       size_t max)
{
    const struct rz_top_rank *rank = rz_top_rank(top, cycle->first);
    int used = snprintf(text, max, "rank %u", cycle->first);
    for (uint32_t i = 0; i < cycle->n && rank && (size_t)used < max; i++) {
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
