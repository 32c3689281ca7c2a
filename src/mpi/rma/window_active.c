/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active target epochs: fences, and start and complete with post and wait. A fence completes the
 * operations of this process, and is then a barrier of the window. Post and complete are messages.
 */
#include "mpi/coll/coll.h"
#include "mpi/engine/waiting.h"
#include "mpi/rma/rma_message.h"
#include "mpi/rma/rma_origin.h"
#include "mpi/rma/window_passive.h"

/* ---- Fence ---- */

int rz_win_barrier(struct rz_win *win, const char *call)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin_now(win->comm, call, &schedule);
    return error != MPI_SUCCESS ? error : rz_schedule_run(rz_plan_barrier(schedule));
}

static int check_fence(const struct rz_win *win, int assert)
{
    const int known = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    if (assert & ~known) {
        return rzm_error(MPI_ERR_ASSERT, "assert is %d, which MPI_Win_fence does not have", assert);
    }
    if (win->started || win->posted || win->lock_all || win->locks > 0) {
        return rzm_error(MPI_ERR_RMA_SYNC, "an epoch of another kind has not ended");
    }
    return MPI_SUCCESS;
}

int rzm_win_fence(int assert, struct rz_win *win)
{
    int error = rz_engine_begin_quick();
    error = error != MPI_SUCCESS ? error : check_fence(win, assert);
    error = error != MPI_SUCCESS ? error : rz_rma_await(win, -1, "MPI_Win_fence");
    if (error != MPI_SUCCESS) {
        return error;
    }
    int before = rz_win_take_errors(win);
    atomic_thread_fence(memory_order_seq_cst);
    error = rz_win_barrier(win, "MPI_Win_fence");
    win->fenced = !(assert &MPI_MODE_NOSUCCEED);
    return error != MPI_SUCCESS ? error : before;
}

/* ---- Groups ---- */

/* The rank in the window of each member of group; false: one is no member. */
static int rank_of(const struct rz_win *win, const struct rz_group *group, int i)
{
    return rz_group_find(win->comm->group, group->process[i]);
}

static int check_group(const struct rz_win *win, const struct rz_group *group)
{
    for (int i = 0; i < group->size; i++) {
        if (rank_of(win, group, i) == MPI_UNDEFINED) {
            return rzm_error(MPI_ERR_GROUP, "rank %d of group is not in the window", i);
        }
    }
    return win->comm->revoked ? MPI_ERR_REVOKED : MPI_SUCCESS;
}

static void tell_or_do(struct rz_win *win, int rank, enum rz_rma_kind kind)
{
    struct rz_win_target *own = rz_win_target(win, rank);
    if (rank != win->rank) {
        rz_rma_tell(win, rank, kind, 0, 0);
    } else if (kind == RZ_RMA_POST) {
        rz_win_post_came(own);
    } else {
        rz_win_complete_came(own);
    }
}

/* ---- Post and wait ---- */

int rzm_win_post(struct rz_group *group, int assert, struct rz_win *win)
{
    const int known = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT;
    int error = rz_engine_begin_quick();
    if (error == MPI_SUCCESS && (assert & ~known)) {
        error = rzm_error(MPI_ERR_ASSERT, "assert is %d, which MPI_Win_post does not have", assert);
    }
    if (error == MPI_SUCCESS && win->posted) {
        error = rzm_error(MPI_ERR_RMA_SYNC, "the epoch of the last MPI_Win_post has not ended");
    }
    error = error != MPI_SUCCESS ? error : check_group(win, group);
    if (error != MPI_SUCCESS) {
        return error;
    }
    atomic_thread_fence(memory_order_seq_cst);
    rz_group_retain(group);
    win->posted = group;
    for (int i = 0; i < group->size; i++) {
        int rank = rank_of(win, group, i);
        win->post_open[rank] = true;
        if (!(assert &MPI_MODE_NOCHECK)) {
            tell_or_do(win, rank, RZ_RMA_POST);
        }
    }
    rz_rma_send_listed();
    return MPI_SUCCESS;
}

/*
 * Uses the messages of MPI_Win_complete that have arrived. A failed member ends the wait for all:
 * another one may have left the epoch because of that failure.
 */
static bool post_ends(void *arg)
{
    struct rz_win *win = arg;
    bool all = true, lost = false;
    for (int i = 0; i < win->posted->size; i++) {
        int rank = rank_of(win, win->posted, i);
        struct rz_win_target *origin = rz_win_target(win, rank);
        if (win->post_open[rank] && origin->completes > 0) {
            origin->completes--;
            win->post_open[rank] = false;
        }
        all &= !win->post_open[rank];
        lost |= win->post_open[rank] && rz_win_lost(win, rank);
    }
    return all || lost || win->comm->revoked;
}

static int post_end(struct rz_win *win)
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < win->posted->size; i++) {
        int rank = rank_of(win, win->posted, i);
        if (win->post_open[rank]) {
            rz_win_target(win, rank)->completes_over++;
            error = error != MPI_SUCCESS ? error : rz_win_check_origin(win, rank);
        }
        win->post_open[rank] = false;
    }
    rz_group_release(win->posted);
    win->posted = NULL;
    atomic_thread_fence(memory_order_seq_cst);
    return error;
}

