/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbourhood collectives as plans. */
#ifndef RZ_MPI_COLL_NEIGHBOUR_H
#define RZ_MPI_COLL_NEIGHBOUR_H

#include "mpi/coll/coll_arguments.h"
#include "mpi/topo/neighbours.h"

/* Sends part k of `out` along edge k out of this process, and receives part k of `in` along edge k
 * into it. The communicator has a topology. */
struct rz_schedule *rz_plan_neighbours(struct rz_schedule *schedule, const struct rz_parts *out,
                                       const struct rz_parts *in);

#endif
