/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Global restart, for the entry points.
 */
#ifndef RZ_MPI_FT_H
#define RZ_MPI_FT_H

#include <stdbool.h>

struct rz_hooks;

/*
 * MPIX_Reinit begins: from now on the failure of a process of the job means roll-back, not an
 * error. Engine lock held. Returns MPI_SUCCESS, RZM_ROLLBACK (it has begun, and a roll-back with
 * it) or an error class (MPI_ERR_OTHER when already inside).
 */
int rz_ft_reinit_enter(void);

/* Whether the job rewinds: then nothing rolls back to a restart point. rz_ft_reinit_once stands for
 * the three others: MPI_SUCCESS, or MPI_ERR_OTHER when it was called before. Engine lock held. */
bool rz_ft_is_rewound(void);
int rz_ft_reinit_once(void);

/* MPIX_Reinit was entered: if a process failed before, when a failure was still an error, waits
 * until the job rolls back. */
void rz_ft_await_repair(void);

/*
 * At the start of each round: gives up all that belongs to the old epoch, waits until the barrier
 * of the current epoch has opened, makes MPI_COMM_WORLD complete again, and sets *state to how this
 * process got here (MPIX_REINIT_*). Engine lock held. Returns MPI_SUCCESS, RZM_ROLLBACK (a further
 * failure: call again) or an error class.
 */
int rz_ft_reinit_wait(int *state);

/*
 * The restart point has returned: agrees with all other processes of this epoch that theirs has,
 * too. Engine lock held. Returns MPI_SUCCESS (all have left; failures are errors again),
 * RZM_ROLLBACK (go to the next round) or an error class.
 */
int rz_ft_reinit_leave(void);

/* Whether this process has ever rolled back to its restart point. */
bool rz_ft_went_back(void);

/*
 * A call returned RZM_ROLLBACK and the entry point has unwound and released the engine lock: jumps
 * to the round of the open MPIX_Reinit. Defined in src/abi/reinit.c, with the frame it jumps to;
 * asserts that MPIX_Reinit is open.
 */
_Noreturn void rz_ft_rollback(void);

/* Of the layer ft (engine/hooks.h). */
extern const struct rz_hooks rz_ft_hooks;

#endif
