/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking and freeing the locks in control blocks. */
#include "mpi/rma/window_words.h"

#include "mpi/rma/rma_message.h"

static bool member_failed(const struct rz_win *win, int rank)
{
    return rz_process_failed(rz_win_target(win, rank)->process);
}

static _Atomic uint8_t *wait_flags(const struct rz_win *win, int at)
{
    return &rz_win_target(win, at)->control->flags[win->members];
}

void rz_win_set_waits(struct rz_win *win, int at, bool waits)
{
    atomic_store(&wait_flags(win, at)[win->rank], waits);
}

void rz_win_wake(struct rz_win *win, int rank)
{
    if (atomic_load(&wait_flags(win, win->rank)[rank])) {
        rz_rma_tell(win, rank, RZ_RMA_WAKE, 0, 0);
    }
}

/* Whether any other member waits. */
static bool wake_waiting(struct rz_win *win, int at)
{
    const _Atomic uint8_t *flags = wait_flags(win, at);
    bool any = false;
    for (int i = 0, n = win->members; i < n; i++) {
        if (atomic_load(&flags[i]) && i != win->rank) {
            rz_rma_tell(win, i, RZ_RMA_WAKE, 0, 0);
            any = true;
        }
    }
    return any;
}

/* Whether the word was free, or that of a process that has failed, and is rank's now. */
static bool word_take(const struct rz_win *win, _Atomic uint32_t *word, int rank)
{
    uint32_t owner = 0;
    if (atomic_compare_exchange_strong(word, &owner, (uint32_t)rank + 1)) {
        return true;
    }
    return owner <= (uint32_t)win->members && owner != (uint32_t)win->rank + 1 &&
           member_failed(win, (int)owner - 1) &&
           atomic_compare_exchange_strong(word, &owner, (uint32_t)rank + 1);
}

bool rz_win_try_shared(struct rz_win *win, int at, int rank)
{
    struct rz_win_control *control = rz_win_target(win, at)->control;
    uint32_t owner = atomic_load(&control->exclusive);
    if (owner == 0) {
        atomic_store(&control->flags[rank], 1);
        owner = atomic_load(&control->exclusive);
        if (owner == 0) {
            return true;
        }
        /* The owner may have seen the byte. */
        atomic_store(&control->flags[rank], 0);
        wake_waiting(win, at);
    }
    if (owner <= (uint32_t)win->members && member_failed(win, (int)owner - 1)) {
        atomic_compare_exchange_strong(&control->exclusive, &owner, 0);
        return rz_win_try_shared(win, at, rank);
    }
    return false;
}

bool rz_win_try_exclusive(struct rz_win *win, int at, int rank, bool *claimed)
{
    struct rz_win_control *control = rz_win_target(win, at)->control;
    *claimed = *claimed || word_take(win, &control->exclusive, rank);
    if (!*claimed) {
        return false;
    }
    for (int i = 0, n = win->members; i < n; i++) {
        if (atomic_load(&control->flags[i]) && !member_failed(win, i)) {
            return false;
        }
    }
    return true;
}

bool rz_win_unlock_word(struct rz_win *win, int at, int rank)
{
    struct rz_win_control *control = rz_win_target(win, at)->control;
    uint32_t owner = (uint32_t)rank + 1;
    /* No other process sets the byte, or the word to this rank: where they are not set no atomic
     * instruction is needed. */
    if (atomic_load_explicit(&control->flags[rank], memory_order_relaxed)) {
        atomic_store(&control->flags[rank], 0);
    }
    if (atomic_load_explicit(&control->exclusive, memory_order_relaxed) == owner) {
        atomic_compare_exchange_strong(&control->exclusive, &owner, 0);
    }
    return wake_waiting(win, at);
}

bool rz_win_try_accumulate(struct rz_win *win, int at)
{
    return word_take(win, &rz_win_target(win, at)->control->accumulating, win->rank);
}

void rz_win_end_accumulate(struct rz_win *win, int at)
{
    atomic_store(&rz_win_target(win, at)->control->accumulating, 0);
    wake_waiting(win, at);
}
