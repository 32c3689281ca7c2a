/* The chapter functions of neighbourhood collectives: arguments into parts, and each plan run,
 * started or kept. */
#include "mpi/coll_neighbour.h"

/* ---- MPI_Neighbor_allgather ---- */

static struct rz_schedule *plan_allgather(struct rz_schedule *schedule, const void *sendbuf,
                                          MPI_Count sendcount, struct rz_datatype *sendtype,
                                          void *recvbuf, MPI_Count recvcount,
                                          struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_regular(sendbuf, sendcount, sendtype);
    struct rz_parts in = rz_parts_regular(recvbuf, recvcount, recvtype);
    out.same = true;
    return rz_plan_neighbours(schedule, &out, &in);
}

int rzm_neighbor_allgather(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                           void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                           struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Neighbor_allgather", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_allgather(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                recvcount, recvtype));
}

int rzm_ineighbor_allgather(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                            void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                            struct rz_comm *comm, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Ineighbor_allgather", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_allgather(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                  recvcount, recvtype),
                                   request);
}

int rzm_neighbor_allgather_init(const void *sendbuf, MPI_Count sendcount,
                                struct rz_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                                struct rz_datatype *recvtype, struct rz_comm *comm,
                                struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Neighbor_allgather_init", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_keep(plan_allgather(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                 recvcount, recvtype),
                                  request);
}

/* ---- MPI_Neighbor_allgatherv ---- */

static struct rz_schedule *plan_allgatherv(struct rz_schedule *schedule, const void *sendbuf,
                                           MPI_Count sendcount, struct rz_datatype *sendtype,
                                           void *recvbuf, struct rz_counts recvcounts,
                                           struct rz_counts displs, struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_regular(sendbuf, sendcount, sendtype);
    struct rz_parts in = rz_parts_listed(recvbuf, recvcounts, displs, recvtype);
    out.same = true;
    return rz_plan_neighbours(schedule, &out, &in);
}

int rzm_neighbor_allgatherv(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                            void *recvbuf, struct rz_counts recvcounts, struct rz_counts displs,
                            struct rz_datatype *recvtype, struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Neighbor_allgatherv", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_allgatherv(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                 recvcounts, displs, recvtype));
}

int rzm_ineighbor_allgatherv(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                             void *recvbuf, struct rz_counts recvcounts, struct rz_counts displs,
                             struct rz_datatype *recvtype, struct rz_comm *comm,
                             struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Ineighbor_allgatherv", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_allgatherv(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                   recvcounts, displs, recvtype),
                                   request);
}

int rzm_neighbor_allgatherv_init(const void *sendbuf, MPI_Count sendcount,
                                 struct rz_datatype *sendtype, void *recvbuf,
                                 struct rz_counts recvcounts, struct rz_counts displs,
                                 struct rz_datatype *recvtype, struct rz_comm *comm,
                                 struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Neighbor_allgatherv_init", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_keep(plan_allgatherv(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                  recvcounts, displs, recvtype),
                                  request);
}

/* ---- MPI_Neighbor_alltoall ---- */

static struct rz_schedule *plan_alltoall(struct rz_schedule *schedule, const void *sendbuf,
                                         MPI_Count sendcount, struct rz_datatype *sendtype,
                                         void *recvbuf, MPI_Count recvcount,
                                         struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_regular(sendbuf, sendcount, sendtype);
    struct rz_parts in = rz_parts_regular(recvbuf, recvcount, recvtype);
    return rz_plan_neighbours(schedule, &out, &in);
}

int rzm_neighbor_alltoall(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                          void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                          struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Neighbor_alltoall", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_alltoall(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                               recvcount, recvtype));
}

int rzm_ineighbor_alltoall(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                           void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                           struct rz_comm *comm, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Ineighbor_alltoall", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_alltoall(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                 recvcount, recvtype),
                                   request);
}

int rzm_neighbor_alltoall_init(const void *sendbuf, MPI_Count sendcount,
                               struct rz_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                               struct rz_datatype *recvtype, struct rz_comm *comm,
                               struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Neighbor_alltoall_init", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_keep(plan_alltoall(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                recvcount, recvtype),
                                  request);
}

/* ---- MPI_Neighbor_alltoallv ---- */

