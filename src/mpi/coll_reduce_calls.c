/* The chapter functions of collective operations that reduce: arguments into reductions, and each
 * plan run or started. */
#include "mpi/coll_arguments.h"

/* Begins, unless op is not for datatype: then nobody sends anything, for all members give the same.
 */
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

static struct rz_schedule *plan_reduce(struct rz_schedule *schedule, const void *sendbuf,
                                       void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
                                       struct rz_op *op, int root)
{
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    return rz_plan_reduce(schedule, &reduction, root);
}

int rzm_reduce(const void *sendbuf, void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
               struct rz_op *op, int root, struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Reduce", op, datatype, &schedule);
    return error != MPI_SUCCESS ? error
                                : rz_schedule_run(plan_reduce(schedule, sendbuf, recvbuf, count,
                                                              datatype, op, root));
}

int rzm_ireduce(const void *sendbuf, void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
                struct rz_op *op, int root, struct rz_comm *comm, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Ireduce", op, datatype, &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(
                     plan_reduce(schedule, sendbuf, recvbuf, count, datatype, op, root), request);
}

static struct rz_schedule *plan_allreduce(struct rz_schedule *schedule, const void *sendbuf,
                                          void *recvbuf, MPI_Count count,
                                          struct rz_datatype *datatype, struct rz_op *op)
{
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    return rz_plan_allreduce(schedule, &reduction);
}

int rzm_allreduce(const void *sendbuf, void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
                  struct rz_op *op, struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Allreduce", op, datatype, &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_allreduce(schedule, sendbuf, recvbuf, count, datatype, op));
}

int rzm_iallreduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                   struct rz_datatype *datatype, struct rz_op *op, struct rz_comm *comm,
                   struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Iallreduce", op, datatype, &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_allreduce(schedule, sendbuf, recvbuf, count, datatype, op),
                                   request);
}

static struct rz_schedule *plan_reduce_scatter(struct rz_schedule *schedule, const void *sendbuf,
                                               void *recvbuf, struct rz_counts recvcounts,
                                               struct rz_datatype *datatype, struct rz_op *op)
{
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, 0, datatype, op);
    struct rz_parts blocks = {.datatype = datatype, .counts = recvcounts};
    return rz_plan_reduce_scatter(schedule, &reduction, &blocks);
}

int rzm_reduce_scatter(const void *sendbuf, void *recvbuf, struct rz_counts recvcounts,
                       struct rz_datatype *datatype, struct rz_op *op, struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Reduce_scatter", op, datatype, &schedule);
    return error != MPI_SUCCESS ? error
                                : rz_schedule_run(plan_reduce_scatter(schedule, sendbuf, recvbuf,
                                                                      recvcounts, datatype, op));
}

int rzm_ireduce_scatter(const void *sendbuf, void *recvbuf, struct rz_counts recvcounts,
                        struct rz_datatype *datatype, struct rz_op *op, struct rz_comm *comm,
                        struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Ireduce_scatter", op, datatype, &schedule);
    return error != MPI_SUCCESS ? error
                                : rz_schedule_start(plan_reduce_scatter(schedule, sendbuf, recvbuf,
                                                                        recvcounts, datatype, op),
                                                    request);
}

static struct rz_schedule *plan_reduce_scatter_block(struct rz_schedule *schedule,
                                                     const void *sendbuf, void *recvbuf,
                                                     MPI_Count recvcount,
                                                     struct rz_datatype *datatype, struct rz_op *op)
{
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, 0, datatype, op);
    struct rz_parts blocks = {.datatype = datatype, .count = recvcount};
    return rz_plan_reduce_scatter(schedule, &reduction, &blocks);
}

int rzm_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                             struct rz_datatype *datatype, struct rz_op *op, struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Reduce_scatter_block", op, datatype, &schedule);
    return error != MPI_SUCCESS ? error
                                : rz_schedule_run(plan_reduce_scatter_block(
                                      schedule, sendbuf, recvbuf, recvcount, datatype, op));
}

int rzm_ireduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                              struct rz_datatype *datatype, struct rz_op *op, struct rz_comm *comm,
                              struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Ireduce_scatter_block", op, datatype, &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(
                     plan_reduce_scatter_block(schedule, sendbuf, recvbuf, recvcount, datatype, op),
                     request);
}

static struct rz_schedule *plan_scan(struct rz_schedule *schedule, const void *sendbuf,
                                     void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
                                     struct rz_op *op)
{
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    return rz_plan_scan(schedule, &reduction, false);
}

int rzm_scan(const void *sendbuf, void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
             struct rz_op *op, struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Scan", op, datatype, &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_scan(schedule, sendbuf, recvbuf, count, datatype, op));
}

int rzm_iscan(const void *sendbuf, void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
              struct rz_op *op, struct rz_comm *comm, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Iscan", op, datatype, &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_scan(schedule, sendbuf, recvbuf, count, datatype, op),
                                   request);
}

static struct rz_schedule *plan_exscan(struct rz_schedule *schedule, const void *sendbuf,
                                       void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
                                       struct rz_op *op)
{
    struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    return rz_plan_scan(schedule, &reduction, true);
}

int rzm_exscan(const void *sendbuf, void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
               struct rz_op *op, struct rz_comm *comm)
{
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Exscan", op, datatype, &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_run(plan_exscan(schedule, sendbuf, recvbuf, count, datatype, op));
}

int rzm_iexscan(const void *sendbuf, void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
                struct rz_op *op, struct rz_comm *comm, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = begin(comm, "MPI_Iexscan", op, datatype, &schedule);
    return error != MPI_SUCCESS
               ? error
               : rz_schedule_start(plan_exscan(schedule, sendbuf, recvbuf, count, datatype, op),
                                   request);
}
