/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Global restart in one process (docs/reinit.md). The daemons decide; this module gives up the old
 * epoch, enters the new one in the epoch check, waits for its barrier, and makes MPI_COMM_WORLD
 * complete again. And the hooks of the layer ft.
 */
#include "mpi/ft/restart.h"

#include "mpi/impl.h"
#include "mpi/comm/comm.h"
#include "mpi/engine/epoch.h"
#include "mpi/engine/epoch_barrier.h"
#include "mpi/engine/paths.h"
#include "mpi/engine/waiting.h"
#include "mpi/coll/algorithm.h"
#include "mpi/ft/bootstrap.h"
#include "mpi/ft/checkpoint.h"
#include "mpi/ft/reinit_async.h"
#include "port/kill_point.h"
#include "proto/recover/recover.h"

#include <mpi-ext.h>

static struct {
    bool point_runs; /* the restart point was entered at least once */
    bool went_back;  /* all objects of earlier epochs have ended */
    int state;       /* MPIX_REINIT_*, in the present round */
} reinit;

/* In MPI_Init: MPIX_Reinit has not been called yet. */
static int open_reinit(void)
{
    rz_engine.reinit_entered = false;
    reinit.point_runs = false;
    reinit.went_back = false;
    reinit.state = rz_engine.info->restarted ? MPIX_REINIT_RESTARTED : MPIX_REINIT_NEW;
    return MPI_SUCCESS;
}

/* Those of the layer: epochs here, and what processes that replace others are told. */
const struct rz_hooks rz_ft_hooks = {
    .open = open_reinit,
    .retire = rz_bootstrap_peers_leave,
    .answers = rz_bootstrap_peers_answer,
    .forget = rz_bootstrap_peers_close,
};

/* ---- MPIX_Reinit ---- */

static void wait_in_reinit(bool (*done)(void *arg))
{
    struct rz_blocked blocked = {.call = "MPIX_Reinit",
                                 .operation = rz_engine.epoch,
                                 .peer = MPI_PROC_NULL,
                                 .tag = MPI_ANY_TAG};
    rz_engine_wait(&blocked, done, NULL);
}

static bool no_sender_writes(void *arg)
{
    (void)arg;
    return !rz_paths_shared();
}

bool rz_ft_is_rewound(void)
{
    return rz_engine.rewinds;
}

int rz_ft_reinit_once(void)
{
    if (reinit.point_runs) {
        return rzm_error(MPI_ERR_OTHER, "MPIX_Reinit can be called once");
    }
    reinit.point_runs = true;
    return MPI_SUCCESS;
}

int rz_ft_reinit_enter(void)
{
    if (rz_engine.reinit_entered) {
        return rzm_error(MPI_ERR_OTHER, "MPIX_Reinit can be called once");
    }
    rz_engine.reinit_entered = true;
    /* From now on a roll-back can come, which gives all buffers back: no sender may be writing
     * there. One that does so leaves soon, or fails. */
    wait_in_reinit(no_sender_writes);
    rz_kill_here(RZ_KILL_ENTERING);
    if (!rz_engine.info->alone) {
        struct rz_link_message message = {.type = RZ_LINK_REPAIRING};
        rz_engine_tell_daemon(&message);
    }
    rz_kill_here(RZ_KILL_ENTERED);
    rz_checkpoints_enter_reinit();
    rz_coll_keep_rules();
    rz_engine.comes_again = false;
    rz_engine.reinit_open = !(rz_engine.board->flags & RZ_BOARD_NO_REPAIR);
    return MPI_SUCCESS;
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

/* Whether a failed rank has not been replaced. */
static bool a_process_is_failed(void)
{
    for (uint32_t slot = 0; slot < rz_engine.info->n_ranks; slot++) {
        const struct rz_member *member = &rz_liveness.members[slot];
        if (member->failed && rz_board_state(member->word) != RZ_PROCESS_ENDED) {
            return true;
        }
    }
    return false;
}

void rz_ft_await_repair(void)
{
    if (a_process_is_failed() && rz_epoch_on_board() == rz_engine.epoch) {
        wait_in_reinit(never); /* the repair is under way */
    }
}

int rz_ft_reinit_wait(int *state)
{
    rz_reinit_async_rests();
    rz_ft_await_repair();
    if (!rz_engine.rollback && rz_epoch_on_board() > rz_engine.epoch) {
        /* A process failed before this one entered MPIX_Reinit: this one waits here until the new
         * epoch begins. */
        rz_epoch_give_up();
    }
    if (rz_engine.rollback) {
        rz_kill_here(RZ_KILL_WENT_BACK);
        rz_engine_await_others();
        int error = rz_epoch_discard();
        error = error != MPI_SUCCESS ? error : rz_epoch_reach_start();
        error = error != MPI_SUCCESS ? error : rz_comms_open();
        if (error != MPI_SUCCESS) {
            return error;
        }
        reinit.went_back = true;
        rz_engine_came_back();
    }
    if (reinit.point_runs) {
        reinit.state = MPIX_REINIT_REINITED;
    }
    reinit.point_runs = true;
    rz_reinit_async_stands();
    *state = reinit.state;
    return MPI_SUCCESS;
}

int rz_ft_reinit_leave(void)
{
    int error = rz_engine_begin();
    error = error != MPI_SUCCESS ? error : rz_epoch_reach_end("the end of MPIX_Reinit");
    if (error == MPI_SUCCESS) {
        rz_engine.reinit_open = false;
        rz_engine_look_again();
    }
    return error;
}

bool rz_ft_went_back(void)
{
    return reinit.went_back;
}

/* A new epoch changes the board's news counter, which rz_engine_begin reads. */
int rzm_reinit_test(void)
{
    return rz_engine_begin();
}

int rzm_reinit_state(int *state)
{
    *state = rz_engine.rewinds ? MPIX_REINIT_NEW : reinit.state;
    return MPI_SUCCESS;
}

int rzm_incarnation(int *incarnation)
{
    *incarnation = (int)rz_engine.info->self.incarnation;
    return MPI_SUCCESS;
}
