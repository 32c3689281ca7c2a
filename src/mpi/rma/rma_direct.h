/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short way of operations on memory that this process reaches by loads and stores: rows of
 * bytes, and single elements of predefined types that the processor changes atomically.
 */
#ifndef RZ_MPI_RMA_DIRECT_H
#define RZ_MPI_RMA_DIRECT_H

#include "mpi/rma/rma_call.h"

/* Whether the operation was such a one, and is done. False: nothing was done; it goes the general
 * way, where errors of its arguments are found. rz_engine_begin was called. */
bool rz_rma_direct(const struct rz_rma_call *call);

/* Whether there is an access epoch for the target, which needs no lock first, and its memory is
 * within reach of loads and stores. */
static inline bool rz_rma_is_near(const struct rz_win *win, const struct rz_win_target *target)
{
    bool open =
        (target->hold != RZ_HOLD_NONE) | target->started | win->fenced | win->lock_all_unchecked;
    return open && target->reach == RZ_REACH_MEMORY && win->flavor != MPI_WIN_FLAVOR_DYNAMIC &&
           !win->comm->revoked && !rz_win_target_lost(target);
}

/* Where `bytes` bytes of a type with that true_lb begin at the target; NULL: not all are inside of
 * its memory. */
static inline char *rz_rma_place(const struct rz_win_target *target, MPI_Aint disp,
                                 MPI_Count true_lb, MPI_Count bytes)
{
    MPI_Count first;
    bool fits = disp >= 0 && !__builtin_mul_overflow(disp, target->disp_unit, &first) &&
                !__builtin_add_overflow(first, true_lb, &first);
    return fits && first >= 0 && first <= target->size - bytes ? target->memory + first : NULL;
}

static inline void rz_rma_move_row(char *to, const char *from, MPI_Count bytes)
{
    if (bytes == (MPI_Count)sizeof(uint64_t)) {
        memmove(to, from, sizeof(uint64_t)); /* one instruction */
    } else {
        memmove(to, from, (size_t)bytes);
    }
}

#endif
