/* SPDX-License-Identifier: BSD-3-Clause */
/* Cartesian topologies, kept at rz_comm.topology. */
#ifndef RZ_MPI_CART_H
#define RZ_MPI_CART_H

#include "mpi/topo/topology.h"

/* Immutable. The coordinates of a rank are its digits in the mixed base `dims`; the first dimension
 * varies slowest. */
struct rz_cart {
    struct rz_topology topology;
    int ndims;
    int *dims;     /* [ndims] */
    int *periodic; /* [ndims]: 0 or 1 */
};

/* The topology of comm, or NULL with *error set to MPI_ERR_TOPOLOGY. */
const struct rz_cart *rz_cart_of(const struct rz_comm *comm, int *error);

/* Gives comm this topology, copied. MPI_ERR_NO_MEM. */
int rz_cart_attach(struct rz_comm *comm, int ndims, const int dims[], const int periods[]);

/* The rank `distance` further along one dimension, or MPI_PROC_NULL beyond its end. */
int rz_cart_neighbour(const struct rz_cart *cart, int rank, int direction, int64_t distance);

#endif
