/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of the sort, by the processes that take part in a turn: input, exchange, checkpoint. */
#include "sort.h"

#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_BYTES = 8192 };

/* The lists that this process has, of the generation that round `made` completed as step - 1. */
static struct {
    struct sort_list lists[SORT_VIRTUAL_MAX];
    bool has[SORT_VIRTUAL_MAX];
    uint32_t step;
    uint64_t made;
} memory;

/*
 * A step in progress. A list depends on the previous lists alone, not on its maker, so that a
 * repeated step makes only the lists that no process has.
 */
struct work {
    const struct sort_turn *turn;
    uint32_t step;
    struct sort_list next[SORT_VIRTUAL_MAX];     /* what it makes */
    struct sort_list received[SORT_VIRTUAL_MAX]; /* the partners' parts */
    uint64_t low[SORT_VIRTUAL_MAX];              /* of each list, where its upper part begins */
    uint64_t n[SORT_VIRTUAL_MAX];
    uint64_t is_ready[SORT_VIRTUAL_MAX]; /* the process that acts for it has made it, in an earlier
                                            turn */
    MPI_Request receive[SORT_VIRTUAL_MAX], send[SORT_VIRTUAL_MAX];
    bool is_mine[SORT_VIRTUAL_MAX];
    bool is_made[SORT_VIRTUAL_MAX]; /* next contains it, at this process */
    bool is_here[SORT_VIRTUAL_MAX]; /* all its inputs are there */
};

static struct work work;

static uint32_t lists(void)
{
    return sort_options.virtuals;
}

/* Adds the seconds since *since, which becomes now. */
static void count_time(double *sum, double *since)
{
    double now = MPI_Wtime();
    *sum += now - *since;
    *since = now;
}

static bool well(int error)
{
    if (error != MPI_SUCCESS) {
        sort_broken(work.turn->comm, error);
    }
    return error == MPI_SUCCESS;
}

/* Every entry is set by one process, and 0 at all others. */
static bool join(uint64_t *words, uint32_t n)
{
    double since = MPI_Wtime();
    bool good =
        well(MPI_Allreduce(MPI_IN_PLACE, words, (int)n, MPI_UINT64_T, MPI_SUM, work.turn->comm));
    count_time(&sort_times.exchange, &since);
    return good;
}

/* ---- Input ---- */

static void forget_lists(struct sort_list *all)
{
    for (uint32_t v = 0; v < lists(); v++) {
        sort_list_free(&all[v]);
    }
}

static void show_ready(void)
{
    uint32_t ready = 0;
    for (uint32_t v = 0; v < lists(); v++) {
        ready += work.is_ready[v] != 0;
    }
    if (sort_options.progress && work.turn->rank == 0 && ready > 0) {
        fprintf(stderr, "step %u: %u of %u lists are made already\n", work.step, ready, lists());
    }
}

/* From memory, else from the checkpoint; false: it is not available, and why. */
static bool load_list(uint32_t v, char *why)
{
    const struct sort_turn *turn = work.turn;
    const struct sort_name name = {v, turn->step - 1, turn->made};
    double since = MPI_Wtime();
    bool there = memory.has[v];
    if (!there) {
        sort_list_free(&memory.lists[v]);
        there = sort_store_read(&name, &memory.lists[v], why, WHY_BYTES) == SORT_READ;
    }
    if (there) {
        why[0] = '\0'; /* another copy was used */
        sort_store_keep(&name, &memory.lists[v]);
    }
    memory.has[v] = there;
    count_time(&sort_times.store, &since);
    return there;
}

/* The least list that is lost; -1: none. */
static int64_t first_lost(const uint64_t *lost)
{
    for (uint32_t v = 0; v < lists(); v++) {
        if (lost[v]) {
            return v;
        }
    }
    return -1;
}

/*
 * The input of the step is there, and all know the sizes of all lists (sizes), their middle
 * elements (middles), and which are made already. One that cannot be read ends the job, but not if
 * the reader was excluded meanwhile: the others have removed what it looks for, and they do not
 * answer it.
 */
