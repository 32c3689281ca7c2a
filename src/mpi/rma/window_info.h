/* SPDX-License-Identifier: BSD-3-Clause */
/* The info keys of windows that are true or false. */
#ifndef RZ_MPI_WINDOW_INFO_H
#define RZ_MPI_WINDOW_INFO_H

#include "mpi/rma/window.h"

enum rz_win_hint {
    RZ_WIN_HINT_NO_LOCKS, /* no passive target epochs: no thread serves them between nodes */
    RZ_WIN_HINT_SAME_SIZE,
    RZ_WIN_HINT_SAME_DISP_UNIT,
    RZ_WIN_HINT_NONCONTIG, /* alloc_shared_noncontig */
    RZ_WIN_HINT_SAME_OP,   /* accumulate_ops is same_op, not same_op_no_op */
    RZ_WIN_HINT_COUNT
};

static inline bool rz_win_hint(const struct rz_win *win, enum rz_win_hint hint)
{
    return (win->hints >> hint & 1) != 0;
}

/* Sets the hints that info names; NULL: none. made: the window is being made; later the hints that
 * its making depends on do not change. */
void rz_win_take_hints(struct rz_win *win, struct rz_info *info, bool made);

#endif
