/* The chapter functions of collective operations that move data: arguments into parts, and each
 * plan run or started. */
#include "mpi/coll_arguments.h"

/* ---- Barrier and broadcast ---- */

int rzm_barrier(struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Barrier", &schedule);
    return error != MPI_SUCCESS ? error : rz_schedule_run(rz_plan_barrier(schedule));
}

int rzm_ibarrier(struct rz_comm *comm, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Ibarrier", &schedule);
    return error != MPI_SUCCESS ? error : rz_schedule_start(rz_plan_barrier(schedule), request);
}

static struct rz_schedule *plan_bcast(struct rz_schedule *schedule, void *buffer, MPI_Count count,
                                      struct rz_datatype *datatype, int root)
{
    struct rz_part part = {buffer, count, datatype};
    return rz_plan_bcast(schedule, &part, root);
}

int rzm_bcast(void *buffer, MPI_Count count, struct rz_datatype *datatype, int root,
              struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Bcast", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_bcast(schedule, buffer, count, datatype, root));
}

int rzm_ibcast(void *buffer, MPI_Count count, struct rz_datatype *datatype, int root,
               struct rz_comm *comm, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Ibcast", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_bcast(schedule, buffer, count, datatype, root), request);
}

/* ---- To and from one ---- */

static struct rz_schedule *plan_gather(struct rz_schedule *schedule, const void *sendbuf,
                                       MPI_Count sendcount, struct rz_datatype *sendtype,
                                       void *recvbuf, MPI_Count recvcount,
                                       struct rz_datatype *recvtype, int root)
{
    struct rz_part place, *mine = rz_part_of(&place, sendbuf, sendcount, sendtype);
    struct rz_parts all = rz_parts_regular(recvbuf, recvcount, recvtype);
    return rz_plan_gather(schedule, mine, &all, root);
}

int rzm_gather(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
               void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype, int root,
               struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Gather", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_gather(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                             recvcount, recvtype, root));
}

int rzm_igather(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype, int root,
                struct rz_comm *comm, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Igather", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_gather(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                               recvcount, recvtype, root),
                                   request);
}

static struct rz_schedule *plan_gatherv(struct rz_schedule *schedule, const void *sendbuf,
                                        MPI_Count sendcount, struct rz_datatype *sendtype,
                                        void *recvbuf, struct rz_counts recvcounts,
                                        struct rz_counts displs, struct rz_datatype *recvtype,
                                        int root)
{
    struct rz_part place, *mine = rz_part_of(&place, sendbuf, sendcount, sendtype);
    struct rz_parts all = rz_parts_listed(recvbuf, recvcounts, displs, recvtype);
    return rz_plan_gather(schedule, mine, &all, root);
}

int rzm_gatherv(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                void *recvbuf, struct rz_counts recvcounts, struct rz_counts displs,
                struct rz_datatype *recvtype, int root, struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Gatherv", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_gatherv(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                              recvcounts, displs, recvtype, root));
}

int rzm_igatherv(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                 void *recvbuf, struct rz_counts recvcounts, struct rz_counts displs,
                 struct rz_datatype *recvtype, int root, struct rz_comm *comm,
                 struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Igatherv", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_gatherv(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                recvcounts, displs, recvtype, root),
                                   request);
}

static struct rz_schedule *plan_scatter(struct rz_schedule *schedule, const void *sendbuf,
                                        MPI_Count sendcount, struct rz_datatype *sendtype,
                                        void *recvbuf, MPI_Count recvcount,
                                        struct rz_datatype *recvtype, int root)
{
    struct rz_part place, *mine = rz_part_of(&place, recvbuf, recvcount, recvtype);
    struct rz_parts all = rz_parts_regular(sendbuf, sendcount, sendtype);
    return rz_plan_scatter(schedule, &all, mine, root);
}

int rzm_scatter(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype, int root,
                struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Scatter", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_scatter(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                              recvcount, recvtype, root));
}

