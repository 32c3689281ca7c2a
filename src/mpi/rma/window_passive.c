/* SPDX-License-Identifier: BSD-3-Clause */
/* Locking, unlocking and flushing. */
#include "mpi/rma/window_passive.h"

#include "mpi/engine/waiting.h"
#include "mpi/rma/rma_message.h"
#include "mpi/rma/rma_origin.h"
#include "mpi/rma/window_info.h"
#include "mpi/rma/window_words.h"

/* ---- Errors at synchronisations ---- */

int rz_win_take_error(struct rz_win *win, int rank)
{
    struct rz_win_target *target = rz_win_target(win, rank);
    int error = target->error;
    bool concerned = target->touched || target->hold != RZ_HOLD_NONE;
    target->error = MPI_SUCCESS;
    target->touched = false;
    if (win->comm->revoked || error == MPI_ERR_PROC_FAILED ||
        (concerned && rz_win_lost(win, rank))) {
        int now = rz_win_check(win, rank);
        return now != MPI_SUCCESS ? now : error;
    }
    return error == MPI_ERR_RMA_RANGE
               ? rzm_error(error, "an operation was outside of the memory of rank %d", rank)
               : error;
}

int rz_win_take_errors(struct rz_win *win)
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < win->members; i++) {
        int one = rz_win_take_error(win, i);
        error = error != MPI_SUCCESS ? error : one;
    }
    return error;
}

/* ---- The lock of one target ---- */

struct lock_wait {
    struct rz_win *win;
    int rank;
    enum rz_hold hold;
    bool claimed, got;
};

static bool lock_try(struct lock_wait *wait)
{
    struct rz_win *win = wait->win;
    struct rz_win_target *target = rz_win_target(win, wait->rank);
    if (!target->control) {
        return target->granted;
    }
    return wait->hold == RZ_HOLD_EXCLUSIVE
               ? rz_win_try_exclusive(win, wait->rank, win->rank, &wait->claimed)
               : rz_win_try_shared(win, wait->rank, win->rank);
}

static bool lock_ends(void *arg)
{
    struct lock_wait *wait = arg;
    wait->got = wait->got || lock_try(wait);
    return wait->got || wait->win->comm->revoked || rz_win_lost(wait->win, wait->rank);
}

static int lock_await(struct lock_wait *wait)
{
    struct rz_win *win = wait->win;
    struct rz_win_target *target = rz_win_target(win, wait->rank);
    bool by_word = target->control != NULL;
    if (by_word) {
        rz_win_set_waits(win, wait->rank, true);
    } else {
        rz_rma_tell(win, wait->rank, RZ_RMA_LOCK, wait->hold == RZ_HOLD_EXCLUSIVE, 0);
        rz_rma_send_listed();
    }
    int error = rz_win_await_lock(win, wait->rank, lock_ends, wait);
    if (error == RZM_ROLLBACK) {
        return error;
    }
    target->granted = false;
    if (by_word) {
        rz_win_set_waits(win, wait->rank, false);
    }
    if (!wait->got && wait->claimed) {
        rz_win_unlock_word(win, wait->rank, win->rank);
        rz_rma_send_listed();
    }
    return wait->got ? MPI_SUCCESS : rz_win_check(win, wait->rank);
}

static bool is_not_asking(void *arg)
{
    return !((const struct rz_win_target *)arg)->asking;
}

/* With MPI_Win_lock_all, several threads may need the lock of one target at once: the first of them
 * takes it for all. */
static int lock_take(struct rz_win *win, int rank, enum rz_hold hold)
{
    struct lock_wait wait = {.win = win, .rank = rank, .hold = hold};
    struct rz_win_target *target = rz_win_target(win, rank);
    int error = MPI_SUCCESS;
    if (target->asking) {
        error = rz_win_await_lock(win, rank, is_not_asking, target);
    }
    if (error == MPI_SUCCESS && target->hold == RZ_HOLD_NONE) {
        error = rz_win_check(win, rank);
    }
    if (error != MPI_SUCCESS || target->hold != RZ_HOLD_NONE) {
        return error;
    }
    if (!target->control || !lock_try(&wait)) {
        target->asking = true;
        error = lock_await(&wait);
        target->asking = false;
        rz_engine.completions++;
    }
    if (error == MPI_SUCCESS) {
        target->hold = hold;
    }
    return error;
}

