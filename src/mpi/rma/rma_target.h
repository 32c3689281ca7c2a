/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages about windows at their receiver: operations on the memory of this process, and requests
 * for its lock. What cannot be done at once, because another process of the node holds the lock or
 * the right to accumulate, waits in a list and is tried again in each round of progress. Operations
 * that arrive after one that waits wait, too, so that they keep their order.
 */
#ifndef RZ_MPI_RMA_TARGET_H
#define RZ_MPI_RMA_TARGET_H

#include "mpi/engine/control_message.h"
#include "mpi/rma/window.h"

/* A message has arrived. May run inside a callback of a transport. */
void rz_rma_receive(const struct rz_envelope *envelope, const void *data, size_t bytes);

/* The window is in the list from now on: members may have left it already. */
void rz_rma_window_begun(struct rz_win *win);

/* Drops what is known of members that have left windows that are not made: at the end of an
 * epoch. */
void rz_rma_forget_left(void);

/* Tries what waits; returns how many were done. */
unsigned rz_rma_serve(void);

/* Whether anything waits. */
bool rz_rma_waits(void);

/* Member `rank` has failed: nothing is done for it any more. */
void rz_rma_forget(struct rz_win *win, int rank);

/* Drops all that waits. */
void rz_rma_forget_all(struct rz_win *win);

#endif
