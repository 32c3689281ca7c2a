/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators whose failed are replaced (RZ_Comm_replace, RZ_Comm_repair). */
#ifndef RZ_MPI_COMM_REPAIR_H
#define RZ_MPI_COMM_REPAIR_H

#include "mpi/comm/comm.h"

/*
 * Replaces the failed processes of n communicators of which this process has some (NULL: not that
 * one); the same n and the same place for each at all their members. A process that has none and
 * came in place of a failed one takes those to which it is invited. made[i]: the new one of place
 * i, or NULL.
 *
 * MPI_SUCCESS; else the others have the same error, or this process was invited by nobody:
 * MPI_ERR_SPAWN (the runtime starts no processes, or those that it starts fail too, again and
 * again), MPI_ERR_PROC_FAILED (nobody lives who could invite), MPI_ERR_COMM, MPI_ERR_ARG,
 * MPI_ERR_NO_MEM (nothing was done), RZM_ROLLBACK. Then made has what was finished before.
 */
int rz_repair(const char *call, uint32_t n, struct rz_comm *const comms[], struct rz_comm *made[]);

#endif
