/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators whose failed members are replaced (RZ_Comm_replace, RZ_Comm_repair).
 */
#ifndef RZ_MPI_COMM_REPAIR_H
#define RZ_MPI_COMM_REPAIR_H

#include "mpi/comm/comm.h"

/*
 * Replaces the failed processes of n communicators, of which this process has some (comms[i] NULL:
 * it does not have that one); n and the index of each are equal at all their members. A process
 * without any, which replaces a failed one, joins those for which it gets bootstrap messages.
 * made[i]: the new communicator for index i, or NULL.
 *
 * MPI_SUCCESS; or an error that the other members return as well, or, without any bootstrap
 * message, an error of this process alone: MPI_ERR_SPAWN (the runtime starts no processes, or those
 * that it starts fail again and again), MPI_ERR_PROC_FAILED (no process is left that could send
 * one), MPI_ERR_COMM, MPI_ERR_ARG, MPI_ERR_NO_MEM (nothing was done), RZM_ROLLBACK. After an error
 * made has the communicators that were finished before.
 */
int rz_repair(const char *call, uint32_t n, struct rz_comm *const comms[], struct rz_comm *made[]);

#endif
