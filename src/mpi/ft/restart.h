/* SPDX-License-Identifier: BSD-3-Clause */
/* Global restart, as the entry points see it. The chapter ft owns the bodies. */
#ifndef RZ_MPI_FT_H
#define RZ_MPI_FT_H

#include <stdbool.h>

/*
 * MPIX_Reinit begins: from now on the failure of a process of the job means roll-back, not an
 * error. Engine lock held. Returns MPI_SUCCESS, RZM_ROLLBACK (it has begun, and a roll-back with
 * it) or an error class (MPI_ERR_OTHER when already inside).
 */
int rz_ft_reinit_enter(void);

/*
 * At the top of each round: give up everything of the old epoch, wait until the barrier of the
 * current epoch has opened, make MPI_COMM_WORLD whole, and say in *state how this process came here
 * (MPIX_REINIT_*). Engine lock held. Returns MPI_SUCCESS, RZM_ROLLBACK (yet another failure: call
 * again) or an error class.
 */
int rz_ft_reinit_wait(int *state);

/*
 * The restart point returned: agree that it did so in every process in this epoch. Engine lock
 * held. Returns MPI_SUCCESS (all left; failures are errors again), RZM_ROLLBACK (go to the next
 * round) or an error class.
 */
int rz_ft_reinit_leave(void);

/* Whether the process has ever gone back to its restart point. */
bool rz_ft_went_back(void);

/*
 * A call returned RZM_ROLLBACK and the entry point has unwound and given up the engine lock: jump
 * to the round of the open MPIX_Reinit. This body is in src/abi/reinit.c, beside the frame it jumps
 * to; asserts that MPIX_Reinit is open.
 */
_Noreturn void rz_ft_rollback(void);

/* MPI_Init: MPIX_Reinit was not called yet. MPI_SUCCESS. */
int rz_ft_open(void);

#endif