int rzm_iscatter(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                 void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype, int root,
                 struct rz_comm *comm, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Iscatter", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_scatter(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                recvcount, recvtype, root),
                                   request);
}

static struct rz_schedule *plan_scatterv(struct rz_schedule *schedule, const void *sendbuf,
                                         struct rz_counts sendcounts, struct rz_counts displs,
                                         struct rz_datatype *sendtype, void *recvbuf,
                                         MPI_Count recvcount, struct rz_datatype *recvtype,
                                         int root)
{
    struct rz_part place, *mine = rz_part_of(&place, recvbuf, recvcount, recvtype);
    struct rz_parts all = rz_parts_listed(sendbuf, sendcounts, displs, sendtype);
    return rz_plan_scatter(schedule, &all, mine, root);
}

int rzm_scatterv(const void *sendbuf, struct rz_counts sendcounts, struct rz_counts displs,
                 struct rz_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                 struct rz_datatype *recvtype, int root, struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Scatterv", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_scatterv(schedule, sendbuf, sendcounts, displs, sendtype,
                                               recvbuf, recvcount, recvtype, root));
}

int rzm_iscatterv(const void *sendbuf, struct rz_counts sendcounts, struct rz_counts displs,
                  struct rz_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                  struct rz_datatype *recvtype, int root, struct rz_comm *comm,
                  struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Iscatterv", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_scatterv(schedule, sendbuf, sendcounts, displs, sendtype,
                                                 recvbuf, recvcount, recvtype, root),
                                   request);
}

/* ---- From all to all ---- */

static struct rz_schedule *plan_allgather(struct rz_schedule *schedule, const void *sendbuf,
                                          MPI_Count sendcount, struct rz_datatype *sendtype,
                                          void *recvbuf, MPI_Count recvcount,
                                          struct rz_datatype *recvtype)
{
    struct rz_part place, *mine = rz_part_of(&place, sendbuf, sendcount, sendtype);
    struct rz_parts all = rz_parts_regular(recvbuf, recvcount, recvtype);
    return rz_plan_allgather(schedule, mine, &all);
}

int rzm_allgather(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                  void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                  struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Allgather", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_allgather(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                recvcount, recvtype));
}

int rzm_iallgather(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                   void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                   struct rz_comm *comm, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Iallgather", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_allgather(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                  recvcount, recvtype),
                                   request);
}

static struct rz_schedule *plan_allgatherv(struct rz_schedule *schedule, const void *sendbuf,
                                           MPI_Count sendcount, struct rz_datatype *sendtype,
                                           void *recvbuf, struct rz_counts recvcounts,
                                           struct rz_counts displs, struct rz_datatype *recvtype)
{
    struct rz_part place, *mine = rz_part_of(&place, sendbuf, sendcount, sendtype);
    struct rz_parts all = rz_parts_listed(recvbuf, recvcounts, displs, recvtype);
    return rz_plan_allgather(schedule, mine, &all);
}

int rzm_allgatherv(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                   void *recvbuf, struct rz_counts recvcounts, struct rz_counts displs,
                   struct rz_datatype *recvtype, struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Allgatherv", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_allgatherv(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                 recvcounts, displs, recvtype));
}

int rzm_iallgatherv(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                    void *recvbuf, struct rz_counts recvcounts, struct rz_counts displs,
                    struct rz_datatype *recvtype, struct rz_comm *comm, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Iallgatherv", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_allgatherv(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                   recvcounts, displs, recvtype),
                                   request);
}

static struct rz_schedule *plan_alltoall(struct rz_schedule *schedule, const void *sendbuf,
                                         MPI_Count sendcount, struct rz_datatype *sendtype,
                                         void *recvbuf, MPI_Count recvcount,
                                         struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_regular(sendbuf, sendcount, sendtype);
    struct rz_parts in = rz_parts_regular(recvbuf, recvcount, recvtype);
    return rz_plan_alltoall(schedule, sendbuf == MPI_IN_PLACE ? NULL : &out, &in);
}

