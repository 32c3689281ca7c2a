/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of collective operations that move data, as their plans take them. */
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
