/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of collective operations, as their plans take them. */
#include "mpi/coll/coll_arguments.h"
#include "mpi/coll_plans.h"

struct rz_schedule *rz_coll_barrier(struct rz_schedule *schedule)
{
    return rz_plan_barrier(schedule);
}

struct rz_schedule *rz_coll_bcast(struct rz_schedule *schedule, void *buffer, MPI_Count count,
                                  struct rz_datatype *datatype, int root)
{
    struct rz_part part = {buffer, count, datatype};
    return rz_plan_bcast(schedule, &part, root);
}

/* ---- From or to one rank ---- */

struct rz_schedule *rz_coll_gather(struct rz_schedule *schedule, const void *sendbuf,
                                   MPI_Count sendcount, struct rz_datatype *sendtype, void *recvbuf,
                                   MPI_Count recvcount, struct rz_datatype *recvtype, int root)
{
    struct rz_part place, *mine = rz_part_of(&place, sendbuf, sendcount, sendtype);
    struct rz_parts all = rz_parts_regular(recvbuf, recvcount, recvtype);
    return rz_plan_gather(schedule, mine, &all, root);
}

struct rz_schedule *rz_coll_gatherv(struct rz_schedule *schedule, const void *sendbuf,
                                    MPI_Count sendcount, struct rz_datatype *sendtype,
                                    void *recvbuf, struct rz_counts recvcounts,
                                    struct rz_counts displs, struct rz_datatype *recvtype, int root)
{
    struct rz_part place, *mine = rz_part_of(&place, sendbuf, sendcount, sendtype);
    struct rz_parts all = rz_parts_listed(recvbuf, recvcounts, displs, recvtype);
    return rz_plan_gather(schedule, mine, &all, root);
}

struct rz_schedule *rz_coll_scatter(struct rz_schedule *schedule, const void *sendbuf,
                                    MPI_Count sendcount, struct rz_datatype *sendtype,
                                    void *recvbuf, MPI_Count recvcount,
                                    struct rz_datatype *recvtype, int root)
{
    struct rz_part place, *mine = rz_part_of(&place, recvbuf, recvcount, recvtype);
    struct rz_parts all = rz_parts_regular(sendbuf, sendcount, sendtype);
    return rz_plan_scatter(schedule, &all, mine, root);
}

struct rz_schedule *rz_coll_scatterv(struct rz_schedule *schedule, const void *sendbuf,
                                     struct rz_counts sendcounts, struct rz_counts displs,
                                     struct rz_datatype *sendtype, void *recvbuf,
                                     MPI_Count recvcount, struct rz_datatype *recvtype, int root)
{
    struct rz_part place, *mine = rz_part_of(&place, recvbuf, recvcount, recvtype);
    struct rz_parts all = rz_parts_listed(sendbuf, sendcounts, displs, sendtype);
    return rz_plan_scatter(schedule, &all, mine, root);
}

/* ---- From and to all ranks ---- */

struct rz_schedule *rz_coll_allgather(struct rz_schedule *schedule, const void *sendbuf,
                                      MPI_Count sendcount, struct rz_datatype *sendtype,
                                      void *recvbuf, MPI_Count recvcount,
                                      struct rz_datatype *recvtype)
{
    struct rz_part place, *mine = rz_part_of(&place, sendbuf, sendcount, sendtype);
    struct rz_parts all = rz_parts_regular(recvbuf, recvcount, recvtype);
    return rz_plan_allgather(schedule, mine, &all);
}

struct rz_schedule *rz_coll_allgatherv(struct rz_schedule *schedule, const void *sendbuf,
                                       MPI_Count sendcount, struct rz_datatype *sendtype,
                                       void *recvbuf, struct rz_counts recvcounts,
                                       struct rz_counts displs, struct rz_datatype *recvtype)
{
    struct rz_part place, *mine = rz_part_of(&place, sendbuf, sendcount, sendtype);
    struct rz_parts all = rz_parts_listed(recvbuf, recvcounts, displs, recvtype);
    return rz_plan_allgather(schedule, mine, &all);
}

struct rz_schedule *rz_coll_alltoall(struct rz_schedule *schedule, const void *sendbuf,
                                     MPI_Count sendcount, struct rz_datatype *sendtype,
                                     void *recvbuf, MPI_Count recvcount,
                                     struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_regular(sendbuf, sendcount, sendtype);
    struct rz_parts in = rz_parts_regular(recvbuf, recvcount, recvtype);
    return rz_plan_alltoall(schedule, sendbuf == MPI_IN_PLACE ? NULL : &out, &in);
}

struct rz_schedule *rz_coll_alltoallv(struct rz_schedule *schedule, const void *sendbuf,
                                      struct rz_counts sendcounts, struct rz_counts sdispls,
                                      struct rz_datatype *sendtype, void *recvbuf,
                                      struct rz_counts recvcounts, struct rz_counts rdispls,
                                      struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_listed(sendbuf, sendcounts, sdispls, sendtype);
    struct rz_parts in = rz_parts_listed(recvbuf, recvcounts, rdispls, recvtype);
    return rz_plan_alltoall(schedule, sendbuf == MPI_IN_PLACE ? NULL : &out, &in);
}

struct rz_schedule *rz_coll_alltoallw(struct rz_schedule *schedule, const void *sendbuf,
                                      struct rz_counts sendcounts, struct rz_counts sdispls,
                                      const MPI_Datatype sendtypes[], void *recvbuf,
                                      struct rz_counts recvcounts, struct rz_counts rdispls,
                                      const MPI_Datatype recvtypes[])
{
    struct rz_parts out = rz_parts_typed(sendbuf, sendcounts, sdispls, sendtypes);
    struct rz_parts in = rz_parts_typed(recvbuf, recvcounts, rdispls, recvtypes);
    return rz_plan_alltoall(schedule, sendbuf == MPI_IN_PLACE ? NULL : &out, &in);
}

/* ---- Reductions ---- */

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
