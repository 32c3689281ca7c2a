/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making and freeing communicators. Every member computes the new communicator by itself; but no
 * member leaves the call before all have entered it, so that a failure is reported.
 */
#include "mpi/coll/coll.h"
#include "mpi/type/attribute.h"
#include "mpi/agree/comm_info.h"
#include "mpi/create/comm_creation.h"
#include "mpi/create/dynamic.h"
#include "mpi/agree/comm_uniform.h"
#include "mpi/request/wait.h"

#include <stdlib.h>
#include <string.h>

/* ---- MPI_Comm_dup ---- */

/* The part of a duplication that needs no other process. */
static int duplicate_make(struct rz_comm *comm, uint64_t operation, struct rz_info *info,
                          struct rz_comm **newcomm)
{
    bool inter = comm->object.flags & RZ_COMM_INTER;
    struct rz_comm *made = NULL;
    uint64_t words[3] = {comm->context, operation, 0};
    int error =
        rz_comm_make(words, comm->group, inter ? comm->remote : NULL, comm->errhandler, &made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (comm->topology && comm->topology_copy) {
        made->topology = comm->topology_copy(comm->topology);
        made->topology_copy = comm->topology_copy;
        made->topology_free = comm->topology_free;
        error = made->topology ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    if (error == MPI_SUCCESS) {
        error = rz_attributes_copy(&comm->object, &comm->attributes, &made->attributes);
    }
    if (error != MPI_SUCCESS) {
        rz_comm_release(made);
        return error;
    }
    rz_comm_take_hints(made, info);
    *newcomm = made;
    return MPI_SUCCESS;
}

int rzm_comm_dup_with_info(struct rz_comm *comm, struct rz_info *info, struct rz_comm **newcomm)
{
    uint64_t operation;
    int error = rz_comm_create_begin(comm, "MPI_Comm_dup", &operation);
    error = error != MPI_SUCCESS ? error : rz_comm_synchronise(comm, operation);
    return error != MPI_SUCCESS ? error : duplicate_make(comm, operation, info, newcomm);
}

int rzm_comm_dup(struct rz_comm *comm, struct rz_comm **newcomm)
{
    return rzm_comm_dup_with_info(comm, NULL, newcomm);
}

/* A duplicate that exists, while the agreement on its error is not complete. */
struct duplicate {
    struct rz_uniform_result result;
    struct rz_request *request;
    struct rz_comm *made;
    MPI_Comm *newcomm;
};

static void duplicate_destroy(struct rz_request *request)
{
    free(request->state);
}

static const struct rz_request_class duplicate_class = {
    .name = "duplicate", .waited_for = true, .destroy = duplicate_destroy};

static void duplicate_ended(struct rz_uniform_result *result)
{
    struct duplicate *duplicate = (struct duplicate *)(void *)result;
    /* As MPI_Comm_dup: a failed member may never have called it. */
    int error = result->error == MPI_SUCCESS && result->proposal.n_failed > 0 ? MPI_ERR_PROC_FAILED
                                                                              : result->error;
    if (error != MPI_SUCCESS && duplicate->made) {
        rz_comm_release(duplicate->made);
        *duplicate->newcomm = MPI_COMM_NULL;
    }
    rz_request_complete(duplicate->request, error);
}

/* error: of the making here. The request ends with the error that the members agree on. */
static int duplicate_agree(struct rz_comm *comm, int error, struct rz_comm *made, MPI_Comm *newcomm,
                           struct rz_request **request)
{
    struct rz_uniform_results *row = rz_uniform_results_of_nonblocking(comm);
    struct rz_request *asked = rz_request_new(&duplicate_class, comm);
    struct duplicate *duplicate = malloc(sizeof(*duplicate));
    if (!row || !asked || !duplicate) {
        free(duplicate);
        if (asked) {
            rz_request_destroy(asked);
        }
        return MPI_ERR_NO_MEM;
    }
    *duplicate = (struct duplicate){.result = {.all = true, .ended = duplicate_ended},
                                    .request = asked,
                                    .made = made,
                                    .newcomm = newcomm};
    asked->state = duplicate;
    rz_request_activate(asked);
    *newcomm = made ? rz_comm_handle(made) : MPI_COMM_NULL;
    *request = asked;
    rz_uniform_result_begin(row, &duplicate->result);
    rz_uniform_result_tell(&duplicate->result, error);
    return MPI_SUCCESS;
}

/* The request ends when all members have made the call. */
static int duplicate_await(struct rz_comm *comm, uint64_t operation, struct rz_request **request)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_part(comm, operation, &schedule);
    return error != MPI_SUCCESS ? error : rz_schedule_start(rz_plan_barrier(schedule), request);
}

/* The duplicate exists when the call returns. */
int rzm_comm_idup_with_info(struct rz_comm *comm, struct rz_info *info, MPI_Comm *newcomm,
                            struct rz_request **request)
{
    uint64_t operation = 0;
    struct rz_comm *made = NULL;
    int error = rz_comm_enter(comm);
    bool uniform = error != RZM_ROLLBACK && rz_comm_is_uniform(comm, RZ_UNIFORM_CONSTRUCT);
    if (error == MPI_SUCCESS && uniform && comm->revoked) {
        error = MPI_ERR_REVOKED;
    }
    if (error == MPI_SUCCESS) {
        operation = rz_comm_begin_nonblocking(comm, "MPI_Comm_idup");
        error = uniform && comm->collectives_failed ? MPI_ERR_PROC_FAILED
                                                    : duplicate_make(comm, operation, info, &made);
    }
    if (error != MPI_SUCCESS && !uniform) {
        return error;
    }
    error = uniform ? duplicate_agree(comm, error, made, newcomm, request)
                    : duplicate_await(comm, operation, request);
    if (error != MPI_SUCCESS) {
        if (made) {
            rzm_comm_free(made);
        }
        return error;
    }
    if (!uniform) {
        *newcomm = rz_comm_handle(made);
    }
    return MPI_SUCCESS;
}

int rzm_comm_idup(struct rz_comm *comm, MPI_Comm *newcomm, struct rz_request **request)
{
    return rzm_comm_idup_with_info(comm, NULL, newcomm, request);
}

/* ---- MPI_Comm_create ---- */

static int check_subset(const struct rz_comm *comm, const struct rz_group *group)
{
    for (int i = 0; i < group->size; i++) {
        if (rz_group_find(comm->group, group->process[i]) == MPI_UNDEFINED) {
            return rzm_error(MPI_ERR_GROUP, "rank %d of group is not in comm", i);
        }
    }
    return MPI_SUCCESS;
}

int rzm_comm_create(struct rz_comm *comm, struct rz_group *group, struct rz_comm **newcomm)
{
    uint64_t operation;
    int error = check_subset(comm, group);
    if (comm->object.flags & RZ_COMM_INTER) {
        return rz_intercomm_create(comm, group, error, newcomm);
    }
    if (error == MPI_SUCCESS) {
        error = rz_comm_create_begin(comm, "MPI_Comm_create", &operation);
    }
    error = error != MPI_SUCCESS ? error : rz_comm_synchronise(comm, operation);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (group->rank == MPI_UNDEFINED) {
        *newcomm = NULL;
        return MPI_SUCCESS;
    }
    /* The groups in one call are equal or disjoint, so their first members distinguish them. */
    return rz_comm_derive(comm, group, operation, group->process[0], newcomm);
}

/* ---- MPI_Comm_create_group ---- */

/*
 * Processes outside the group do not call, so its members do not number operations alike. Therefore
 * the first member, the leader, chooses the context id. It first receives a message of each other
 * member, and then answers all of them, so that no member leaves before all have entered. All
 * messages are sent in comm: a member waits for the leader only, the leader waits for the members,
 * and a revocation of comm ends the waits. A message is one word: the context id from the leader, 1
 * from a member; 0: the sender knows of a failed member.
 */
static struct rz_p2p_message group_message(struct rz_comm *comm, const struct rz_group *group,
                                           int member, int tag, uint64_t *word)
{
    return (struct rz_p2p_message){.buffer = word,
                                   .count = sizeof(*word),
                                   .datatype = rz_datatype_of(MPI_BYTE),
                                   .peer = rz_group_find(comm->group, group->process[member]),
                                   .tag = tag,
                                   .comm = comm,
                                   .context_offset = RZ_CONTEXT_OFFSET_CREATE};
}

static int group_send(struct rz_comm *comm, const struct rz_group *group, int member, int tag,
                      uint64_t *word)
{
    const struct rz_p2p_message message = group_message(comm, group, member, tag, word);
    return rz_creation_send(&message);
}

static int group_recv(struct rz_comm *comm, const struct rz_group *group, int member, int tag,
                      uint64_t *word)
{
    const struct rz_p2p_message message = group_message(comm, group, member, tag, word);
    return rz_creation_recv(&message);
}

static bool has_failed(const struct rz_group *group)
{
    for (uint32_t i = 0; i < rz_liveness.n_failed; i++) {
        if (rz_group_find(group, rz_liveness.failed[i]) != MPI_UNDEFINED) {
            return true;
        }
    }
    return false;
}

/* At the leader. Receives the message of each member that has not failed, even after an error: such
 * a message must not match a receive of the next call. */
static int group_gather(struct rz_comm *comm, const struct rz_group *group, int tag)
{
    int result = MPI_SUCCESS;
    for (int i = 1; i < group->size && result != RZM_ROLLBACK; i++) {
        uint64_t word = 0;
        int error = group_recv(comm, group, i, tag, &word);
        if (error == MPI_SUCCESS && word == 0) {
            error = MPI_ERR_PROC_FAILED;
        }
        result = result == MPI_SUCCESS || error == RZM_ROLLBACK ? error : result;
    }
    if (result == MPI_SUCCESS && comm->revoked) { /* a leader alone has received nothing */
        result = MPI_ERR_REVOKED;
    }
    return result == MPI_SUCCESS && has_failed(group) ? MPI_ERR_PROC_FAILED : result;
}

/* At the leader: answers all members. */
static int group_tell(struct rz_comm *comm, const struct rz_group *group, int tag,
                      uint64_t *context)
{
    int result = MPI_SUCCESS;
    for (int i = 1; i < group->size && result != RZM_ROLLBACK; i++) {
        int error = group_send(comm, group, i, tag, context);
        result = result == MPI_SUCCESS || error == RZM_ROLLBACK ? error : result;
    }
    return result;
}

static int make_as_leader(struct rz_comm *comm, struct rz_group *group, int tag,
                          struct rz_comm **newcomm)
{
    uint64_t context = 0;
    struct rz_comm *made = NULL;
    int error = group_gather(comm, group, tag);
    if (error == RZM_ROLLBACK) {
        return error;
    }
    error = error != MPI_SUCCESS ? error : rz_comm_derive_alone(comm, group, &context, &made);
    int told = group_tell(comm, group, tag, &context);
    error = error != MPI_SUCCESS && told != RZM_ROLLBACK ? error : told;
    if (error != MPI_SUCCESS && made) {
        rz_comm_release(made);
        made = NULL;
    }
    *newcomm = made;
    return error;
}

static int make_as_member(struct rz_comm *comm, struct rz_group *group, int tag,
                          struct rz_comm **newcomm)
{
    uint64_t here = has_failed(group) ? 0 : 1, context = 0;
    int error = group_send(comm, group, 0, tag, &here);
    error = error != MPI_SUCCESS ? error : group_recv(comm, group, 0, tag, &context);
    if (error == MPI_SUCCESS && context == 0) {
        error = MPI_ERR_PROC_FAILED;
    }
    return error != MPI_SUCCESS ? error : rz_comm_derive_alone(comm, group, &context, newcomm);
}

static int make_of_group(struct rz_comm *comm, struct rz_group *group, int tag,
                         struct rz_comm **newcomm)
{
    comm->call = "MPI_Comm_create_group";
    return (group->rank == 0 ? make_as_leader : make_as_member)(comm, group, tag, newcomm);
}

int rzm_comm_create_group(struct rz_comm *comm, struct rz_group *group, int tag,
                          struct rz_comm **newcomm)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS && comm->object.flags & RZ_COMM_INTER) {
        error = rzm_error(MPI_ERR_COMM, "comm is an inter-communicator");
    }
    if (error == MPI_SUCCESS) {
        error = check_subset(comm, group);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (group->rank == MPI_UNDEFINED) {
        *newcomm = NULL;
        return MPI_SUCCESS;
    }
    return rz_uniform_made_by(comm, group, tag, make_of_group(comm, group, tag, newcomm), newcomm);
}

