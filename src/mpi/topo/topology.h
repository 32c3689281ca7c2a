/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies, kept at rz_comm.topology. */
#ifndef RZ_MPI_TOPOLOGY_H
#define RZ_MPI_TOPOLOGY_H

#include "mpi/comm/comm.h"

/* The first member of every topology. */
struct rz_topology {
    int kind; /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
};

/* The kind of comm's topology; MPI_UNDEFINED: it has none. */
int rz_topology_kind(const struct rz_comm *comm);

#endif
