/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of the thread that serves other nodes. */
#include "mpi/rma/rma_thread.h"

#include "mpi/engine/waiting.h"
#include "mpi/rma/window.h"
#include "port/doorbell.h"
#include "port/thread.h"

#include <time.h>

#define STACK_BYTES ((size_t)256 * 1024)

/* How long it leaves progress to the calls of the program before it looks again. */
#define ASIDE_NS_MIN RZ_MILLISECOND
#define ASIDE_NS_MAX (8 * RZ_MILLISECOND)

static pthread_t thread;
static bool runs; /* it has to be joined */
static bool over; /* it does nothing more, and needs no lock; under the engine lock */
static _Atomic bool ends;

static bool is_idle(void)
{
    return rz_engine.rewinds && !rz_wins_first();
}

/* Whether it has to let others pass: the wait of another thread does all that this one would. Also
 * if another call has come and gone: the next one would have to compete with this thread for the
 * lock. */
static bool steps_aside(void *arg)
{
    const uint64_t *entries = arg;
    return atomic_load(&ends) || rz_engine_entries() != *entries || is_idle();
}

static void wait_aside(rz_time ns)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

static void *serve(void *arg)
{
    const struct rz_blocked blocked = {
        .call = "the progress of windows", .peer = -1, .tag = MPI_ANY_TAG, .beside = true};
    rz_time aside = ASIDE_NS_MIN;
    uint64_t entries = 0;
    while (!atomic_load(&ends)) {
        rz_engine_enter();
        bool alone = rz_engine_callers() == 1, quiet = rz_engine_entries() == entries + 1;
        entries = rz_engine_entries();
        if (!alone) {
            aside = aside < ASIDE_NS_MAX ? 2 * aside : aside;
        } else if (quiet) {
            aside = ASIDE_NS_MIN;
        }
        if (alone && !rz_engine.rollback && !rz_engine.going_back) {
            rz_engine_wait(&blocked, steps_aside, &entries);
        }
        bool idle = over = is_idle();
        rz_engine_leave();
        if (idle) {
            break;
        }
        if (!atomic_load(&ends)) {
            wait_aside(aside);
        }
    }
    return arg;
}

void rz_rma_thread_start(void)
{
    if (runs && !over) {
        return;
    }
    rz_rma_thread_stop();
    rz_engine_share();
    over = false;
    atomic_store(&ends, false);
    runs = rz_thread_start(&thread, "rz-windows", STACK_BYTES, serve, NULL) == 0;
}

void rz_rma_thread_stop(void)
{
    if (!runs) {
        return;
    }
    runs = false;
    if (over) {
        pthread_join(thread, NULL);
        return;
    }
    atomic_store(&ends, true);
    rz_doorbell_ring(rz_engine.info->doorbell, rz_engine.info->doorbell_fd);
    rz_engine_unlock_for_user();
    pthread_join(thread, NULL);
    rz_engine_lock_after_user();
}

bool rz_rma_thread_rests(void)
{
    if (runs && over) {
        rz_rma_thread_stop();
    } else if (runs && !rz_wins_first()) {
        rz_doorbell_ring(rz_engine.info->doorbell, rz_engine.info->doorbell_fd);
    }
    return !runs;
}
