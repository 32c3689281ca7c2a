/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What spawn, connect, accept and join share: confirmation and result within a group, the
 * inter-communicator, and the parting of members in MPI_Comm_disconnect and MPI_Finalize.
 */
#include "mpi/create/dynamic.h"

#include "base/random.h"
#include "mpi/agree/ballot.h"
#include "mpi/create/comm_creation.h"
#include "mpi/request/wait.h"

#include <stdlib.h>

/* ---- Within a communicator ---- */

int rz_dynamic_confirm(struct rz_comm *comm, uint64_t operation, int root, int error)
{
    int64_t size = rz_comm_size(comm), place = (rz_comm_rank(comm) - root + size) % size;
    int told = MPI_SUCCESS;
    struct rz_p2p_message message = {.count = 1,
                                     .datatype = rz_datatype_of(MPI_INT),
                                     .tag = rz_comm_operation_tag(operation),
                                     .comm = comm,
                                     .context_offset = RZ_CONTEXT_OFFSET_COLLECTIVE};
    for (int64_t span = 1; span < size && error != RZM_ROLLBACK; span *= 2) {
        if (place & span) {
            message.buffer = &error;
            message.peer = (int)((place - span + root) % size);
            int sent = rz_creation_send(&message);
            return error != MPI_SUCCESS ? error : sent;
        }
        if (place + span >= size) {
            continue;
        }
        message.buffer = &told;
        message.peer = (int)((place + span + root) % size);
        int heard = rz_creation_recv(&message);
        if (error == MPI_SUCCESS && heard == MPI_SUCCESS && told != MPI_SUCCESS) {
            heard = rzm_error(told, "rank %d, or a rank that it reports for, could not continue",
                              message.peer);
        }
        error = error != MPI_SUCCESS && heard != RZM_ROLLBACK ? error : heard;
    }
    return error;
}

int rz_dynamic_result(struct rz_comm *comm, uint64_t operation, int root, int error)
{
    int32_t end = error;
    if (error == RZM_ROLLBACK) {
        return error;
    }
    int told = rz_comm_spread(comm, operation, root, &end, sizeof(end));
    if (told == RZM_ROLLBACK || error != MPI_SUCCESS || rz_comm_rank(comm) == root) {
        return told == RZM_ROLLBACK ? told : error;
    }
    if (told == MPI_SUCCESS && end != MPI_SUCCESS) {
        told = rzm_error(end, "other ranks could not continue, as rank %d reports", root);
    }
    return told;
}

bool rz_dynamic_is_broken(const struct rz_comm *comm)
{
    return comm->revoked || comm->collectives_failed;
}

int rz_dynamic_why_broken(const struct rz_comm *comm)
{
    return comm->revoked ? MPI_ERR_REVOKED : MPI_ERR_PROC_FAILED;
}

/* ---- Inter-communicators ---- */

bool rz_dynamic_is_gone(uint32_t process)
{
    return rz_process_known(process) && rz_process_failed(process);
}

bool rz_dynamic_has_ended(uint32_t process)
{
    const struct rz_member *member = rz_member_of(process);
    bool its_slot = member->process == process;
    return rz_dynamic_is_gone(process) &&
           (!its_slot || rz_board_state(member->word) == RZ_PROCESS_ENDED);
}

int rz_dynamic_make(const uint64_t words[3], struct rz_comm *comm, struct rz_group *remote,
                    const char *call, struct rz_comm **newcomm)
{
    int error = rz_intercomm_check_disjoint(comm->group, remote);
    error = error != MPI_SUCCESS ? error : rz_engine_await(remote->process, remote->size, call);
    error = error != MPI_SUCCESS
                ? error
                : rz_comm_make(words, comm->group, remote, comm->errhandler, newcomm);
    if (error == MPI_SUCCESS) {
        (*newcomm)->met = true;
    }
    return error;
}

uint64_t rz_dynamic_word(void)
{
    static uint64_t said;
    const struct rz_identity *self = &rz_engine.info->self;
    return rz_mix(rz_mix((uint64_t)self->rank << 32 | self->incarnation, ++said), 0xd1a106);
}

/* ---- Parting ---- */

static int nothing_of_it(struct rz_comm *comm, const struct rz_proposal *proposal, void *result)
{
    (void)comm, (void)proposal, (void)result;
    return MPI_SUCCESS;
}

static int part_begin(struct rz_comm *comm, struct rz_request **request)
{
    return rz_ballot_begin(comm, 0, false, nothing_of_it, NULL, request);
}

