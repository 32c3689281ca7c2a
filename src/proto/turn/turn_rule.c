/* When a computing round ends, who computes in the next one, how far all have come. */
#include "proto/turn/turn_private.h"

#include "base/assert.h"

#include <string.h>

/* What those say whose word counts: of the view, or where none of them waits, all that do. Returns
 * how many. */
static uint32_t gather(const struct rz_turn_situation *now, bool outside,
                       struct rz_diagnose_list *lists)
{
    uint32_t n_lists = 0;
    for (uint32_t i = 0; i < now->n_waiting; i++) {
        const struct rz_turn_waiting *waiting = &now->waiting[i];
        if (outside || rz_turn_bit(now->view, waiting->rank))
            lists[n_lists++] = (struct rz_diagnose_list){
                .from = waiting->rank, .items = waiting->counters, .n_items = waiting->n_counters};
    }
    return n_lists;
}

/* Whether each one of the view has arrived, is gone, or is out. *all: each one has arrived. */
static bool is_over(const struct rz_turn_situation *now, const uint32_t *counters, bool *all)
{
    uint32_t i = 0;
    *all = true;
    for (uint32_t rank = 0; rank < now->n; rank++) {
        while (i < now->n_waiting && now->waiting[i].rank < rank)
            i++;
        if (!rz_turn_bit(now->view, rank) || (i < now->n_waiting && now->waiting[i].rank == rank) ||
            now->count_absent)
            continue;
        *all = false;
        if (!rz_turn_bit(now->gone, rank) && counters[rank] % 2 == 0)
            return false;
    }
    return true;
}

/* The least that those came with who did the round's work: in round 0, who is in. */
static uint64_t least_progress(const struct rz_turn_situation *now, const uint32_t *counters)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < now->n_waiting; i++) {
        const struct rz_turn_waiting *waiting = &now->waiting[i];
        bool worked = now->round == 0 ? counters[waiting->rank] % 2 == 0
                                      : rz_turn_bit(now->view, waiting->rank);
        if (worked && waiting->progress < least)
            least = waiting->progress;
    }
    return least;
}

bool rz_turn_ends(const struct rz_turn_situation *now, struct rz_diagnose_list *lists,
                  uint32_t *counters, uint64_t *view, uint64_t *progress)
{
    bool all, any = false;
    uint32_t n_lists = gather(now, false, lists);
    if (n_lists == 0)
        n_lists = gather(now, true, lists);
    if (n_lists == 0)
        return false;
    rz_diagnose_join(now->n, n_lists, lists, counters);
    if (!is_over(now, counters, &all))
        return false;
    memset(view, 0, rz_turn_set_words(now->n) * sizeof *view);
    for (uint32_t i = 0; i < now->n_waiting; i++)
        if (counters[now->waiting[i].rank] % 2 == 0) {
            rz_turn_bit_set(view, now->waiting[i].rank);
            any = true;
        }
    rz_assert(any); /* a sender of a joined list is in */
    *progress = all || now->round == 0 ? least_progress(now, counters) : now->progress;
    if (*progress < now->progress)
        *progress = now->progress;
    return true;
}
