/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The epoch of this process. It ends by a roll-back (docs/reinit.md) or with the library; the
 * modules then discard what belongs to it, in the order of hooks.h. Waiting for the start of an
 * epoch: epoch_barrier.h.
 */
#ifndef RZ_MPI_EPOCH_H
#define RZ_MPI_EPOCH_H

#include "mpi/engine/liveness.h"

/* The epoch on the board, and its phase (enum rz_recover_phase). */
uint32_t rz_epoch_on_board(void);
uint64_t rz_epoch_phase_on_board(void);

/*
 * The epoch of the board is newer than ours while MPIX_Reinit is open: ends all activity of the old
 * epoch. Transports release all memory of the user (in bounded time; a transport that does not is
 * destroyed), all requests end with RZM_ROLLBACK, and until rz_epoch_enter every call returns
 * RZM_ROLLBACK. Never called from inside a callback of a transport. In a job that rewinds this
 * process ends here: the new epoch has another one in its place.
 */
void rz_epoch_give_up(void);

/* No call of the old epoch is on a stack any more: its objects end, and messages of the next epoch
 * may arrive. MPI_SUCCESS or MPI_ERR_NO_MEM. */
int rz_epoch_discard(void);

/* From now on the epoch of the board is the epoch of this process. All that belongs to old epochs
 * has ended. */
void rz_epoch_enter(void);

#endif
