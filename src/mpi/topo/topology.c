/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Topo_test, and the kind of a communicator's topology.
 */
#include "mpi/topo/topology.h"

int rz_topology_kind(const struct rz_comm *comm)
{
    const struct rz_topology *topology = comm->topology;
    return topology ? topology->kind : MPI_UNDEFINED;
}

int rzm_topo_test(struct rz_comm *comm, int *status)
{
    *status = rz_topology_kind(comm);
    return MPI_SUCCESS;
}
