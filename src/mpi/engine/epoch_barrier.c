/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the barriers of an epoch: reports to the daemon that this process has reached the end
 * of a phase, and waits until the board shows the next phase or a newer epoch.
 */
#include "mpi/engine/epoch_barrier.h"

#include "base/trace.h"
#include "mpi/impl.h"
#include "mpi/engine/epoch.h"
#include "mpi/engine/paths.h"
#include "mpi/engine/peer.h"
#include "mpi/engine/waiting.h"
#include "port/kill_point.h"
#include "proto/recover/recover.h"

struct phase_wait {
    enum rz_recover_phase next;
    uint32_t told; /* the epoch in which the daemon was told */
};

static void tell_reached(struct phase_wait *wait)
{
    const struct rz_link_message message = {
        .type = RZ_LINK_REACHED, .reached = {.epoch = rz_engine.epoch, .phase = wait->next - 1}};
    wait->told = rz_engine.epoch;
    rz_engine_tell_daemon(&message);
}

/* Whether our epoch has reached that phase, or has ended. */
static bool phase_has_come(void *arg)
{
    struct phase_wait *wait = arg;
    uint64_t phase = wait->next;
    uint32_t epoch = rz_epoch_on_board();
    if (wait->told != rz_engine.epoch) {
        tell_reached(wait); /* this process was restored while it waited (mpi/rewind) */
    }
    return epoch > rz_engine.epoch ||
           (epoch == rz_engine.epoch && rz_epoch_phase_on_board() >= phase);
}

/* This process has reached the end of `phase`: reports it and waits for the next phase.
 * MPI_SUCCESS, or RZM_ROLLBACK. */
static int phase_end(enum rz_recover_phase phase, const char *call)
{
    struct phase_wait wait = {.next = phase + 1};
    if (phase == RZ_PHASE_ENTER) {
        RZ_TRACE(AT_START, rz_engine.epoch, 0, 0);
    } else {
        RZ_TRACE(AT_END, rz_engine.epoch, 0, 0);
    }
    rz_kill_here(phase == RZ_PHASE_ENTER ? RZ_KILL_AT_START : RZ_KILL_POINT_OVER);
    tell_reached(&wait);
    if (phase == RZ_PHASE_ENTER) {
        rz_kill_here(RZ_KILL_START_TOLD);
        rz_peers_meet_again();
    }
    struct rz_blocked blocked = {
        .call = call, .operation = rz_engine.epoch, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    int error = rz_engine_wait(&blocked, phase_has_come, &wait);
    /* The epoch has ended, which is not what the call waited for: the board may show a newer epoch
     * before its news counter does. */
    if (error == MPI_SUCCESS && rz_engine.reinit_open && rz_epoch_on_board() > rz_engine.epoch) {
        rz_epoch_give_up();
        error = RZM_ROLLBACK;
    }
    return error;
}

int rz_epoch_reach_start(void)
{
    if (rz_engine.info->alone) {
        rz_epoch_enter();
        return MPI_SUCCESS;
    }
    for (;;) {
        rz_epoch_enter();
        rz_paths_open_wanted();
        phase_end(RZ_PHASE_ENTER, rz_engine.reinit_entered ? "MPIX_Reinit" : "MPI_Init");
        if (rz_epoch_on_board() == rz_engine.epoch && !rz_engine.rollback) {
            return MPI_SUCCESS;
        }
        /* A further failure during the wait. Peers may have been connected meanwhile: nothing of
         * this epoch may stay. */
        rz_epoch_give_up();
    }
}

int rz_epoch_reach_end(const char *call)
{
    return rz_engine.info->alone ? MPI_SUCCESS : phase_end(RZ_PHASE_RUN, call);
}
