/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that serves the messages of other nodes while the program computes. It sleeps as a call
 * of MPI would, and steps aside while another thread is inside one. It is started with the first
 * window that has members on other nodes and permits passive target epochs.
 */
#ifndef RZ_MPI_RMA_THREAD_H
#define RZ_MPI_RMA_THREAD_H

#include <stdbool.h>

/* Starts it, unless it runs; from now on threads share the engine. The caller is inside a call that
 * reads nothing of the engine any more. Without memory for a thread the messages are served when
 * the program calls MPI. */
void rz_rma_thread_start(void);

/* Ends it. The engine lock is held, and given up meanwhile if the thread is still at work. In a job
 * that rewinds the thread ends its work with the last window: no image can have it. */
void rz_rma_thread_stop(void);

/* Whether there is no such thread. The engine lock is held, and kept: a thread that has no window
 * to serve any more ends soon. */
bool rz_rma_thread_rests(void);

#endif
