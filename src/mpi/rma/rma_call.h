/* SPDX-License-Identifier: BSD-3-Clause */
/* An operation as the user calls it. */
#ifndef RZ_MPI_RMA_CALL_H
#define RZ_MPI_RMA_CALL_H

#include "mpi/rma/rma_apply.h"
#include "mpi/rma/rma_origin.h"

/* What a call of the user says. Types are NULL where the call has none. */
struct rz_rma_call {
    const char *name;
    struct rz_win *win;
    enum rz_rma_what what;
    struct rz_op *op; /* ACCUMULATE */
    /* data that go to the target; SWAP: the new value, and `compare` */
    const void *origin;
    MPI_Count origin_count;
    struct rz_datatype *origin_type;
    const void *compare;
    struct rz_rma_result result;
    int rank;
    MPI_Aint disp;
    MPI_Count count;
    struct rz_datatype *type;
};

/* The types that the standard allows for compare and swap: integers, logicals, MPI_BYTE, MPI_AINT
 * and their like. */
static inline bool rz_rma_is_comparable(const struct rz_datatype *datatype)
{
    enum rz_number number = rz_number_of(datatype);
    return (number >= RZ_NUMBER_I8 && number <= RZ_NUMBER_U64) ||
           (number >= RZ_NUMBER_L8 && number <= RZ_NUMBER_BYTE);
}

#endif