static struct rz_schedule *plan_alltoallv(struct rz_schedule *schedule, const void *sendbuf,
                                          struct rz_counts sendcounts, struct rz_counts sdispls,
                                          struct rz_datatype *sendtype, void *recvbuf,
                                          struct rz_counts recvcounts, struct rz_counts rdispls,
                                          struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_listed(sendbuf, sendcounts, sdispls, sendtype);
    struct rz_parts in = rz_parts_listed(recvbuf, recvcounts, rdispls, recvtype);
    return rz_plan_neighbours(schedule, &out, &in);
}

int rzm_neighbor_alltoallv(const void *sendbuf, struct rz_counts sendcounts,
                           struct rz_counts sdispls, struct rz_datatype *sendtype, void *recvbuf,
                           struct rz_counts recvcounts, struct rz_counts rdispls,
                           struct rz_datatype *recvtype, struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Neighbor_alltoallv", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_alltoallv(schedule, sendbuf, sendcounts, sdispls, sendtype,
                                                recvbuf, recvcounts, rdispls, recvtype));
}

int rzm_ineighbor_alltoallv(const void *sendbuf, struct rz_counts sendcounts,
                            struct rz_counts sdispls, struct rz_datatype *sendtype, void *recvbuf,
                            struct rz_counts recvcounts, struct rz_counts rdispls,
                            struct rz_datatype *recvtype, struct rz_comm *comm,
                            struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Ineighbor_alltoallv", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_alltoallv(schedule, sendbuf, sendcounts, sdispls, sendtype,
                                                  recvbuf, recvcounts, rdispls, recvtype),
                                   request);
}

int rzm_neighbor_alltoallv_init(const void *sendbuf, struct rz_counts sendcounts,
                                struct rz_counts sdispls, struct rz_datatype *sendtype,
                                void *recvbuf, struct rz_counts recvcounts,
                                struct rz_counts rdispls, struct rz_datatype *recvtype,
                                struct rz_comm *comm, struct rz_info *info,
                                struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Neighbor_alltoallv_init", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_keep(plan_alltoallv(schedule, sendbuf, sendcounts, sdispls, sendtype,
                                                 recvbuf, recvcounts, rdispls, recvtype),
                                  request);
}

/* ---- MPI_Neighbor_alltoallw ---- */

static struct rz_schedule *plan_alltoallw(struct rz_schedule *schedule, const void *sendbuf,
                                          struct rz_counts sendcounts, const MPI_Aint sdispls[],
                                          const MPI_Datatype sendtypes[], void *recvbuf,
                                          struct rz_counts recvcounts, const MPI_Aint rdispls[],
                                          const MPI_Datatype recvtypes[])
{
    struct rz_parts out =
        rz_parts_typed(sendbuf, sendcounts, (struct rz_counts){.wide = sdispls}, sendtypes);
    struct rz_parts in =
        rz_parts_typed(recvbuf, recvcounts, (struct rz_counts){.wide = rdispls}, recvtypes);
    return rz_plan_neighbours(schedule, &out, &in);
}

int rzm_neighbor_alltoallw(const void *sendbuf, struct rz_counts sendcounts,
                           const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                           struct rz_counts recvcounts, const MPI_Aint rdispls[],
                           const MPI_Datatype recvtypes[], struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Neighbor_alltoallw", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_alltoallw(schedule, sendbuf, sendcounts, sdispls, sendtypes,
                                                recvbuf, recvcounts, rdispls, recvtypes));
}

int rzm_ineighbor_alltoallw(const void *sendbuf, struct rz_counts sendcounts,
                            const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                            struct rz_counts recvcounts, const MPI_Aint rdispls[],
                            const MPI_Datatype recvtypes[], struct rz_comm *comm,
                            struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Ineighbor_alltoallw", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_alltoallw(schedule, sendbuf, sendcounts, sdispls, sendtypes,
                                                  recvbuf, recvcounts, rdispls, recvtypes),
                                   request);
}

int rzm_neighbor_alltoallw_init(const void *sendbuf, struct rz_counts sendcounts,
                                const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                void *recvbuf, struct rz_counts recvcounts,
                                const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                struct rz_comm *comm, struct rz_info *info,
                                struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Neighbor_alltoallw_init", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_keep(plan_alltoallw(schedule, sendbuf, sendcounts, sdispls, sendtypes,
                                                 recvbuf, recvcounts, rdispls, recvtypes),
                                  request);
}
