/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Revocation: from now on a communicator can only be used for agree, shrink, inquiries and free.
 */
#ifndef RZ_MPI_COMM_REVOKE_H
#define RZ_MPI_COMM_REVOKE_H

#include "mpi/agree/revoke_nodes.h"

/* How a process that revokes comm tells the others. */
enum rz_revoke_way rz_comm_revoke_way(const struct rz_comm *comm);

/* Revokes comm here and tells the other members; MPI_ERR_NO_MEM: they were not told. Not called
 * from inside a callback of a transport. */
int rz_comm_revoke(struct rz_comm *comm);

/* Revokes comm, or every communicator, if a process in its error range is known to have failed. Not
 * called from inside a callback of a transport. */
void rz_comm_look_at_range(struct rz_comm *comm);
void rz_comms_look_at_ranges(void);

#endif
