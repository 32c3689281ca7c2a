/* Attributes that users cache on communicators. */
#ifndef RZ_MPI_ATTRIBUTE_H
#define RZ_MPI_ATTRIBUTE_H

#include "mpi/comm.h"

/* MPI_Comm_dup: runs the copy functions of the user; the first error of one ends it. The engine
 * lock is given up meanwhile. */
int rz_attributes_copy(struct rz_comm *from, struct rz_comm *to);

/* MPI_Comm_free: runs the delete functions of the user, newest attribute first. */
int rz_attributes_delete(struct rz_comm *comm);

/* The communicator ends without the user having asked for it (roll-back): no function of the user
 * runs. */
void rz_attributes_forget(struct rz_comm *comm);

#endif
