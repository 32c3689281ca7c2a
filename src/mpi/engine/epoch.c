/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end and the begin of an epoch in this process: runs the hooks of the modules in order, rolls
 * back peers and transports, and reads the states of all slots from the board.
 */
#include "mpi/engine/epoch.h"

#include "base/trace.h"
#include "mpi/engine/hooks.h"
#include "mpi/engine/paths.h"
#include "mpi/engine/peer.h"
#include "port/kill_point.h"
#include "proto/recover/recover.h"

static uint64_t epoch_and_phase(void)
{
    return atomic_load_explicit(&rz_engine.board->epoch_phase, memory_order_acquire);
}

uint32_t rz_epoch_on_board(void)
{
    return (uint32_t)(epoch_and_phase() >> 8);
}

uint64_t rz_epoch_phase_on_board(void)
{
    return epoch_and_phase() & 0xFF;
}

/* Protocols refer to requests that end with the connections, so protocols are stopped first. */
void rz_epoch_give_up(void)
{
    if (rz_engine.rewinds) {
        rz_engine_await_end();
    }
    RZ_TRACE(ROLL_BACK, rz_engine.epoch, 0, 0);
    rz_engine.rollback = true;
    rz_engine.going_back = rz_engine.reinit_entered;
    rz_hooks_stop();
    rz_peers_roll_back();
    rz_hooks_forget();
    rz_paths_quiet();
    rz_hooks_abandon();
    rz_kill_here(RZ_KILL_GAVE_UP);
}

int rz_epoch_discard(void)
{
    rz_hooks_discard();
    return rz_hooks_begin();
}

/* A connection to a process that has been replaced is of no use; the replacement is connected to
 * later. */
static void refresh(uint32_t slot)
{
    struct rz_member *member = &rz_liveness.members[slot];
    rz_liveness_refresh(slot);
    if (member->peer && member->peer->process != member->process) {
        rz_peer_close(slot, false, RZ_ERR_ROLLBACK);
        member->spoken_to = true;
    }
}

/* An epoch that runs already has not waited for this process, which was spawned into it. */
void rz_epoch_enter(void)
{
    const struct rz_link_info *info = rz_engine.info;
    rz_engine.rollback = false;
    rz_engine.epoch = rz_epoch_on_board();
    RZ_TRACE(EPOCH_LEARNT, rz_engine.epoch, 0, rz_epoch_phase_on_board());
    rz_engine.late = (info->restarted || info->self.rank >= info->n_ranks) &&
                     rz_epoch_phase_on_board() >= RZ_PHASE_RUN;
    rz_engine.comes_again = info->restarted && info->self.rank < info->n_ranks && !rz_engine.late &&
                            !rz_engine.reinit_entered;
    rz_liveness_begin();
    for (uint32_t slot = 0; slot < info->n_slots; slot++) {
        refresh(slot);
    }
    rz_liveness_count_ranks_here();
}
