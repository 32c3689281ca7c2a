/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress: looks at the transports, the link to the daemon and the board, and does the work that
 * is due (hooks.h).
 */
#ifndef RZ_MPI_PROGRESS_H
#define RZ_MPI_PROGRESS_H

#include "mpi/engine/liveness.h"

/*
 * At the start of every chapter function that communicates, one load in the common case:
 * MPI_SUCCESS, or RZM_ROLLBACK when the job goes back to its restart point (everything pending has
 * then ended and names no memory any more).
 */
int rz_engine_begin(void);

/* Looks at transports, link and board once; the number of events. Never from inside a callback of a
 * transport. */
unsigned rz_engine_progress(void);

/* What need not be looked at in each round of progress: stop word, lease, broken connections,
 * messages of the daemon. Also before each sleep. */
void rz_engine_check(void);

/* Failures that ended no operation so far do so from now on: looks at all of the board again. */
void rz_engine_look_again(void);

#endif
