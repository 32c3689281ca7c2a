/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective operations of a communicator of one process: a copy, without a schedule.
 */
#include "mpi/coll_plans.h"

/* As rz_schedule_begin; to communicate with itself a process is always admitted. */
static inline int begin(struct rz_comm *comm, const char *call)
{
    int error = rz_engine_begin_quick();
    if (error == MPI_SUCCESS) {
        rz_comm_count_operation(comm, call);
    }
    return error;
}

int rz_alone_barrier(struct rz_comm *comm)
{
    return begin(comm, "MPI_Barrier");
}

int rz_alone_bcast(void *buffer, MPI_Count count, struct rz_datatype *datatype, int root,
                   struct rz_comm *comm)
{
    (void)buffer;
    (void)count;
    (void)datatype;
    (void)root;
    return begin(comm, "MPI_Bcast");
}

/* The one contribution is the result. */
int rz_alone_allreduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                       struct rz_datatype *datatype, struct rz_op *op, struct rz_comm *comm)
{
    int error = begin(comm, "MPI_Allreduce");
    if (error == MPI_SUCCESS) {
        error = rz_op_check(op, datatype);
    }
    if (error != MPI_SUCCESS || sendbuf == MPI_IN_PLACE) {
        return error;
    }
    if (datatype->contiguous) {
        memcpy(rz_datatype_row(datatype, recvbuf), rz_datatype_row(datatype, sendbuf),
               (size_t)rz_datatype_bytes(datatype, count));
        return MPI_SUCCESS;
    }
    return rz_datatype_copy(datatype, count, sendbuf, datatype, count, recvbuf);
}
