/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes the arguments of neighbourhood collectives to their plan.
 */
#include "mpi/topo/coll_neighbour.h"
#include "mpi/coll_plans.h"

struct rz_schedule *rz_coll_neighbor_allgather(struct rz_schedule *schedule, const void *sendbuf,
                                               MPI_Count sendcount, struct rz_datatype *sendtype,
                                               void *recvbuf, MPI_Count recvcount,
                                               struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_regular(sendbuf, sendcount, sendtype);
    struct rz_parts in = rz_parts_regular(recvbuf, recvcount, recvtype);
    out.same = true;
    return rz_plan_neighbours(schedule, &out, &in);
}

struct rz_schedule *rz_coll_neighbor_allgatherv(struct rz_schedule *schedule, const void *sendbuf,
                                                MPI_Count sendcount, struct rz_datatype *sendtype,
                                                void *recvbuf, struct rz_counts recvcounts,
                                                struct rz_counts displs,
                                                struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_regular(sendbuf, sendcount, sendtype);
    struct rz_parts in = rz_parts_listed(recvbuf, recvcounts, displs, recvtype);
    out.same = true;
    return rz_plan_neighbours(schedule, &out, &in);
}

struct rz_schedule *rz_coll_neighbor_alltoall(struct rz_schedule *schedule, const void *sendbuf,
                                              MPI_Count sendcount, struct rz_datatype *sendtype,
                                              void *recvbuf, MPI_Count recvcount,
                                              struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_regular(sendbuf, sendcount, sendtype);
    struct rz_parts in = rz_parts_regular(recvbuf, recvcount, recvtype);
    return rz_plan_neighbours(schedule, &out, &in);
}

struct rz_schedule *
rz_coll_neighbor_alltoallv(struct rz_schedule *schedule, const void *sendbuf,
                           struct rz_counts sendcounts, struct rz_counts sdispls,
                           struct rz_datatype *sendtype, void *recvbuf, struct rz_counts recvcounts,
                           struct rz_counts rdispls, struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_listed(sendbuf, sendcounts, sdispls, sendtype);
    struct rz_parts in = rz_parts_listed(recvbuf, recvcounts, rdispls, recvtype);
    return rz_plan_neighbours(schedule, &out, &in);
}

struct rz_schedule *rz_coll_neighbor_alltoallw(
    struct rz_schedule *schedule, const void *sendbuf, struct rz_counts sendcounts,
    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
    struct rz_counts recvcounts, const MPI_Aint rdispls[], const MPI_Datatype recvtypes[])
{
    struct rz_parts out =
        rz_parts_typed(sendbuf, sendcounts, (struct rz_counts){.wide = sdispls}, sendtypes);
    struct rz_parts in =
        rz_parts_typed(recvbuf, recvcounts, (struct rz_counts){.wide = rdispls}, recvtypes);
    return rz_plan_neighbours(schedule, &out, &in);
}