/* ---- The end ---- */

/* A program must not free a communicator that it does not own. */
static int comm_is_the_programs(const struct rz_comm *comm)
{
    return comm->object.flags & RZ_COMM_ROUND
               ? rzm_error(MPI_ERR_COMM, "the communicator of a round is its group monitor's: it "
                                         "ends at the next RZ_Group_monitor_round, and with "
                                         "RZ_Group_monitor_stop")
               : MPI_SUCCESS;
}

int rzm_comm_free(struct rz_comm *comm)
{
    int error = comm_is_the_programs(comm);
    error = error != MPI_SUCCESS ? error : rz_attributes_delete(&comm->object, &comm->attributes);
    if (error == MPI_SUCCESS) {
        rz_comm_release(comm);
    }
    return error;
}

/* Whether no message of comm is on its way. */
static bool comm_is_quiet(void *arg)
{
    const struct rz_comm *comm = arg;
    for (const struct rz_request *request = rz_engine.active; request; request = request->next) {
        if (request->comm && (request->comm == comm || request->comm == comm->local)) {
            return false;
        }
    }
    return true;
}

int rzm_comm_disconnect(struct rz_comm *comm)
{
    struct rz_blocked blocked = {
        .call = "MPI_Comm_disconnect", .comm = comm, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    int error = rz_engine_begin();
    error = error != MPI_SUCCESS ? error : comm_is_the_programs(comm);
    error = error != MPI_SUCCESS ? error : rz_engine_wait(&blocked, comm_is_quiet, comm);
    error = error != MPI_SUCCESS ? error : rz_dynamic_part(comm, "MPI_Comm_disconnect");
    return error != MPI_SUCCESS ? error : rzm_comm_free(comm);
}