int rzm_alltoall(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                 void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                 struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Alltoall", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_alltoall(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                               recvcount, recvtype));
}

int rzm_ialltoall(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                  void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                  struct rz_comm *comm, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Ialltoall", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_alltoall(schedule, sendbuf, sendcount, sendtype, recvbuf,
                                                 recvcount, recvtype),
                                   request);
}

static struct rz_schedule *plan_alltoallv(struct rz_schedule *schedule, const void *sendbuf,
                                          struct rz_counts sendcounts, struct rz_counts sdispls,
                                          struct rz_datatype *sendtype, void *recvbuf,
                                          struct rz_counts recvcounts, struct rz_counts rdispls,
                                          struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_listed(sendbuf, sendcounts, sdispls, sendtype);
    struct rz_parts in = rz_parts_listed(recvbuf, recvcounts, rdispls, recvtype);
    return rz_plan_alltoall(schedule, sendbuf == MPI_IN_PLACE ? NULL : &out, &in);
}

int rzm_alltoallv(const void *sendbuf, struct rz_counts sendcounts, struct rz_counts sdispls,
                  struct rz_datatype *sendtype, void *recvbuf, struct rz_counts recvcounts,
                  struct rz_counts rdispls, struct rz_datatype *recvtype, struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Alltoallv", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_alltoallv(schedule, sendbuf, sendcounts, sdispls, sendtype,
                                                recvbuf, recvcounts, rdispls, recvtype));
}

int rzm_ialltoallv(const void *sendbuf, struct rz_counts sendcounts, struct rz_counts sdispls,
                   struct rz_datatype *sendtype, void *recvbuf, struct rz_counts recvcounts,
                   struct rz_counts rdispls, struct rz_datatype *recvtype, struct rz_comm *comm,
                   struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Ialltoallv", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_alltoallv(schedule, sendbuf, sendcounts, sdispls, sendtype,
                                                  recvbuf, recvcounts, rdispls, recvtype),
                                   request);
}

static struct rz_schedule *plan_alltoallw(struct rz_schedule *schedule, const void *sendbuf,
                                          struct rz_counts sendcounts, struct rz_counts sdispls,
                                          const MPI_Datatype sendtypes[], void *recvbuf,
                                          struct rz_counts recvcounts, struct rz_counts rdispls,
                                          const MPI_Datatype recvtypes[])
{
    struct rz_parts out = rz_parts_typed(sendbuf, sendcounts, sdispls, sendtypes);
    struct rz_parts in = rz_parts_typed(recvbuf, recvcounts, rdispls, recvtypes);
    return rz_plan_alltoall(schedule, sendbuf == MPI_IN_PLACE ? NULL : &out, &in);
}

int rzm_alltoallw(const void *sendbuf, struct rz_counts sendcounts, struct rz_counts sdispls,
                  const MPI_Datatype sendtypes[], void *recvbuf, struct rz_counts recvcounts,
                  struct rz_counts rdispls, const MPI_Datatype recvtypes[], struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Alltoallw", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_alltoallw(schedule, sendbuf, sendcounts, sdispls, sendtypes,
                                                recvbuf, recvcounts, rdispls, recvtypes));
}

int rzm_ialltoallw(const void *sendbuf, struct rz_counts sendcounts, struct rz_counts sdispls,
                   const MPI_Datatype sendtypes[], void *recvbuf, struct rz_counts recvcounts,
                   struct rz_counts rdispls, const MPI_Datatype recvtypes[], struct rz_comm *comm,
                   struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Ialltoallw", &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_alltoallw(schedule, sendbuf, sendcounts, sdispls, sendtypes,
                                                  recvbuf, recvcounts, rdispls, recvtypes),
                                   request);
}
