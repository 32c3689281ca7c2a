/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time in which the library runs: from the first of MPI_Init and MPI_Session_init to the end of
 * the last model, or of the process.
 */
#ifndef RZ_MPI_LIFE_H
#define RZ_MPI_LIFE_H

#include <stdint.h>

/*
 * A session is about to open: the library runs when this returns MPI_SUCCESS. The first session of
 * a process waits for all other processes of the job, as MPI_Init does. MPI_ERR_OTHER: the library
 * cannot run (again).
 */
int rz_init_session_begins(void);

/* Waits until the messages that this process has sent need it no more: those of requests of the
 * session (request.h, RZ_SESSION_ANY: of all), and those of the library itself, which need only
 * that their receivers call MPI. MPI_SUCCESS or RZM_ROLLBACK. */
int rz_init_all_sent(const char *call, uint64_t session);

#endif
