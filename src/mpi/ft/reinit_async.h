/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous roll-back: a thread that computes without calling MPI is rolled back, too. The entry
 * points own the stack frame to which it jumps (abi/reinit.c); this module interrupts it.
 *
 * A process that does not request it has no helper thread and no signal handler.
 */
#ifndef RZ_MPI_REINIT_ASYNC_H
#define RZ_MPI_REINIT_ASYNC_H

#include <stdbool.h>

/* The environment variable with the number of the signal, if it is not RZ_REINIT_SIGNAL_DEFAULT;
 * equal at all processes. */
#define RZ_REINIT_SIGNAL "RZ_REINIT_SIGNAL"

/*
 * From now on the calling thread, which is inside MPIX_Reinit, is interrupted when the job rolls
 * back: go_back is called in it between two instructions of the program's own code (port/nudge.h),
 * but not while it is masked or runs a function of the user that the library called. MPI_SUCCESS or
 * an error class. Does nothing without a launcher.
 */
int rz_reinit_async_begin(void (*go_back)(void));
void rz_reinit_async_end(void);

/* rests: the thread is in the library, on its way to a restart, and need not be interrupted.
 * stands: it has entered the engine's epoch, and may be interrupted again. */
void rz_reinit_async_rests(void);
void rz_reinit_async_stands(void);

/* The thread is not interrupted between mask and unmask, which are counted. rz_reinit_unmask: false
 * when it was not masked. */
void rz_reinit_mask(void);
bool rz_reinit_unmask(void);
void rz_reinit_mask_forget(void);
bool rz_reinit_is_masked(void);

#endif
