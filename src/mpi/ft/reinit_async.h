/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous roll-back: a thread that computes without calling MPI is brought back, too. The
 * entry points own the frame it is brought to (abi/reinit.c); here is how it is interrupted.
 *
 * Nothing of this exists in a process that does not ask for it.
 */
#ifndef RZ_MPI_REINIT_ASYNC_H
#define RZ_MPI_REINIT_ASYNC_H

#include <stdbool.h>

/* The signal's number, where it is not to be RZ_REINIT_SIGNAL_DEFAULT: of all processes alike. */
#define RZ_REINIT_SIGNAL "RZ_REINIT_SIGNAL"

/* From here the calling thread, which is inside MPIX_Reinit, is interrupted when the job goes back:
 * go_back is called in it between two instructions of the program's own code (port/nudge.h), not
 * while it is masked or runs a function of the user that the library called. MPI_SUCCESS or an
 * error class. Nothing to do without a launcher. */
int rz_reinit_async_begin(void (*go_back)(void));
void rz_reinit_async_end(void);

/* The thread is in the library, on its way to a restart: it need not be interrupted, until it
 * stands in the engine's epoch. */
void rz_reinit_async_rests(void);
void rz_reinit_async_stands(void);

/* Not between mask and unmask, which count. unmask: false when it was not masked. */
void rz_reinit_mask(void);
bool rz_reinit_unmask(void);
void rz_reinit_mask_forget(void);
bool rz_reinit_is_masked(void);

#endif