static bool load(uint64_t *sizes, uint64_t *middles)
{
    static char why[WHY_BYTES];
    static uint64_t words[4 * SORT_VIRTUAL_MAX];
    const struct sort_turn *turn = work.turn;
    if (memory.step != turn->step || memory.made != turn->made) {
        memset(memory.has, 0, sizeof(memory.has));
    }
    memory.step = turn->step;
    memory.made = turn->made;
    memset(words, 0, sizeof(words));
    why[0] = '\0';
    for (uint32_t v = 0; v < lists(); v++) {
        if (!work.is_mine[v]) {
            continue;
        }
        const struct sort_list *list = &memory.lists[v];
        words[2 * lists() + v] = !why[0] && !load_list(v, why);
        words[3 * lists() + v] = work.is_made[v];
        words[v] = list->n;
        words[lists() + v] = list->n > 0 ? list->at[(list->n - 1) / 2] : 0;
    }
    if (!join(words, 4 * lists())) {
        return false;
    }
    int64_t lost = first_lost(words + 2 * (size_t)lists());
    if (lost >= 0 && work.is_mine[lost]) {
        sort_fatal("%s", why);
    }
    memcpy(sizes, words, lists() * sizeof(*sizes));
    memcpy(middles, words + lists(), lists() * sizeof(*middles));
    memcpy(work.is_ready, words + 3 * (size_t)lists(), lists() * sizeof(*work.is_ready));
    show_ready();
    return lost < 0; /* else the job ends, by the report of that list's owner */
}

/* ---- Step 0 ---- */

/* At least one list, also if a process was excluded: others are computing theirs, and the next turn
 * begins when all are done. The lists made here are kept. */
static void generate(void)
{
    double since = MPI_Wtime();
    bool over = false;
    for (uint32_t v = 0; v < lists() && !over; v++) {
        if (work.is_mine[v] && !work.is_made[v]) {
            sort_generate(v, &work.next[v]);
            sort_list_sort(&work.next[v]);
            work.is_made[v] = true;
            over = work.turn->is_over();
        }
    }
    count_time(&sort_times.sort, &since);
}

/* ---- Steps 1..d ---- */

/* The middle of the first non-empty list of the cluster; if all are empty, none is needed. */
static uint32_t pivot_of(uint32_t v, const uint64_t *middles)
{
    uint32_t size, first = sort_cluster(sort_options.dimensions, work.turn->step, v, &size);
    for (uint32_t i = first; i < first + size; i++) {
        if (work.n[i] > 0) {
            return (uint32_t)middles[i];
        }
    }
    return 0;
}

/* Where each list is cut: all processes know all cuts, and so their sizes. */
static bool split(const uint64_t *middles)
{
    memset(work.low, 0, sizeof(work.low));
    for (uint32_t v = 0; v < lists(); v++) {
        if (work.is_mine[v]) {
            work.low[v] = sort_list_split(&memory.lists[v], pivot_of(v, middles));
        }
    }
    return join(work.low, lists());
}

/* The part of list v that its owner keeps, or (gives) that is sent to its partner. */
static uint64_t part(uint32_t v, bool gives, uint64_t *begin)
{
    bool lower = v < sort_partner(sort_options.dimensions, work.turn->step, v);
    bool takes_lower = lower != gives;
    *begin = takes_lower ? 0 : work.low[v];
    return takes_lower ? work.low[v] : work.n[v] - work.low[v];
}

static int post_receive(uint32_t v, int peer, uint32_t partner)
{
    uint64_t begin, n = part(partner, true, &begin);
    work.received[v].n = n;
    work.received[v].at = sort_memory(NULL, n, sizeof(uint32_t));
    if (n == 0) {
        return MPI_SUCCESS;
    }
    return MPI_Irecv_c(work.received[v].at, (MPI_Count)n, MPI_UINT32_T, peer, (int)v,
                       work.turn->comm, &work.receive[v]);
}

static int post_send(uint32_t v, int peer, uint32_t partner)
{
    uint64_t begin, n = part(v, true, &begin);
    if (n == 0) {
        return MPI_SUCCESS;
    }
    return MPI_Isend_c(memory.lists[v].at + begin, (MPI_Count)n, MPI_UINT32_T, peer, (int)partner,
                       work.turn->comm, &work.send[v]);
}

static int post(uint32_t v)
{
    const struct sort_turn *turn = work.turn;
    uint32_t partner = sort_partner(sort_options.dimensions, turn->step, v);
    int peer = turn->owner[partner], error = MPI_SUCCESS;
    if (peer != turn->rank && !work.is_ready[v]) {
        error = post_receive(v, peer, partner);
    }
    work.is_here[v] = error == MPI_SUCCESS;
    if (peer != turn->rank && !work.is_ready[partner] && error == MPI_SUCCESS) {
        error = post_send(v, peer, partner);
    }
    return error;
}

