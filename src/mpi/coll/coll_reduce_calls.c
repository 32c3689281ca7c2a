/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of collective operations that reduce, as their plans take them. */
#include "mpi/coll/coll_arguments.h"
#include "mpi/coll_plans.h"

/* Whether op is defined for datatype. If not, no process sends anything, since all members pass the
 * same arguments. */
static bool fits(struct rz_schedule *schedule, const struct rz_op *op,
                 const struct rz_datatype *datatype)
{
    int error = rz_op_check(op, datatype);
    if (error != MPI_SUCCESS) {
        rz_schedule_refuse(schedule, error);
    }
    return error == MPI_SUCCESS;
}

struct rz_schedule *rz_coll_reduce(struct rz_schedule *schedule, const void *sendbuf, void *recvbuf,
                                   MPI_Count count, struct rz_datatype *datatype, struct rz_op *op,
                                   int root)
{
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    return fits(schedule, op, datatype) ? rz_plan_reduce(schedule, &reduction, root) : schedule;
}

struct rz_schedule *rz_coll_allreduce(struct rz_schedule *schedule, const void *sendbuf,
                                      void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
                                      struct rz_op *op)
{
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    return fits(schedule, op, datatype) ? rz_plan_allreduce(schedule, &reduction) : schedule;
}

struct rz_schedule *rz_coll_reduce_scatter(struct rz_schedule *schedule, const void *sendbuf,
                                           void *recvbuf, struct rz_counts recvcounts,
                                           struct rz_datatype *datatype, struct rz_op *op)
{
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, 0, datatype, op);
    struct rz_parts blocks = {.datatype = datatype, .counts = recvcounts};
    return fits(schedule, op, datatype) ? rz_plan_reduce_scatter(schedule, &reduction, &blocks)
                                        : schedule;
}

struct rz_schedule *rz_coll_reduce_scatter_block(struct rz_schedule *schedule, const void *sendbuf,
                                                 void *recvbuf, MPI_Count recvcount,
                                                 struct rz_datatype *datatype, struct rz_op *op)
{
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, 0, datatype, op);
    struct rz_parts blocks = {.datatype = datatype, .count = recvcount};
    return fits(schedule, op, datatype) ? rz_plan_reduce_scatter(schedule, &reduction, &blocks)
                                        : schedule;
}

struct rz_schedule *rz_coll_scan(struct rz_schedule *schedule, const void *sendbuf, void *recvbuf,
                                 MPI_Count count, struct rz_datatype *datatype, struct rz_op *op)
{
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    return fits(schedule, op, datatype) ? rz_plan_scan(schedule, &reduction, false) : schedule;
}

struct rz_schedule *rz_coll_exscan(struct rz_schedule *schedule, const void *sendbuf, void *recvbuf,
                                   MPI_Count count, struct rz_datatype *datatype, struct rz_op *op)
{
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    return fits(schedule, op, datatype) ? rz_plan_scan(schedule, &reduction, true) : schedule;
}
