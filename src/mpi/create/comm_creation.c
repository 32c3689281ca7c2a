/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange, broadcast and barrier within calls that make communicators, and the begin and end of
 * such calls. They are schedules on the context offset of collective operations.
 */
#include "mpi/create/comm_creation.h"

#include "base/no_memory.h"
#include "mpi/agree/comm_uniform.h"
#include "mpi/coll/coll.h"
#include "mpi/p2p/inquiry.h"

#include <string.h>

static struct rz_datatype *bytes_type(void)
{
    return rz_datatype_of(MPI_BYTE);
}

/* ---- Small collective operations ---- */

/* Gathers the data of all at rank 0: each process collects its subtree of a binomial tree, a
 * contiguous range of ranks that starts with its own. */
static void plan_gather_to_0(struct rz_schedule *schedule, size_t bytes, char *all)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm), size = rz_comm_size(comm), span = 1;
    for (; span < size && !(rank & span); span *= 2) {
        int from = rank + span, n = span < size - from ? span : size - from;
        if (from < size) {
            rz_schedule_recv(schedule, all + (size_t)from * bytes, (MPI_Count)((size_t)n * bytes),
                             bytes_type(), from);
        }
    }
    rz_schedule_fence(schedule);
    if (span < size) {
        int n = span < size - rank ? span : size - rank;
        rz_schedule_send(schedule, all + (size_t)rank * bytes, (MPI_Count)((size_t)n * bytes),
                         bytes_type(), rank - span);
    }
}

/* Broadcasts down a binomial tree; places in it are counted from root. */
static void plan_spread(struct rz_schedule *schedule, int root, void *data, size_t bytes)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int64_t size = rz_comm_size(comm), place = (rz_comm_rank(comm) - root + size) % size, span = 1;
    while (span < size && !(place & span)) {
        span *= 2;
    }
    if (place != 0) {
        int from = (int)((place - span + root) % size);
        rz_schedule_recv(schedule, data, (MPI_Count)bytes, bytes_type(), from);
    }
    rz_schedule_fence(schedule);
    for (span /= 2; span > 0; span /= 2) {
        if (place + span < size) {
            int to = (int)((place + span + root) % size);
            rz_schedule_send(schedule, data, (MPI_Count)bytes, bytes_type(), to);
        }
    }
}

int rz_comm_spread(struct rz_comm *comm, uint64_t operation, int root, void *data, size_t bytes)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_part(comm, operation, &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    plan_spread(schedule, root, data, bytes);
    return rz_schedule_run(schedule);
}

int rz_comm_exchange(struct rz_comm *comm, uint64_t operation, const void *mine, size_t bytes,
                     void *all)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_part(comm, operation, &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    memcpy((char *)all + (size_t)rz_comm_rank(comm) * bytes, mine, bytes);
    plan_gather_to_0(schedule, bytes, all);
    rz_schedule_fence(schedule);
    plan_spread(schedule, 0, all, (size_t)rz_comm_size(comm) * bytes);
    return rz_schedule_run(schedule);
}

int rz_comm_synchronise(struct rz_comm *comm, uint64_t operation)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_part(comm, operation, &schedule);
    return error != MPI_SUCCESS ? error : rz_schedule_run(rz_plan_barrier(schedule));
}

/* ---- Single messages ---- */

static int needed(int error)
{
    rz_need_memory(error != MPI_ERR_NO_MEM, RZ_FOR_CREATION);
    return error;
}

int rz_creation_isend(const struct rz_p2p_message *message, struct rz_request **request)
{
    return needed(rz_p2p_isend(message, request));
}

int rz_creation_wait(struct rz_request **requests, size_t n)
{
    return needed(rz_p2p_wait(requests, n));
}

int rz_creation_send(const struct rz_p2p_message *message)
{
    struct rz_request *request;
    int error = rz_creation_isend(message, &request);
    return error != MPI_SUCCESS ? error : rz_creation_wait(&request, 1);
}

int rz_creation_recv(const struct rz_p2p_message *message)
{
    struct rz_request *request;
    int error = needed(rz_p2p_irecv(message, &request));
    return error != MPI_SUCCESS ? error : rz_creation_wait(&request, 1);
}

/* ---- Beginning and ending ---- */

int rz_comm_create_begin(struct rz_comm *comm, const char *call, uint64_t *operation)
{
    rz_engine_quick();
    int error = rz_comm_enter(comm);
    if (error == MPI_SUCCESS && comm->revoked) {
        error = MPI_ERR_REVOKED;
    }
    if (error == MPI_SUCCESS) {
        *operation = rz_comm_begin(comm, call);
        rz_comm_create_end(comm); /* of an earlier call that was not ended */
    }
    if (error == MPI_SUCCESS && !comm->collectives_failed) {
        rz_operation_begin(comm, &comm->making, rz_comm_operation_tag(*operation));
    }
    return error;
}

void rz_comm_create_end(struct rz_comm *comm)
{
    rz_operation_end(comm, &comm->making);
}

/* ---- Calls that make communicators ---- */

int rz_uniform_made_by(struct rz_comm *comm, struct rz_group *part, int tag, int error,
                       struct rz_comm **made)
{
    if (error == RZM_ROLLBACK || !rz_comm_is_uniform(comm, RZ_UNIFORM_CONSTRUCT)) {
        return error;
    }
    struct rz_uniform_results *row =
        part ? rz_uniform_results_of_part(comm, part, tag) : rz_uniform_results_of(comm);
    struct rz_uniform_result result = {.all = true};
    int common = MPI_ERR_NO_MEM;
    if (row) {
        rz_uniform_result_begin(row, &result);
        common = rz_uniform_result_wait(&result, error, comm->call);
    }
    if (common != MPI_SUCCESS && common != RZM_ROLLBACK && error == MPI_SUCCESS && *made) {
        rzm_comm_free(*made);
        *made = NULL;
    }
    return common;
}

int rz_uniform_made(struct rz_comm *comm, int error, struct rz_comm **made)
{
    if (!comm) { /* a new process, which gets its first communicator by RZ_Comm_replace */
        return error;
    }
    rz_comm_create_end(comm);
    return rz_uniform_made_by(comm, NULL, 0, error, made);
}
