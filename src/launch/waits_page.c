/* SPDX-License-Identifier: BSD-3-Clause */
/* The page that shows which processes wait for which: it sorts the waits by operation, merges equal
 * ones, and looks for messages that do not arrive, and for cycles. */
#include "launch/waits_page.h"

#include "base/no_memory.h"
#include "base/printable.h"
#include "base/wait_cycle.h"
#include "wire/cursor.h"
#include "wire/message_balance.h"

#include <stdlib.h>
#include <string.h>

#define APART_MAX 8

/* A process that has waited for so long has shown what it had handed over before: it shows that
 * before a sleep (wire/wait_text.h), and no sleep is longer than 100 ms. */
#define SHOWN_NS (5 * RZ_WAIT_SHOWN_EVERY)

void rz_waits_page_add(struct rz_waits_page *page, uint32_t node,
                       const struct rz_launch_waiting *told)
{
    if (told->state >= RZ_WAITING_STATE_COUNT) {
        return;
    }
    if (page->n == page->max) {
        page->max = page->max ? 2 * page->max : 64;
        page->entries = realloc(page->entries, page->max * sizeof(*page->entries));
        rz_need_memory(page->entries, "for the calls that wait");
    }
    struct rz_waits_entry *entry = &page->entries[page->n++];
    *entry = (struct rz_waits_entry){.rank = told->rank,
                                     .node = node,
                                     .pid = told->pid,
                                     .state = (enum rz_waiting_state)told->state,
                                     .text = {.context = told->context,
                                              .members = told->members,
                                              .operation = told->operation,
                                              .peer = told->peer,
                                              .tag = told->tag,
                                              .flags = told->flags},
                                     .for_ns = told->for_ns,
                                     .still_ns = told->still_ns};
    /* A program gives its communicators any name, and a daemon of another user says what it likes.
     */
    snprintf(entry->text.call, sizeof(entry->text.call), "%s", told->call);
    snprintf(entry->text.name, sizeof(entry->text.name), "%s", told->communicator);
    rz_printable(entry->text.call, strlen(entry->text.call), "");
    rz_printable(entry->text.name, strlen(entry->text.name), "");
}

void rz_waits_page_clear(struct rz_waits_page *page)
{
    free(page->entries);
    free(page->balance);
    *page = (struct rz_waits_page){0};
}

uint8_t *rz_waits_page_ask(const struct rz_waits_page *first, struct rz_waits_page *page,
                           uint32_t *bytes)
{
    uint32_t n = 0;
    for (size_t i = 0; i < first->n; i++) {
        n = first->entries[i].rank >= n ? first->entries[i].rank + 1 : n;
    }
    uint8_t *bits = calloc(n / 8 + 1, 1);
    page->balance = calloc((size_t)n + 1, sizeof(*page->balance));
    rz_need_memory(bits && page->balance, "for the messages that are under way");
    page->n_balance = n;
    for (size_t i = 0; i < first->n; i++) {
        const struct rz_waits_entry *entry = &first->entries[i];
        if (entry->state == RZ_WAITING_IN_CALL) {
            bits[entry->rank / 8] |= (uint8_t)(1u << entry->rank % 8);
        }
    }
    *bytes = n / 8 + 1;
    return bits;
}

void rz_waits_page_under_way(struct rz_waits_page *page, const struct rz_launch_under_way *told)
{
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, told->balance, told->balance_length);
    for (uint32_t i = 0; page->balance && i < told->balance_length / RZ_BALANCE_ENTRY_BYTES; i++) {
        uint32_t slot = rz_wire_get_u32(&r);
        uint64_t to = rz_wire_get_u64(&r), from = rz_wire_get_u64(&r);
        if (slot < page->n_balance) {
            struct rz_waits_balance *balance = &page->balance[slot];
            balance->to = (int64_t)((uint64_t)balance->to + to);
            balance->from = (int64_t)((uint64_t)balance->from + from);
        }
    }
}

void rz_waits_page_incomplete(struct rz_waits_page *page)
{
    free(page->balance);
    page->balance = NULL;
    page->n_balance = 0;
}

/* How many messages are under way to that rank, as far as is known. */
static int64_t under_way_to(const struct rz_waits_page *page, uint32_t rank)
{
    return rank < page->n_balance ? page->balance[rank].to : 0;
}

/* ---- order and groups ---- */

