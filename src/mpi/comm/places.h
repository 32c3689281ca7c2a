/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the members of a communicator are: by the nodes of their processes when the epoch began.
 * That is equal at all members, and no roll-back or failure changes it, since communicators end
 * with their epoch; in a job that rewinds, where they do not, restored processes keep the nodes of
 * the epoch in which the program began (engine/liveness.c). A process that came later has no place
 * that all members know: of a communicator that holds one, nothing is known. _look_for_: finds it,
 * once for each communicator.
 */
#ifndef RZ_MPI_PLACES_H
#define RZ_MPI_PLACES_H

#include "mpi/comm/comm.h"

/* Whether the ranks of the job outnumber its processors, and where the members are. */
enum rz_oversubscribed rz_comm_look_for_oversubscription(struct rz_comm *comm);
static inline enum rz_oversubscribed rz_comm_oversubscribed(struct rz_comm *comm)
{
    return comm->oversubscribed != RZ_OVERSUBSCRIBED_UNKNOWN
               ? comm->oversubscribed
               : rz_comm_look_for_oversubscription(comm);
}

/* How the members lie on nodes. */
enum rz_grouping rz_comm_look_for_grouping(struct rz_comm *comm);
static inline enum rz_grouping rz_comm_grouping(struct rz_comm *comm)
{
    return comm->grouping != RZ_GROUPING_UNKNOWN ? comm->grouping : rz_comm_look_for_grouping(comm);
}

/* Numbers the nodes of comm, whose grouping is RZ_GROUPING_NODES or more, from 0 in the order of
 * their lowest ranks: sets that of each rank. Returns how many there are. */
int rz_comm_number_nodes(const struct rz_comm *comm, int node[]);

extern const struct rz_hooks rz_places_hooks;

#endif