struct parting {
    const struct rz_request *request;
    struct rz_comm *comm;
};

static bool parted_or_revoked(void *arg)
{
    const struct parting *parting = arg;
    const struct rz_comm *comm = parting->comm;
    return parting->request->complete || (comm->revoked && !rz_agreement_context_owes(comm));
}

static void tell_of_parting(struct rz_blocked *blocked, const void *arg)
{
    rz_agreement_context_waits_for(((const struct parting *)arg)->comm->agreement_context, blocked);
}

/* A process that revokes comm has given it up. It may never have made comm, unless there was an
 * agreement on it. */
static int part_end(struct rz_request *request, const char *call)
{
    struct parting parting = {request, request->comm};
    struct rz_blocked blocked = {.call = call,
                                 .comm = request->comm,
                                 .peer = MPI_PROC_NULL,
                                 .tag = MPI_ANY_TAG,
                                 .look = tell_of_parting};
    int error = rz_engine_wait(&blocked, parted_or_revoked, &parting);
    if (error == MPI_SUCCESS && !request->complete) {
        rz_request_detach(request);
        return MPI_SUCCESS;
    }
    return error != MPI_SUCCESS ? error : rz_wait_end(request, call, NULL);
}

int rz_dynamic_part(struct rz_comm *comm, const char *call)
{
    struct rz_request *request;
    if (rz_engine.info->alone || comm->revoked || !rz_comm_says_goodbye(comm)) {
        return MPI_SUCCESS;
    }
    int error = part_begin(comm, &request);
    return error != MPI_SUCCESS ? error : part_end(request, call);
}

/* Whether this process parts from the members of comm: it is known to the user and shared with
 * other processes. */
static bool parts_with(const struct rz_comm *comm)
{
    const struct rz_link_info *info = rz_engine.info;
    if (comm->inter || (comm->revoked && !rz_agreement_context_owes(comm))) {
        return false;
    }
    bool own_world = comm == rz_comm_predefined(0x101) && info->cohort.processes;
    return !comm->unshared && (own_world || rz_comm_says_goodbye(comm));
}

static bool owes_nothing(void *arg)
{
    (void)arg;
    return !rz_agreement_context_in_debt();
}

static void tell_of_debt(struct rz_blocked *blocked, const void *arg)
{
    (void)arg;
    rz_agreement_context_waits_for(rz_agreement_context_in_debt(), blocked);
}

/*
 * A member that has not received the last decision on a communicator would find this process gone,
 * and the agreement would fail at that member alone. So this process waits until all have.
 * Processes cannot wait here in a circle: each has made its proposals on all such communicators
 * that it has, and on those that it had.
 */
static int settle_debts(const char *call)
{
    struct rz_blocked blocked = {
        .call = call, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG, .look = tell_of_debt};
    return rz_engine_wait(&blocked, owes_nothing, NULL);
}

/* Begins all agreements before it waits for any: processes that waited for one after the other
 * could wait in a circle. */
int rz_dynamic_finish(void)
{
    int error = MPI_SUCCESS;
    size_t n = 0, room = 0;
    for (struct rz_comm *comm = rz_comms_first(); comm; comm = comm->next) {
        room++;
    }
    struct rz_request **requests = calloc(room, sizeof(struct rz_request *));
    if (!requests) {
        return MPI_ERR_NO_MEM;
    }
    for (struct rz_comm *comm = rz_comms_first(); comm && error == MPI_SUCCESS; comm = comm->next) {
        if (parts_with(comm)) {
            error = part_begin(comm, &requests[n]);
            n += error == MPI_SUCCESS;
        }
    }
    for (size_t i = 0; i < n && error == MPI_SUCCESS; i++) {
        error = part_end(requests[i], "MPI_Finalize");
    }
    free(requests);
    return error != MPI_SUCCESS ? error : settle_debts("MPI_Finalize");
}

/* ---- Jobs in which no process can be spawned ---- */

const char *rz_dynamic_refusal(void)
{
    const struct rz_link_info *info = rz_engine.info;
    if (info->alone) {
        return "without rzrun";
    }
    if (rz_engine.board->flags & RZ_BOARD_NO_FT) {
        return "with --no-ft, in any call of this job";
    }
    if (info->hb_timeout != 0) {
        return "with --detector flat, in any call of this job; with ring (the default) or swim "
               "they "
               "can";
    }
    if (rz_engine.rewinds) {
        return "with --rewind, in any call of this job";
    }
    return rz_engine.reinit_open ? "inside MPIX_Reinit" : NULL;
}