static int three_way(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Compares two waits. 0: they are in the same operation, and one line shows both. Waits in
 * point-to-point calls stay separate, unless they wait for the same rank. */
static int by_operation(const struct rz_waits_entry *a, const struct rz_waits_entry *b)
{
    int order = three_way(a->state, b->state);
    if (order == 0 && a->state == RZ_WAITING_IN_CALL) {
        order = three_way(a->text.context, b->text.context);
        order = order ? order : three_way(a->text.operation, b->text.operation);
        order = order ? order : strcmp(a->text.call, b->text.call);
        if (order == 0 && a->text.operation == 0) {
            order = three_way(a->text.peer, b->text.peer);
            order = order ? order : three_way(a->text.tag, b->text.tag);
        }
    }
    return order;
}

static int by_operation_and_rank(const void *left, const void *right)
{
    const struct rz_waits_entry *a = left, *b = right;
    int order = by_operation(a, b);
    return order ? order : three_way(a->rank, b->rank);
}

/* ---- printing ---- */

/* "rank 3", or "ranks 0-2,5". */
static void put_ranks(const struct rz_waits_entry *entries, size_t n, FILE *out)
{
    fputs(n == 1 ? "rank " : "ranks ", out);
    for (size_t i = 0, first; i < n; i++) {
        for (first = i; i + 1 < n && entries[i + 1].rank <= entries[i].rank + 1; i++) {
            ;
        }
        fprintf(out, "%s%u", first > 0 ? "," : "", entries[first].rank);
        if (entries[i].rank > entries[first].rank) {
            fprintf(out, "-%u", entries[i].rank);
        }
    }
}

static bool has_rank(const struct rz_waits_entry *entries, size_t n, uint32_t rank)
{
    for (size_t i = 0; i < n; i++) {
        if (entries[i].rank == rank) {
            return true;
        }
    }
    return false;
}

/* Writes the ranks that these wait for, each once, except those that wait with them. */
static void put_awaited(const struct rz_waits_entry *entries, size_t n, FILE *out)
{
    const char *before = ", for rank ";
    bool others = false;
    for (size_t i = 0; i < n; i++) {
        uint32_t peer = entries[i].text.peer;
        bool again = false;
        for (size_t k = 0; k < i; k++) {
            again |= entries[k].text.peer == peer;
        }
        if (peer == RZ_WAIT_ANY || again || (n > 1 && has_rank(entries, n, peer))) {
            continue;
        }
        fprintf(out, "%s%u", before, peer);
        before = ",";
        others |= entries[i].text.flags & RZ_WAIT_OTHERS;
    }
    if (others) {
        fputs(" or another", out);
    }
}

static void put_waiters(const struct rz_waits_entry *entries, size_t n, FILE *out)
{
    const struct rz_wait_text *text = &entries[0].text;
    rz_time longest = 0;
    for (size_t i = 0; i < n; i++) {
        longest = entries[i].for_ns > longest ? entries[i].for_ns : longest;
    }
    put_ranks(entries, n, out);
    fprintf(out, " %s %.3g s in %s", n == 1 ? "waits" : "wait", (double)longest / 1e9, text->call);
    if (text->name[0]) {
        fprintf(out, " on %s", text->name);
    } else if (text->context) {
        fprintf(out, " on communicator %llx", (unsigned long long)text->context);
    }
    if (text->operation && text->members) {
        fprintf(out, " (%zu of %u are there)", n, text->members);
    }
    if (text->operation) {
        fprintf(out, ", operation %llu", (unsigned long long)text->operation);
    }
    put_awaited(entries, n, out);
    if (text->tag != RZ_WAIT_ANY) {
        fprintf(out, ", tag %u", text->tag);
    }
}

static void put_idle(const struct rz_waits_entry *entries, size_t n, FILE *out)
{
    static const char *const one[] = {[RZ_WAITING_NOT_JOINED] = "has not called MPI_Init",
                                      [RZ_WAITING_COMPUTES] = "computes",
                                      [RZ_WAITING_UNKNOWN] =
                                          "uses another MPI, whose waits are not known here",
                                      [RZ_WAITING_LEFT] = "has left MPI",
                                      [RZ_WAITING_FAILED] = "has failed"};
    static const char *const many[] = {[RZ_WAITING_NOT_JOINED] = "have not called MPI_Init",
                                       [RZ_WAITING_COMPUTES] = "compute",
                                       [RZ_WAITING_UNKNOWN] =
                                           "use another MPI, whose waits are not known here",
                                       [RZ_WAITING_LEFT] = "have left MPI",
                                       [RZ_WAITING_FAILED] = "have failed"};
    put_ranks(entries, n, out);
    if (n == 1) {
        fprintf(out, " (node %u, pid %u)", entries[0].node, entries[0].pid);
    }
    fprintf(out, " %s", (n == 1 ? one : many)[entries[0].state]);
}

/* ---- waits ---- */

/* The wait of a rank, if it waits in one call only: of two threads one may free the other. */
static const struct rz_waits_entry *waiter(const struct rz_waits_page *page, uint32_t rank)
{
    const struct rz_waits_entry *found = NULL;
    for (size_t i = 0; i < page->n; i++) {
        if (page->entries[i].rank == rank && page->entries[i].state == RZ_WAITING_IN_CALL) {
            if (found) {
                return NULL;
            }
            found = &page->entries[i];
        }
    }
    return found;
}

/* The nodes of the page's entries (base/wait_cycle.h); the caller frees them. */
static struct rz_wait_node *nodes_of(const struct rz_waits_page *page)
{
    struct rz_wait_node *nodes = calloc(page->n + 1, sizeof(*nodes));
    rz_need_memory(nodes, "for the waits of a job");
    for (size_t i = 0; i < page->n; i++) {
        const struct rz_waits_entry *entry = &page->entries[i];
        bool alone = entry->state == RZ_WAITING_IN_CALL && waiter(page, entry->rank) == entry &&
                     !(entry->text.flags & RZ_WAIT_OTHERS);
        const struct rz_waits_entry *peer = alone ? waiter(page, entry->text.peer) : NULL;
        nodes[i] =
            (struct rz_wait_node){.peer = peer ? (size_t)(peer - page->entries) : RZ_WAIT_NONE,
                                  .rank = entry->rank,
                                  .sequence = entry->text.context,
                                  .operation = entry->text.operation};
    }
    return nodes;
}

/* Whether this wait was on the earlier page, and has not changed in between. */
static bool lasts(const struct rz_waits_entry *entry, const struct rz_waits_page *earlier,
                  rz_time apart)
{
    const struct rz_wait_text *text = &entry->text;
    if (entry->state == RZ_WAITING_IN_CALL && entry->for_ns < apart) {
        return false;
    }
    for (size_t i = 0; i < earlier->n; i++) {
        const struct rz_waits_entry *was = &earlier->entries[i];
        if (was->rank == entry->rank && was->pid == entry->pid && was->state == entry->state &&
            was->text.context == text->context && was->text.operation == text->operation &&
            was->text.peer == text->peer && was->text.tag == text->tag &&
            strcmp(was->text.call, text->call) == 0) {
            return true;
        }
    }
    return false;
}

bool rz_waits_page_same(const struct rz_waits_page *page, const struct rz_waits_page *earlier,
                        rz_time apart)
{
    for (size_t i = 0; i < page->n; i++) {
        if (!lasts(&page->entries[i], earlier, apart)) {
            return false;
        }
    }
    return page->n == earlier->n;
}

/* ---- messages under way ---- */

/* Messages whose ends have handed over and got nothing for long enough. */
struct under_way {
    struct rz_waits_entry *from, *to; /* the ranks */
    size_t n_from, n_to;
    uint64_t sent, missed; /* messages, counted at these ends */
    rz_time for_ns;
    bool moves; /* others may arrive yet */
};

static const struct rz_waits_entry *entry_of(const struct rz_waits_page *page, uint32_t rank)
{
    for (size_t i = 0; i < page->n; i++) {
        if (page->entries[i].rank == rank) {
            return &page->entries[i];
        }
    }
    return NULL;
}

static void collect_under_way(const struct rz_waits_page *page, const struct rz_waits_page *earlier,
                              rz_time apart, struct under_way *found)
{
    for (uint32_t rank = 0; rank < page->n_balance; rank++) {
        const struct rz_waits_balance *balance = &page->balance[rank];
        if (balance->to <= 0 && balance->from <= 0) {
            continue;
        }
        const struct rz_waits_entry *entry = entry_of(page, rank);
        if (!entry || entry->still_ns < page->least || !lasts(entry, earlier, apart)) {
            found->moves = true;
            continue;
        }
        found->for_ns = entry->still_ns < found->for_ns ? entry->still_ns : found->for_ns;
        if (balance->to > 0) {
            found->to[found->n_to++] = *entry;
            found->missed += (uint64_t)balance->to;
        }
        if (balance->from > 0) {
            found->from[found->n_from++] = *entry;
            found->sent += (uint64_t)balance->from;
        }
    }
}

/* Returns whether there are messages that may arrive yet. */
static bool put_under_way(const struct rz_waits_page *page, const struct rz_waits_page *earlier,
                          rz_time apart, FILE *out)
{
    struct under_way found = {.for_ns = RZ_TIME_NEVER};
    if (!page->balance || !earlier) {
        return false;
    }
    found.from = calloc((size_t)page->n_balance + 1, sizeof(*found.from));
    found.to = calloc((size_t)page->n_balance + 1, sizeof(*found.to));
    rz_need_memory(found.from && found.to, "for the messages that are under way");
    collect_under_way(page, earlier, apart, &found);
    if (found.missed > 0 && found.missed == found.sent) {
        bool one = found.missed == 1;
        fprintf(out, "  %llu message%s from ", (unsigned long long)found.missed, one ? "" : "s");
        put_ranks(found.from, found.n_from, out);
        fputs(" to ", out);
        put_ranks(found.to, found.n_to, out);
        fprintf(out,
                " %s been under way for %.3g s and %s not arrive: this is not the program's "
                "doing\n",
                one ? "has" : "have", (double)found.for_ns / 1e9, one ? "does" : "do");
    }
    free(found.from);
    free(found.to);
    return found.moves;
}

/* ---- cycles ---- */

/* Returns false if the cycle may have been broken since the earlier page. */
static bool put_cycle(const struct rz_waits_page *page, const struct rz_wait_node *nodes,
                      size_t first, const struct rz_waits_page *earlier, rz_time apart, FILE *out)
{
    size_t at = first;
    bool stays = true, awaits = false, threads = false;
    do {
        stays &= earlier && lasts(&page->entries[at], earlier, apart) &&
                 (!page->balance || page->entries[at].for_ns >= SHOWN_NS);
        awaits |= under_way_to(page, page->entries[at].rank) > 0;
        threads |= page->entries[at].text.flags & RZ_WAIT_THREADS;
        at = rz_wait_next(nodes, at);
    } while (at != first);
    if (awaits) {
        return true; /* it is no cycle, and put_under_way has told of the message */
    }
    if (earlier && !stays) {
        return false;
    }
    fputs(!stays    ? "  a cycle at this moment: rank "
          : threads ? "  a cycle, unless another thread of these ranks ends it: rank "
                    : "  a cycle that none of these ranks will leave by itself: rank ",
          out);
    do {
        fprintf(out, "%u waits for ", nodes[at].rank);
        at = rz_wait_next(nodes, at);
    } while (at != first);
    fprintf(out, "%u\n", nodes[first].rank);
    return true;
}

/* Returns whether there is a cycle that may have been broken. */
static bool put_cycles(const struct rz_waits_page *page, const struct rz_waits_page *earlier,
                       rz_time apart, FILE *out)
{
    struct rz_wait_node *nodes = nodes_of(page);
    size_t *walk = calloc(page->n + 1, sizeof(*walk));
    struct rz_wait_cycle *cycles = calloc(page->n + 1, sizeof(*cycles));
    bool doubtful = false;
    rz_need_memory(walk && cycles, "for the waits of a job");
    size_t n = rz_wait_cycles(nodes, page->n, walk, cycles);
    for (size_t i = 0; i < n; i++) {
        doubtful |= !put_cycle(page, nodes, cycles[i].first, earlier, apart, out);
    }
    free(nodes);
    free(walk);
    free(cycles);
    return doubtful;
}

/* Whether each process is shown with its pid: a few that neither wait nor have ended are the likely
 * cause. */
static bool told_apart(const struct rz_waits_entry *entries, size_t n)
{
    enum rz_waiting_state state = entries->state;
    return n <= APART_MAX && (state == RZ_WAITING_NOT_JOINED || state == RZ_WAITING_COMPUTES ||
                              state == RZ_WAITING_UNKNOWN);
}

bool rz_waits_page_print(struct rz_waits_page *page, const struct rz_waits_page *earlier,
                         rz_time apart, FILE *out)
{
    if (page->n > 0) {
        qsort(page->entries, page->n, sizeof(*page->entries), by_operation_and_rank);
    }
    for (size_t i = 0, n; i < page->n; i += n) {
        const struct rz_waits_entry *entries = &page->entries[i];
        for (n = 1; i + n < page->n && by_operation(entries, entries + n) == 0; n++) {
            ;
        }
        n = told_apart(entries, n) ? 1 : n;
        fputs("  ", out);
        (entries->state == RZ_WAITING_IN_CALL ? put_waiters : put_idle)(entries, n, out);
        fputc('\n', out);
    }
    bool moves = put_under_way(page, earlier, apart, out);
    return put_cycles(page, earlier, apart, out) || moves;
}
