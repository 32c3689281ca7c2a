/* SPDX-License-Identifier: BSD-3-Clause */
/* When a computing round ends, which processes compute in the next one, and the common progress. */
#include "proto/view_change/view_change_private.h"

#include "base/assert.h"

#include <string.h>

enum whose { OF_THE_VIEW, OF_OTHERS, OF_ALL };

static uint32_t own_counter(const struct rz_view_change_waiting *waiting)
{
    for (uint32_t i = 0; i < waiting->n_counters; i++) {
        if (waiting->counters[i] >> 32 == waiting->rank) {
            return (uint32_t)waiting->counters[i];
        }
    }
    return 0;
}

/* The lists of the waiting processes; of other processes only those that consider themselves
 * recommended. Returns their number. */
static uint32_t gather(const struct rz_view_change_situation *now, enum whose whose,
                       struct rz_diagnose_list *lists)
{
    uint32_t n_lists = 0;
    for (uint32_t i = 0; i < now->n_waiting; i++) {
        const struct rz_view_change_waiting *waiting = &now->waiting[i];
        bool in_view = rz_view_change_bit(now->view, waiting->rank);
        if (whose == OF_ALL || (whose == OF_THE_VIEW && in_view) ||
            (whose == OF_OTHERS && !in_view && own_counter(waiting) % 2 == 0)) {
            lists[n_lists++] = (struct rz_diagnose_list){
                .from = waiting->rank, .items = waiting->counters, .n_items = waiting->n_counters};
        }
    }
    return n_lists;
}

/* Whether each process of the view has arrived, has failed or left, or is non-recommended. *all:
 * each one has arrived. */
static bool is_over(const struct rz_view_change_situation *now, const uint32_t *counters, bool *all)
{
    uint32_t i = 0;
    *all = true;
    for (uint32_t rank = 0; rank < now->n; rank++) {
        while (i < now->n_waiting && now->waiting[i].rank < rank) {
            i++;
        }
        if (!rz_view_change_bit(now->view, rank) ||
            (i < now->n_waiting && now->waiting[i].rank == rank) || now->count_absent) {
            continue;
        }
        *all = false;
        if (!rz_view_change_bit(now->gone, rank) && counters[rank] % 2 == 0) {
            return false;
        }
    }
    return true;
}

/* The minimum progress of the processes that did the work of the round: in round 0, the recommended
 * ones. */
static uint64_t least_progress(const struct rz_view_change_situation *now, const uint32_t *counters)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < now->n_waiting; i++) {
        const struct rz_view_change_waiting *waiting = &now->waiting[i];
        bool worked = now->round == 0 ? counters[waiting->rank] % 2 == 0
                                      : rz_view_change_bit(now->view, waiting->rank);
        if (worked && waiting->progress < least) {
            least = waiting->progress;
        }
    }
    return least;
}

/* Whether these counters, of other processes, make all living processes of the view
 * non-recommended: no waiting process may know of a later readmission of its own. */
static bool is_view_out(const struct rz_view_change_situation *now, const uint32_t *counters)
{
    for (uint32_t rank = 0; rank < now->n; rank++) {
        if (rz_view_change_bit(now->view, rank) && !rz_view_change_bit(now->gone, rank) &&
            counters[rank] % 2 == 0) {
            return false;
        }
    }
    for (uint32_t i = 0; i < now->n_waiting; i++) {
        const struct rz_view_change_waiting *waiting = &now->waiting[i];
        if (rz_view_change_bit(now->view, waiting->rank) &&
            counters[waiting->rank] < own_counter(waiting)) {
            return false;
        }
    }
    return true;
}

/* The processes whose counters end the round: the waiting ones of the view; if those do not end it,
 * or no process of the view waits, the others. */
static bool is_over_by_some(const struct rz_view_change_situation *now,
                            struct rz_diagnose_list *lists, uint32_t *counters, bool *all)
{
    uint32_t n_lists = gather(now, OF_THE_VIEW, lists);
    bool any = n_lists > 0;
    n_lists = any ? n_lists : gather(now, OF_ALL, lists);
    if (n_lists == 0) {
        return false;
    }
    rz_diagnose_join(now->n, n_lists, lists, counters);
    if (is_over(now, counters, all)) {
        return true;
    }
    n_lists = any ? gather(now, OF_OTHERS, lists) : 0;
    if (n_lists == 0) {
        return false;
    }
    rz_diagnose_join(now->n, n_lists, lists, counters);
    return is_view_out(now, counters) && is_over(now, counters, all);
}

bool rz_view_change_ends(const struct rz_view_change_situation *now, struct rz_diagnose_list *lists,
                         uint32_t *counters, uint64_t *view, uint64_t *progress)
{
    bool all, any = false;
    if (!is_over_by_some(now, lists, counters, &all)) {
        return false;
    }
    memset(view, 0, rz_view_change_set_words(now->n) * sizeof(*view));
    for (uint32_t i = 0; i < now->n_waiting; i++) {
        if (counters[now->waiting[i].rank] % 2 == 0) {
            rz_view_change_bit_set(view, now->waiting[i].rank);
            any = true;
        }
    }
    rz_assert(any); /* a sender of a joined list is recommended */
    *progress = all || now->round == 0 ? least_progress(now, counters) : now->progress;
    if (*progress < now->progress) {
        *progress = now->progress;
    }
    return true;
}
