/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passive target epochs: MPI_Win_lock to MPI_Win_flush. MPI_Win_lock_all takes the lock of a target
 * with the first operation on it.
 */
#ifndef RZ_MPI_WINDOW_PASSIVE_H
#define RZ_MPI_WINDOW_PASSIVE_H

#include "mpi/rma/window.h"

/* Before an operation: takes the lock that MPI_Win_lock_all has left for later. MPI_SUCCESS, an
 * error class or RZM_ROLLBACK. */
int rz_win_lock_due(struct rz_win *win, int rank);

/* The end of operations on that target: the error of one of them, or that the target has failed;
 * forgets both. */
int rz_win_take_error(struct rz_win *win, int rank);

/* As above, of all targets: the first error. */
int rz_win_take_errors(struct rz_win *win);

#endif
