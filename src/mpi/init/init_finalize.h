/* SPDX-License-Identifier: BSD-3-Clause */
/* When the library runs: from the first of MPI_Init and MPI_Session_init to the end of the last
 * model, or of the process. */
#ifndef RZ_MPI_LIFE_H
#define RZ_MPI_LIFE_H

/*
 * A session is about to open: the library runs when this returns MPI_SUCCESS. The first of a
 * process waits for all others of the job, as MPI_Init does. MPI_ERR_OTHER: it cannot run (again).
 */
int rz_init_session_begins(void);

/* Waits until what this process has sent is on its way without it. MPI_SUCCESS or RZM_ROLLBACK. */
int rz_init_all_sent(const char *call);

#endif
