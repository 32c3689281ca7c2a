/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbourhood collectives as plans. */
#ifndef RZ_MPI_COLL_NEIGHBOUR_H
#define RZ_MPI_COLL_NEIGHBOUR_H

#include "mpi/coll/coll_arguments.h"
#include "mpi/topo/neighbours.h"

/* Along edge k out of this process part k of `out`, along edge k into it part k of `in`. The
 * communicator has a topology. */
struct rz_schedule *rz_plan_neighbours(struct rz_schedule *schedule, const struct rz_parts *out,
                                       const struct rz_parts *in);

#endif
