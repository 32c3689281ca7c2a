/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round of progress: the transports, the daemon's messages, the board, and the work that is due;
 * less often the stop word, the lease and broken connections.
 */
#include "mpi/engine/progress.h"

#include "mpi/impl.h"
#include "mpi/engine/epoch.h"
#include "mpi/engine/hooks.h"
#include "mpi/engine/paths.h"
#include "port/clock.h"
#include "proto/recover/recover.h"

/* The lease and broken connections are checked once in so many rounds of progress, and before each
 * sleep. */
#define ROUNDS_PER_CHECK 1024

static uint32_t rounds;

/* ---- Messages of the daemon ---- */

/* No part of it is to be compiled into rounds of progress, which rarely need it. */
__attribute__((noinline)) void rz_engine_look_again(void)
{
    if (rz_engine.reductions > 0) {
        return; /* what is new might end the operation that reduces */
    }
    const struct rz_board *board = rz_engine.board;
    rz_engine.news_seen = atomic_load_explicit(&board->news, memory_order_acquire);
    uint64_t stop = atomic_load_explicit(&board->stop, memory_order_acquire);
    if (stop != 0) {
        rz_engine_exit((rz_status_t)stop);
    }
    uint64_t epoch = atomic_load_explicit(&board->epoch_phase, memory_order_acquire);
    uint64_t phase = epoch & 0xFF;
    epoch >>= 8;
    if (rz_engine.reinit_open && epoch > rz_engine.epoch) {
        rz_epoch_give_up();
        return;
    }
    rz_hooks_board_changed();
    bool ours = epoch == rz_engine.epoch;
    rz_liveness_look(ours);
    if (ours && phase >= RZ_PHASE_LEFT && rz_engine.info->self.rank >= rz_engine.info->n_ranks) {
        rz_liveness_ranks_left();
    }
}

int rz_engine_pause(void)
{
    if (rz_engine.reductions > 0) {
        return rzm_error(MPI_ERR_OTHER,
                         "a reduction function (MPI_Op_create) must not communicate");
    }
    if (rz_engine.stops && !rz_engine.rollback && rz_engine.within == 0) {
        rz_hooks_safe_point();
    }
    return rz_engine.rollback ? RZM_ROLLBACK : MPI_SUCCESS;
}

static void read_link(void)
{
    rz_status_t status = rz_link_progress(rz_engine.link);
    if (status != RZ_OK) {
        /* The stop word is the better cause, if the daemon set it before it ended. */
        uint64_t stop = atomic_load_explicit(&rz_engine.board->stop, memory_order_acquire);
        rz_engine_exit(stop != 0 ? (rz_status_t)stop : status);
    }
}

void rz_engine_check(void)
{
    rounds = 0;
    if (rz_engine.info->alone) {
        return;
    }
    rz_waits_alive(rz_engine.info->waits);
    uint64_t stop = atomic_load_explicit(&rz_engine.board->stop, memory_order_acquire);
    rz_status_t status = stop != 0 ? (rz_status_t)stop : rz_link_check(rz_engine.link);
    if (status != RZ_OK) {
        rz_engine_exit(status);
    }
    read_link();
    rz_hooks_check(rz_clock_now());
}

/* ---- Progress ---- */

unsigned rz_engine_progress(void)
{
    if (__builtin_expect(rz_work_due & RZ_WORK_BEFORE, 0)) {
        rz_hooks_work(RZ_WORK_BEFORE);
    }
    unsigned events = rz_paths_progress();
    if (__builtin_expect(rz_work_due & RZ_WORK_BETWEEN, 0)) {
        events += rz_hooks_work(RZ_WORK_BETWEEN);
    }
    if (rz_engine.info->alone) {
        return events;
    }
    struct rz_doorbell *bell = rz_engine.info->doorbell;
    if (atomic_load_explicit(&bell->reasons, memory_order_relaxed) != 0) {
        uint32_t reasons = atomic_exchange_explicit(&bell->reasons, 0, memory_order_acquire);
        if (reasons & RZ_DOORBELL_LINK) {
            read_link();
        }
        events++;
    }
    rz_engine_look();
    if (__builtin_expect(rz_work_due & RZ_WORK_AFTER, 0)) {
        rz_hooks_work(RZ_WORK_AFTER);
    }
    if (++rounds >= ROUNDS_PER_CHECK) {
        rz_engine_check();
    }
    return events;
}