static void lock_give(struct rz_win *win, int rank)
{
    struct rz_win_target *target = rz_win_target(win, rank);
    /* Others that wait for the lock of a revoked window learn of the revocation instead. */
    if (target->unchecked || target->hold == RZ_HOLD_NONE || win->comm->revoked) {
        target->unchecked = false;
    } else if (target->control) {
        rz_win_unlock_word(win, rank, win->rank);
    } else {
        rz_rma_tell(win, rank, RZ_RMA_UNLOCK, 0, 0);
    }
    target->hold = RZ_HOLD_NONE;
}

/* Whether the message that gives the lock up arrives after all operations, so that it need not wait
 * until they are acknowledged. */
static bool is_given_in_order(const struct rz_win *win, int rank)
{
    const struct rz_win_target *target = rz_win_target(win, rank);
    return !target->control && target->acks_due > 0 && !target->overtaken;
}

int rz_win_lock_due(struct rz_win *win, int rank)
{
    struct rz_win_target *target = rz_win_target(win, rank);
    if (!win->lock_all || win->lock_all_unchecked || target->hold != RZ_HOLD_NONE) {
        return MPI_SUCCESS;
    }
    return lock_take(win, rank, RZ_HOLD_SHARED);
}

/* ---- Calls ---- */

static int check_assert(int assert)
{
    return (assert & ~MPI_MODE_NOCHECK) == 0
               ? MPI_SUCCESS
               : rzm_error(MPI_ERR_ASSERT, "assert is %d, not 0 or MPI_MODE_NOCHECK", assert);
}

static int check_begin(const struct rz_win *win)
{
    if (win->comm->revoked) {
        return MPI_ERR_REVOKED;
    }
    if (win->started) {
        return rzm_error(MPI_ERR_RMA_SYNC, "between MPI_Win_start and MPI_Win_complete");
    }
    if (win->lock_all) {
        return rzm_error(MPI_ERR_RMA_SYNC, "between MPI_Win_lock_all and MPI_Win_unlock_all");
    }
    return rz_win_hint(win, RZ_WIN_HINT_NO_LOCKS)
               ? rzm_error(MPI_ERR_RMA_SYNC, "the window was made with no_locks=true")
               : MPI_SUCCESS;
}

/* MPI_PROC_NULL can be locked, flushed and unlocked at any time, and has no state. */
int rzm_win_lock(int lock_type, int rank, int assert, struct rz_win *win)
{
    int error = rz_engine_begin_quick();
    if (error == MPI_SUCCESS && lock_type != MPI_LOCK_EXCLUSIVE && lock_type != MPI_LOCK_SHARED) {
        error = rzm_error(MPI_ERR_LOCKTYPE,
                          "lock_type is %d, not MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED", lock_type);
    }
    error = error != MPI_SUCCESS ? error : check_assert(assert);
    error = error != MPI_SUCCESS ? error : check_begin(win);
    if (error != MPI_SUCCESS || rank == MPI_PROC_NULL) {
        return error;
    }
    struct rz_win_target *target = rz_win_target(win, rank);
    if (target->hold != RZ_HOLD_NONE) {
        return rzm_error(MPI_ERR_RMA_SYNC, "rank %d is locked already", rank);
    }
    enum rz_hold hold = lock_type == MPI_LOCK_EXCLUSIVE ? RZ_HOLD_EXCLUSIVE : RZ_HOLD_SHARED;
    if (assert & MPI_MODE_NOCHECK) {
        error = rz_win_check(win, rank);
        target->hold = error == MPI_SUCCESS ? hold : RZ_HOLD_NONE;
        target->unchecked = error == MPI_SUCCESS;
    } else {
        error = lock_take(win, rank, hold);
    }
    if (error == MPI_SUCCESS) {
        win->fenced = false;
        win->locks++;
    }
    return error;
}

