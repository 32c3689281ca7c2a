/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the parts that plans take from the arguments of collective calls.
 */
#ifndef RZ_MPI_COLL_ARGUMENTS_H
#define RZ_MPI_COLL_ARGUMENTS_H

#include "mpi/coll/coll.h"

/* What this process contributes or receives, in *place; NULL for MPI_IN_PLACE. */
static inline struct rz_part *rz_part_of(struct rz_part *place, const void *buffer, MPI_Count count,
                                         struct rz_datatype *datatype)
{
    *place = (struct rz_part){(char *)(uintptr_t)buffer, count, datatype};
    return buffer == MPI_IN_PLACE ? NULL : place;
}

/* The same count for each rank. */
static inline struct rz_parts rz_parts_regular(const void *buffer, MPI_Count count,
                                               struct rz_datatype *datatype)
{
    return (struct rz_parts){
        .buffer = (char *)(uintptr_t)buffer, .count = count, .datatype = datatype};
}

/* A count and a displacement for each rank. */
static inline struct rz_parts rz_parts_listed(const void *buffer, struct rz_counts counts,
                                              struct rz_counts displacements,
                                              struct rz_datatype *datatype)
{
    return (struct rz_parts){.buffer = (char *)(uintptr_t)buffer,
                             .counts = counts,
                             .displacements = displacements,
                             .datatype = datatype};
}

/* A count, a displacement and a datatype for each rank. */
static inline struct rz_parts rz_parts_typed(const void *buffer, struct rz_counts counts,
                                             struct rz_counts displacements,
                                             const MPI_Datatype *datatypes)
{
    return (struct rz_parts){.buffer = (char *)(uintptr_t)buffer,
                             .counts = counts,
                             .displacements = displacements,
                             .datatypes = datatypes};
}

static inline struct rz_reduction rz_reduction_of(const void *sendbuf, void *recvbuf,
                                                  MPI_Count count, struct rz_datatype *datatype,
                                                  struct rz_op *op)
{
    return (struct rz_reduction){.from = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf,
                                 .to = recvbuf,
                                 .count = count,
                                 .datatype = datatype,
                                 .op = op};
}

#endif