static int check_posted(const struct rz_win *win)
{
    int error = rz_engine_begin_quick();
    return error == MPI_SUCCESS && !win->posted
               ? rzm_error(MPI_ERR_RMA_SYNC, "there was no MPI_Win_post")
               : error;
}

int rzm_win_wait(struct rz_win *win)
{
    int error = check_posted(win);
    error = error != MPI_SUCCESS ? error : rz_win_wait(win, -1, "MPI_Win_wait", post_ends, win);
    return error != MPI_SUCCESS ? error : post_end(win);
}

int rzm_win_test(struct rz_win *win, int *flag)
{
    int error = check_posted(win);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (!post_ends(win)) {
        rz_engine_progress();
        if (rz_engine.rollback) {
            return RZM_ROLLBACK;
        }
        if (!post_ends(win)) {
            if (rz_engine_yields()) {
                rz_engine_yield();
            }
            *flag = 0;
            return MPI_SUCCESS;
        }
    }
    error = post_end(win);
    *flag = error == MPI_SUCCESS ? 1 : *flag;
    return error;
}

/* ---- Start and complete ---- */

static bool start_has_all(const struct rz_win *win)
{
    for (int i = 0; i < win->started->size; i++) {
        if (rz_win_target(win, rank_of(win, win->started, i))->posts == 0) {
            return false;
        }
    }
    return true;
}

/* As for post_ends. */
static bool start_ends(void *arg)
{
    const struct rz_win *win = arg;
    bool lost = win->comm->revoked;
    for (int i = 0; i < win->started->size && !lost; i++) {
        lost = rz_win_lost(win, rank_of(win, win->started, i));
    }
    return lost || start_has_all(win);
}

/* Uses the posts of the group. without: they have not all arrived, and there will be no epoch; the
 * targets that live are told that it is complete. */
static int start_use_posts(struct rz_win *win, bool without)
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < win->started->size; i++) {
        int rank = rank_of(win, win->started, i);
        struct rz_win_target *target = rz_win_target(win, rank);
        target->posts_over += target->posts == 0;
        target->posts -= target->posts > 0;
        if (without) {
            error = error != MPI_SUCCESS ? error : rz_win_check(win, rank);
            tell_or_do(win, rank, RZ_RMA_COMPLETE);
        }
    }
    rz_rma_send_listed();
    return error;
}

static void start_close(struct rz_win *win)
{
    for (int i = 0; i < win->started->size; i++) {
        rz_win_target(win, rank_of(win, win->started, i))->started = false;
    }
    rz_group_release(win->started);
    win->started = NULL;
}

static int check_start(const struct rz_win *win, const struct rz_group *group, int assert)
{
    if (assert & ~MPI_MODE_NOCHECK) {
        return rzm_error(MPI_ERR_ASSERT, "assert is %d, which MPI_Win_start does not have", assert);
    }
    if (win->started || win->lock_all || win->locks > 0) {
        return rzm_error(MPI_ERR_RMA_SYNC, "another access epoch has not ended");
    }
    return check_group(win, group);
}

/* A target that fails later is found at the end of the epoch. */
int rzm_win_start(struct rz_group *group, int assert, struct rz_win *win)
{
    bool checks = !(assert &MPI_MODE_NOCHECK);
    int error = rz_engine_begin_quick();
    error = error != MPI_SUCCESS ? error : check_start(win, group, assert);
    if (error != MPI_SUCCESS) {
        return error;
    }
    rz_group_retain(group);
    win->started = group;
    if (checks) {
        error = rz_win_wait(win, -1, "MPI_Win_start", start_ends, win);
    }
    if (error == MPI_SUCCESS && checks) {
        error = start_use_posts(win, !start_has_all(win));
    }
    if (error != MPI_SUCCESS) {
        start_close(win);
        return error;
    }
    for (int i = 0; i < group->size; i++) {
        struct rz_win_target *target = rz_win_target(win, rank_of(win, group, i));
        target->started = target->touched = true;
    }
    win->fenced = false;
    return MPI_SUCCESS;
}

int rzm_win_complete(struct rz_win *win)
{
    int error = rz_engine_begin_quick();
    if (error == MPI_SUCCESS && !win->started) {
        error = rzm_error(MPI_ERR_RMA_SYNC, "there was no MPI_Win_start");
    }
    error = error != MPI_SUCCESS ? error : rz_rma_await(win, -1, "MPI_Win_complete");
    if (error != MPI_SUCCESS) {
        return error;
    }
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < win->started->size; i++) {
        int rank = rank_of(win, win->started, i);
        int one = rz_win_take_error(win, rank);
        error = error != MPI_SUCCESS ? error : one;
        tell_or_do(win, rank, RZ_RMA_COMPLETE);
    }
    rz_rma_send_listed();
    start_close(win);
    return error;
}