int rzm_win_lock_all(int assert, struct rz_win *win)
{
    int error = rz_engine_begin_quick();
    error = error != MPI_SUCCESS ? error : check_assert(assert);
    error = error != MPI_SUCCESS ? error : check_begin(win);
    if (error == MPI_SUCCESS && win->locks > 0) {
        error = rzm_error(MPI_ERR_RMA_SYNC, "a target is locked by MPI_Win_lock");
    }
    if (error == MPI_SUCCESS) {
        win->fenced = false;
        win->lock_all = true;
        win->lock_all_unchecked = (assert &MPI_MODE_NOCHECK) != 0;
    }
    return error;
}

static int check_locked(const struct rz_win *win, int rank)
{
    bool locked = rank >= 0 ? rz_win_target(win, rank)->hold != RZ_HOLD_NONE : win->locks > 0;
    if (locked || win->lock_all) {
        return MPI_SUCCESS;
    }
    return rank >= 0 ? rzm_error(MPI_ERR_RMA_SYNC, "rank %d is not locked", rank)
                     : rzm_error(MPI_ERR_RMA_SYNC, "no target is locked");
}

int rzm_win_unlock(int rank, struct rz_win *win)
{
    int error = rz_engine_begin_quick();
    if (error != MPI_SUCCESS || rank == MPI_PROC_NULL) {
        return error;
    }
    if (win->lock_all || rz_win_target(win, rank)->hold == RZ_HOLD_NONE) {
        error = rzm_error(MPI_ERR_RMA_SYNC, "rank %d is not locked by MPI_Win_lock", rank);
    }
    bool given = error == MPI_SUCCESS && is_given_in_order(win, rank);
    if (given) {
        lock_give(win, rank);
        rz_rma_send_listed();
    }
    error = error != MPI_SUCCESS ? error : rz_rma_await(win, rank, "MPI_Win_unlock");
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = rz_win_take_error(win, rank);
    if (!given) {
        lock_give(win, rank);
        rz_rma_send_listed();
    }
    win->locks--;
    return error;
}

int rzm_win_unlock_all(struct rz_win *win)
{
    int error = rz_engine_begin_quick();
    if (error == MPI_SUCCESS && !win->lock_all) {
        error = rzm_error(MPI_ERR_RMA_SYNC, "there was no MPI_Win_lock_all");
    }
    error = error != MPI_SUCCESS ? error : rz_rma_await(win, -1, "MPI_Win_unlock_all");
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = rz_win_take_errors(win);
    for (int i = 0; i < win->members; i++) {
        lock_give(win, i);
    }
    rz_rma_send_listed();
    win->lock_all = win->lock_all_unchecked = false;
    return error;
}

#define ALL_TARGETS (-1)

static int flush_targets(struct rz_win *win, int rank, const char *call)
{
    int error = rz_engine_begin_quick();
    if (error != MPI_SUCCESS || rank == MPI_PROC_NULL) {
        return error;
    }
    error = check_locked(win, rank);
    if (error == MPI_SUCCESS && (rank < 0 || rz_win_target(win, rank)->acks_due > 0)) {
        error = rz_rma_await(win, rank, call);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    atomic_thread_fence(memory_order_seq_cst);
    return rank < 0 ? rz_win_take_errors(win) : rz_win_take_error(win, rank);
}

int rzm_win_flush(int rank, struct rz_win *win)
{
    return flush_targets(win, rank, "MPI_Win_flush");
}

int rzm_win_flush_all(struct rz_win *win)
{
    return flush_targets(win, ALL_TARGETS, "MPI_Win_flush_all");
}

int rzm_win_flush_local(int rank, struct rz_win *win)
{
    return flush_targets(win, rank, "MPI_Win_flush_local");
}

int rzm_win_flush_local_all(struct rz_win *win)
{
    return flush_targets(win, ALL_TARGETS, "MPI_Win_flush_local_all");
}

/* Also makes progress: programs call it in loops that wait for a store of another process. */
int rzm_win_sync(struct rz_win *win)
{
    int error = rz_engine_begin_quick();
    if (error == MPI_SUCCESS && win->comm->revoked) {
        error = MPI_ERR_REVOKED;
    }
    if (error == MPI_SUCCESS) {
        atomic_thread_fence(memory_order_seq_cst);
        rz_engine_progress();
    }
    return error;
}
