/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks of the layer rma: messages about windows, failures, revocations, and the ends of
 * epochs. And the calls of ULFM on windows, which are those on their communicators.
 */
#include "mpi/rma/window.h"

#include "mpi/agree/comm_revoke.h"
#include "mpi/engine/control_message.h"
#include "mpi/rma/rma_owner_request.h"
#include "mpi/rma/rma_message.h"
#include "mpi/rma/rma_origin.h"
#include "mpi/rma/rma_target.h"
#include "mpi/rma/rma_thread.h"
#include "mpi/rma/window_life.h"

static void window_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                           const void *data, size_t bytes, rz_net_token_t token)
{
    static const struct rz_control_message_kind kind = {SIZE_MAX, rz_rma_receive};
    rz_control_message_arrived(path, envelope, data, bytes, token, &kind);
}

static unsigned window_work(void)
{
    unsigned done = rz_rma_serve();
    done += rz_rma_send_listed();
    rz_work_set(RZ_WORK_WINDOWS, rz_rma_waits() || !rz_rma_all_sent());
    return done;
}

static unsigned owner_request_work(void)
{
    bool expected;
    unsigned done = rz_rma_owner_requests_serve(&expected);
    rz_work_set(RZ_WORK_OWNER_REQUESTS, expected);
    return done;
}

static void window_gone(uint32_t process, bool failed)
{
    (void)failed;
    for (struct rz_win *win = rz_wins_first(); win; win = win->next) {
        int rank = rz_group_find(win->comm->group, process);
        if (rank != MPI_UNDEFINED) {
            rz_rma_give_up(win, rank, MPI_ERR_PROC_FAILED);
            rz_rma_forget(win, rank);
        }
    }
}

static void window_revoked(struct rz_comm *comm)
{
    if (comm->window) {
        rz_rma_give_up(comm->window, -1, MPI_ERR_REVOKED);
        rz_rma_forget_all(comm->window);
    }
}

static bool window_is_sent(void)
{
    return rz_rma_all_sent();
}

static void window_abandon(void)
{
    rz_rma_drop_listed();
    rz_rma_forget_left();
    for (struct rz_win *win = rz_wins_first(); win; win = win->next) {
        rz_rma_give_up(win, -1, RZM_ROLLBACK);
        rz_rma_forget_all(win);
    }
}

static void window_discard(void)
{
    while (rz_wins_first()) {
        rz_win_end(rz_wins_first(), true);
    }
    rz_work_set(RZ_WORK_WINDOWS, false);
    rz_work_set(RZ_WORK_OWNER_REQUESTS, false);
}

const struct rz_hooks rz_rma_hooks = {
    .is_sent = window_is_sent,
    .retire = rz_rma_thread_stop,
    .close = rz_rma_thread_stop,
    .work = {[RZ_WORK_OWNER_REQUESTS] = owner_request_work, [RZ_WORK_WINDOWS] = window_work},
    .arrived = {[RZ_ENVELOPE_WINDOW] = window_arrived},
    .gone = window_gone,
    .abandon = window_abandon,
    .discard = window_discard,
    .comm_revoked = window_revoked,
};

/* ---- ULFM ---- */

int rzm_win_revoke(struct rz_win *win)
{
    return rzm_comm_revoke(win->comm);
}

int rzm_win_is_revoked(struct rz_win *win, int *flag)
{
    rz_engine_progress_inquiry();
    *flag = win->comm->revoked;
    return MPI_SUCCESS;
}
