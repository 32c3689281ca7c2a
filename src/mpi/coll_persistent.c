/* The chapter functions of persistent collective operations: each plan made once, to be run by
 * every start. */
#include "mpi/coll_arguments.h"

int rzm_barrier_init(struct rz_comm *comm, struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Barrier_init", &schedule);
    return error != MPI_SUCCESS ? error : rz_schedule_keep(rz_plan_barrier(schedule), request);
}

int rzm_bcast_init(void *buffer, MPI_Count count, struct rz_datatype *datatype, int root,
                   struct rz_comm *comm, struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Bcast_init", &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_part part = {buffer, count, datatype};
    return rz_schedule_keep(rz_plan_bcast(schedule, &part, root), request);
}

int rzm_gather_init(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                    void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype, int root,
                    struct rz_comm *comm, struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Gather_init", &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_part place, *mine = rz_part_of(&place, sendbuf, sendcount, sendtype);
    struct rz_parts all = rz_parts_regular(recvbuf, recvcount, recvtype);
    return rz_schedule_keep(rz_plan_gather(schedule, mine, &all, root), request);
}

int rzm_gatherv_init(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                     void *recvbuf, struct rz_counts recvcounts, struct rz_counts displs,
                     struct rz_datatype *recvtype, int root, struct rz_comm *comm,
                     struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Gatherv_init", &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_part place, *mine = rz_part_of(&place, sendbuf, sendcount, sendtype);
    struct rz_parts all = rz_parts_listed(recvbuf, recvcounts, displs, recvtype);
    return rz_schedule_keep(rz_plan_gather(schedule, mine, &all, root), request);
}

int rzm_scatter_init(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                     void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype, int root,
                     struct rz_comm *comm, struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Scatter_init", &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_part place, *mine = rz_part_of(&place, recvbuf, recvcount, recvtype);
    struct rz_parts all = rz_parts_regular(sendbuf, sendcount, sendtype);
    return rz_schedule_keep(rz_plan_scatter(schedule, &all, mine, root), request);
}

int rzm_scatterv_init(const void *sendbuf, struct rz_counts sendcounts, struct rz_counts displs,
                      struct rz_datatype *sendtype, void *recvbuf, MPI_Count recvcount,
                      struct rz_datatype *recvtype, int root, struct rz_comm *comm,
                      struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Scatterv_init", &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_part place, *mine = rz_part_of(&place, recvbuf, recvcount, recvtype);
    struct rz_parts all = rz_parts_listed(sendbuf, sendcounts, displs, sendtype);
    return rz_schedule_keep(rz_plan_scatter(schedule, &all, mine, root), request);
}

int rzm_allgather_init(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                       void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                       struct rz_comm *comm, struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Allgather_init", &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_part place, *mine = rz_part_of(&place, sendbuf, sendcount, sendtype);
    struct rz_parts all = rz_parts_regular(recvbuf, recvcount, recvtype);
    return rz_schedule_keep(rz_plan_allgather(schedule, mine, &all), request);
}

int rzm_allgatherv_init(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                        void *recvbuf, struct rz_counts recvcounts, struct rz_counts displs,
                        struct rz_datatype *recvtype, struct rz_comm *comm, struct rz_info *info,
                        struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Allgatherv_init", &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_part place, *mine = rz_part_of(&place, sendbuf, sendcount, sendtype);
    struct rz_parts all = rz_parts_listed(recvbuf, recvcounts, displs, recvtype);
    return rz_schedule_keep(rz_plan_allgather(schedule, mine, &all), request);
}

int rzm_alltoall_init(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                      void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                      struct rz_comm *comm, struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Alltoall_init", &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_parts out = rz_parts_regular(sendbuf, sendcount, sendtype);
    struct rz_parts in = rz_parts_regular(recvbuf, recvcount, recvtype);
    return rz_schedule_keep(rz_plan_alltoall(schedule, sendbuf == MPI_IN_PLACE ? NULL : &out, &in),
                            request);
}