/* After an error the others end, too: the communicator is revoked then. */
static bool exchange(void)
{
    bool good = true;
    double since = MPI_Wtime();
    for (uint32_t v = 0; v < lists() && good; v++) {
        if (work.is_mine[v]) {
            good = well(post(v));
        }
    }
    for (uint32_t v = 0; v < lists(); v++) {
        work.is_here[v] &= well(MPI_Wait(&work.receive[v], MPI_STATUS_IGNORE));
        good &= well(MPI_Wait(&work.send[v], MPI_STATUS_IGNORE));
        good &= work.is_here[v] || !work.is_mine[v];
    }
    count_time(&sort_times.exchange, &since);
    return good;
}

static void merge(uint32_t v)
{
    uint64_t kept_begin, kept = part(v, false, &kept_begin), begin, n;
    uint32_t partner = sort_partner(sort_options.dimensions, work.turn->step, v);
    const uint32_t *from = work.received[v].at;
    n = part(partner, true, &begin);
    if (work.is_mine[partner]) {
        from = memory.lists[partner].at + begin;
    }
    work.next[v].n = kept + n;
    work.next[v].at = sort_memory(NULL, kept + n, sizeof(uint32_t));
    sort_merge(memory.lists[v].at + kept_begin, kept, from, n, work.next[v].at);
    work.is_made[v] = true;
    sort_list_free(&work.received[v]);
}

/* Also in a turn that has failed: the next one finds the list made. */
static void merge_all(void)
{
    double since = MPI_Wtime();
    for (uint32_t v = 0; v < lists(); v++) {
        if (work.is_mine[v] && work.is_here[v] && !work.is_made[v]) {
            merge(v);
        }
    }
    count_time(&sort_times.sort, &since);
}

static bool sort_once(void)
{
    static uint64_t middles[SORT_VIRTUAL_MAX];
    if (!load(work.n, middles) || !split(middles)) {
        return false;
    }
    sort_leave_at(work.turn->step, SORT_READY);
    bool done = exchange();
    if (done) {
        sort_leave_at(work.turn->step, SORT_EXCHANGED);
    }
    merge_all();
    return done;
}

/* ---- The check ---- */

enum { N, FIRST, LAST, WRONG, FACTS };

/* facts: of each list its size, first and last element, and whether its order is wrong. */
static const char *verdict(const uint64_t *facts, const struct sort_sum *got,
                           const struct sort_sum *wanted)
{
    uint64_t last = 0;
    for (uint32_t v = 0; v < lists(); v++) {
        const uint64_t *list = facts + (size_t)v * FACTS;
        if (list[WRONG]) {
            return "a list is not in order";
        }
        if (list[N] > 0 && list[FIRST] < last) {
            return "two lists are not in order";
        }
        last = list[N] > 0 ? list[LAST] : last;
    }
    if (got->n != wanted->n || got->n != sort_options.count) {
        return "elements were lost or doubled";
    }
    return got->sum == wanted->sum && got->xor == wanted->xor ? NULL : "elements are not the same";
}

/* Sorted inside, and from list to list; the same number and elements as were generated. */
static bool check(void)
{
    static uint64_t facts[SORT_VIRTUAL_MAX * FACTS], unused[SORT_VIRTUAL_MAX];
    struct sort_sum sums[2] = {{0}, {0}}, all[2];
    if (!load(work.n, unused)) {
        return false;
    }
    memset(facts, 0, sizeof(facts));
    for (uint32_t v = 0; v < lists(); v++) {
        const struct sort_list *list = &memory.lists[v];
        uint64_t *mine = facts + (size_t)v * FACTS;
        if (!work.is_mine[v]) {
            continue;
        }
        sort_list_sum(list, &sums[0]);
        sort_generate_sum(v, &sums[1]);
        mine[N] = list->n;
        mine[FIRST] = list->n > 0 ? list->at[0] : 0;
        mine[LAST] = list->n > 0 ? list->at[list->n - 1] : 0;
        mine[WRONG] = !sort_list_is_sorted(list);
    }
    if (!join(facts, lists() * FACTS)) {
        return false;
    }
    uint64_t adds[] = {sums[0].n, sums[0].sum, sums[1].n, sums[1].sum};
    uint64_t xors[] = {sums[0].xor, sums[1].xor };
    if (!join(adds, 4) ||
        !well(MPI_Allreduce(MPI_IN_PLACE, xors, 2, MPI_UINT64_T, MPI_BXOR, work.turn->comm))) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        all[i] = (struct sort_sum){adds[2 * i], adds[2 * i + 1], xors[i]};
    }
    const char *wrong = verdict(facts, &all[0], &all[1]);
    if (wrong && work.turn->rank == 0) {
        sort_fatal("%s: the result is wrong", wrong);
    }
    return !wrong;
}

