/* SPDX-License-Identifier: BSD-3-Clause */
/* The begin and the end of window objects. */
#ifndef RZ_MPI_WINDOW_LIFE_H
#define RZ_MPI_WINDOW_LIFE_H

#include "mpi/rma/window.h"

/* An object for a window of comm's members: its communicator is derived from operation number
 * `operation` of comm. MPI_ERR_NO_MEM. */
int rz_win_new(struct rz_comm *comm, uint64_t operation, struct rz_win **win);

/* Whether a call of this process makes a window, which may not be in the list yet. */
bool rz_win_is_made_now(void);

/* Ends the window: nothing of it is used any more. with_epoch: its communicator ends with all
 * others of the epoch. */
void rz_win_end(struct rz_win *win, bool with_epoch);

#endif
