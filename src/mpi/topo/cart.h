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

/* The rank `distance` further along one dimension, or MPI_PROC_NULL beyond its end. */
int rz_cart_neighbour(const struct rz_cart *cart, int rank, int direction, int64_t distance);

#endif
