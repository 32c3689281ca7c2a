/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The helper thread that observes the board, and the signal by which it interrupts a thread that
 * computes (port/nudge.h).
 */
#include "mpi/ft/reinit_async.h"

#include "mpi/impl.h"
#include "mpi/engine/waiting.h"
#include "port/nudge.h"
#include "port/text.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A real-time signal in the middle of the range: libraries and tools use those at both ends. */
#define RZ_REINIT_SIGNAL_DEFAULT (SIGRTMIN + 10)

static struct {
    bool runs;
    const struct rz_board *board;
    void (*go_back)(void);
    /* the epoch of this process; UINT64_MAX: it is on its way to a restart */
    _Atomic uint64_t epoch;
    /* Written by the thread inside MPIX_Reinit only, also in a signal handler. */
    volatile sig_atomic_t masked;
} async;

/* Called in the helper thread and in the handler. The board is mapped until MPI_Finalize. */
static bool is_due(void)
{
    uint64_t now = atomic_load_explicit(&async.board->epoch_phase, memory_order_acquire) >> 8;
    return now > atomic_load_explicit(&async.epoch, memory_order_acquire);
}

static void interrupted(void)
{
    if (async.masked == 0 && !rz_engine_runs_user()) {
        async.go_back();
    }
}

static bool read_signal(int *number)
{
    const char *text = getenv(RZ_REINIT_SIGNAL);
    char *end;
    *number = RZ_REINIT_SIGNAL_DEFAULT;
    if (!text) {
        return true;
    }
    errno = 0;
    long value = strtol(text, &end, 10);
    *number = (int)value;
    return errno == 0 && end != text && *end == '\0' && value > 0 && value <= SIGRTMAX &&
           value != SIGKILL && value != SIGSTOP;
}

static int why_not(rz_status_t status, int number)
{
    switch (status) {
    case RZ_ERR_EXISTS:
        return rzm_error(MPI_ERR_OTHER,
                         "the program has a handler for signal %d, by which computations are "
                         "interrupted: give another number in " RZ_REINIT_SIGNAL,
                         number);
    case RZ_ERR_UNSUPPORTED:
        return rzm_error(MPI_ERR_UNSUPPORTED_OPERATION,
                         "computations cannot be interrupted on this machine: use MPIX_Reinit");
    case RZ_ERR_INVALID:
        return rzm_error(MPI_ERR_OTHER, "signal %d (" RZ_REINIT_SIGNAL ") cannot be caught",
                         number);
    default:
        return rzm_status_class(status);
    }
}

int rz_reinit_async_begin(void (*go_back)(void))
{
    int number;
    if (!read_signal(&number)) {
        return rzm_error(MPI_ERR_OTHER, RZ_REINIT_SIGNAL " is '%s', not the number of a signal",
                         getenv(RZ_REINIT_SIGNAL));
    }
    if (rz_engine.info->alone || (rz_engine.board->flags & RZ_BOARD_NO_REPAIR)) {
        return MPI_SUCCESS;
    }
    async.board = rz_engine.board;
    async.go_back = go_back;
    rz_reinit_async_rests();
    struct rz_nudge_config config = {
        .signal = number, .word = &rz_engine.board->news, .due = is_due, .taken = interrupted};
    rz_status_t status = rz_nudge_open(&config);
    if (status == RZ_OK && rz_text_defines("malloc")) {
        rz_nudge_close();
        return rzm_error(
            MPI_ERR_UNSUPPORTED_OPERATION,
            "the program is linked with an allocator of its own, in which it cannot be "
            "interrupted: use MPIX_Reinit, or link malloc from a shared library");
    }
    async.runs = status == RZ_OK;
    return async.runs ? MPI_SUCCESS : why_not(status, number);
}

void rz_reinit_async_end(void)
{
    if (async.runs) {
        rz_nudge_close();
        async.runs = false;
    }
}

void rz_reinit_async_rests(void)
{
    atomic_store_explicit(&async.epoch, UINT64_MAX, memory_order_release);
}

void rz_reinit_async_stands(void)
{
    atomic_store_explicit(&async.epoch, rz_engine.epoch, memory_order_release);
}

void rz_reinit_mask(void)
{
    async.masked++;
}

bool rz_reinit_unmask(void)
{
    if (async.masked > 0) {
        async.masked--;
        return true;
    }
    return false;
}

void rz_reinit_mask_forget(void)
{
    async.masked = 0;
}

bool rz_reinit_is_masked(void)
{
    return async.masked > 0;
}