int rzm_alltoallv_init(const void *sendbuf, struct rz_counts sendcounts, struct rz_counts sdispls,
                       struct rz_datatype *sendtype, void *recvbuf, struct rz_counts recvcounts,
                       struct rz_counts rdispls, struct rz_datatype *recvtype, struct rz_comm *comm,
                       struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Alltoallv_init", &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_parts out = rz_parts_listed(sendbuf, sendcounts, sdispls, sendtype);
    struct rz_parts in = rz_parts_listed(recvbuf, recvcounts, rdispls, recvtype);
    return rz_schedule_keep(rz_plan_alltoall(schedule, sendbuf == MPI_IN_PLACE ? NULL : &out, &in),
                            request);
}

int rzm_alltoallw_init(const void *sendbuf, struct rz_counts sendcounts, struct rz_counts sdispls,
                       const MPI_Datatype sendtypes[], void *recvbuf, struct rz_counts recvcounts,
                       struct rz_counts rdispls, const MPI_Datatype recvtypes[],
                       struct rz_comm *comm, struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = rz_schedule_begin(comm, "MPI_Alltoallw_init", &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_parts out = rz_parts_typed(sendbuf, sendcounts, sdispls, sendtypes);
    struct rz_parts in = rz_parts_typed(recvbuf, recvcounts, rdispls, recvtypes);
    return rz_schedule_keep(rz_plan_alltoall(schedule, sendbuf == MPI_IN_PLACE ? NULL : &out, &in),
                            request);
}

/* ---- Reductions ---- */

/* Begins, unless op is not for datatype: then there is no request. */
static int begin(struct rz_comm *comm, const char *call, const struct rz_op *op,
                 const struct rz_datatype *datatype, struct rz_schedule **schedule)
{
    int error = rz_schedule_begin(comm, call, schedule);
    if (error == MPI_SUCCESS && (error = rz_op_check(op, datatype)) != MPI_SUCCESS) {
        rz_schedule_refuse(*schedule, error);
        return rz_schedule_run(*schedule);
    }
    return error;
}

int rzm_reduce_init(const void *sendbuf, void *recvbuf, MPI_Count count,
                    struct rz_datatype *datatype, struct rz_op *op, int root, struct rz_comm *comm,
                    struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Reduce_init", op, datatype, &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    return rz_schedule_keep(rz_plan_reduce(schedule, &reduction, root), request);
}

int rzm_allreduce_init(const void *sendbuf, void *recvbuf, MPI_Count count,
                       struct rz_datatype *datatype, struct rz_op *op, struct rz_comm *comm,
                       struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Allreduce_init", op, datatype, &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    return rz_schedule_keep(rz_plan_allreduce(schedule, &reduction), request);
}

int rzm_reduce_scatter_init(const void *sendbuf, void *recvbuf, struct rz_counts recvcounts,
                            struct rz_datatype *datatype, struct rz_op *op, struct rz_comm *comm,
                            struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Reduce_scatter_init", op, datatype, &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, 0, datatype, op);
    struct rz_parts blocks = {.datatype = datatype, .counts = recvcounts};
    return rz_schedule_keep(rz_plan_reduce_scatter(schedule, &reduction, &blocks), request);
}

int rzm_reduce_scatter_block_init(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                  struct rz_datatype *datatype, struct rz_op *op,
                                  struct rz_comm *comm, struct rz_info *info,
                                  struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Reduce_scatter_block_init", op, datatype, &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, 0, datatype, op);
    struct rz_parts blocks = {.datatype = datatype, .count = recvcount};
    return rz_schedule_keep(rz_plan_reduce_scatter(schedule, &reduction, &blocks), request);
}

int rzm_scan_init(const void *sendbuf, void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
                  struct rz_op *op, struct rz_comm *comm, struct rz_info *info,
                  struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Scan_init", op, datatype, &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    return rz_schedule_keep(rz_plan_scan(schedule, &reduction, false), request);
}

int rzm_exscan_init(const void *sendbuf, void *recvbuf, MPI_Count count,
                    struct rz_datatype *datatype, struct rz_op *op, struct rz_comm *comm,
                    struct rz_info *info, struct rz_request **request)
{
    (void)info;
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Exscan_init", op, datatype, &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    return rz_schedule_keep(rz_plan_scan(schedule, &reduction, true), request);
}