/* ---- The result ---- */

/* Of the last round that measured: the times of the slowest process in each part. */
static struct {
    double total, sort, exchange, store, turn;
    uint64_t round;
    bool is_first; /* this process shows them, if that round completed the step */
} measured;

/* The reduction excludes a process that was excluded meanwhile: the others do not answer it. */
static bool measure(void)
{
    sort_times.total = MPI_Wtime() - sort_times.begun;
    double mine[] = {sort_times.total, sort_times.sort, sort_times.exchange, sort_times.store,
                     sort_times.turn};
    double most[5];
    if (!well(MPI_Allreduce(mine, most, 5, MPI_DOUBLE, MPI_MAX, work.turn->comm))) {
        return false;
    }
    measured.total = most[0];
    measured.sort = most[1];
    measured.exchange = most[2];
    measured.store = most[3];
    measured.turn = most[4];
    measured.round = work.turn->round;
    measured.is_first = work.turn->rank == 0;
    return true;
}

void sort_step_show(const struct sort_turn *turn)
{
    if (!measured.is_first || measured.round != turn->made) {
        return;
    }
    if (sort_options.times) {
        fprintf(stderr, "times total %.6f sort %.6f exchange %.6f store %.6f round %.6f\n",
                measured.total, measured.sort, measured.exchange, measured.store, measured.turn);
    }
    printf("sorted %llu in %.3f s\n", (unsigned long long)sort_options.count, measured.total);
    fflush(stdout);
}

/* ---- A turn ---- */

/* The lists kept as the next step's input were made by a step that is not complete. */
static void take_back(void)
{
    for (uint32_t v = 0; v < lists(); v++) {
        work.is_made[v] = memory.has[v];
        if (!memory.has[v]) {
            continue;
        }
        sort_list_free(&work.next[v]);
        work.next[v] = memory.lists[v];
        memory.lists[v] = (struct sort_list){0};
    }
    memset(memory.has, 0, sizeof(memory.has));
    memory.step = work.step;
}

/* Keeps the lists of this step that this process has made and still acts for. */
static void begin(const struct sort_turn *turn)
{
    bool again = work.step == turn->step;
    work.turn = turn;
    work.step = turn->step;
    if (again && memory.step == turn->step + 1) {
        take_back();
    }
    forget_lists(work.received);
    for (uint32_t v = 0; v < lists(); v++) {
        work.is_mine[v] = turn->owner[v] == turn->rank;
        work.is_made[v] = again && work.is_made[v] && work.is_mine[v];
        work.is_here[v] = false;
        work.receive[v] = work.send[v] = MPI_REQUEST_NULL;
        if (!work.is_made[v]) {
            sort_list_free(&work.next[v]);
        }
    }
}

/* The lists are stored, and in memory for the next step. */
static bool keep(void)
{
    const struct sort_turn *turn = work.turn;
    double since = MPI_Wtime();
    for (uint32_t v = 0; v < lists(); v++) {
        const struct sort_name name = {v, turn->step, turn->round};
        if (work.is_mine[v] && !sort_store_write(&name, &work.next[v])) {
            return false;
        }
    }
    if (turn->step > 0) {
        sort_store_forget(turn->step - 1, work.is_mine);
    }
    forget_lists(memory.lists);
    memcpy(memory.lists, work.next, lists() * sizeof(*memory.lists));
    memcpy(memory.has, work.is_mine, sizeof(memory.has));
    memset(work.next, 0, sizeof(work.next));
    memset(work.is_made, 0, sizeof(work.is_made));
    memory.step = turn->step + 1;
    memory.made = turn->round;
    count_time(&sort_times.store, &since);
    return true;
}

bool sort_step(const struct sort_turn *turn)
{
    bool done;
    begin(turn);
    sort_leave_at(turn->step, SORT_BEGIN);
    if (turn->step > sort_options.dimensions) {
        return turn->step == sort_options.dimensions + 1 ? check() : measure();
    }
    if (turn->step == 0) {
        generate();
    }
    done = turn->step == 0 || sort_once();
    if (!done || turn->is_over() || !keep()) {
        return false;
    }
    sort_leave_at(turn->step, SORT_WRITTEN);
    return true;
}

void sort_step_close(void)
{
    forget_lists(work.next);
    forget_lists(work.received);
    forget_lists(memory.lists);
}
