/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Comm_shrink (ULFM): one agreement on the failed members. The rest is a function of its
 * decision: the group consists of the other members, the context id is made of the old one, the
 * number of the agreement and the failed processes; no further agreement is needed.
 */
#include "mpi/agree/ballot.h"

#include "base/random.h"
#include "mpi/request/wait.h"

#include <stdlib.h>

/* Distinguishes the ids made here from those of other operations on the communicator. */
#define SHRINK UINT64_C(0x5347)

/* The members of `group` that the decision does not name as failed, retained; NULL: no memory, or
 * *empty. */
static struct rz_group *group_without(const struct rz_comm *comm, const struct rz_group *group,
                                      const struct rz_proposal *proposal, bool *empty)
{
    uint32_t *process = malloc((size_t)group->size * sizeof(*process)), n = 0;
    if (!process) {
        return NULL;
    }
    for (int i = 0; i < group->size; i++) {
        rz_id member = rz_agreement_context_member(comm, group->process[i]);
        uint32_t at = 0;
        while (at < proposal->n_failed && proposal->failed[at] != member) {
            at++;
        }
        if (at == proposal->n_failed) {
            process[n++] = group->process[i];
        }
    }
    *empty = n == 0;
    struct rz_group *left = n > 0 ? rz_group_new((int)n, process) : NULL;
    if (left) {
        left->session = group->session;
    }
    free(process);
    return left;
}

static int make_shrunk(struct rz_comm *comm, const struct rz_proposal *proposal,
                       struct rz_group *group, struct rz_group *remote, struct rz_comm **newcomm)
{
    uint64_t failed = proposal->n_failed;
    for (uint32_t i = 0; i < proposal->n_failed; i++) {
        failed = rz_mix(failed, proposal->failed[i]);
    }
    uint64_t words[3] = {comm->context, proposal->number, rz_mix(SHRINK, failed)};
    return rz_comm_make(words, group, remote, comm->errhandler, newcomm);
}

static int shrink_outcome(struct rz_comm *comm, const struct rz_proposal *proposal, void *result)
{
    bool inter = comm->remote != comm->group, empty = false;
    struct rz_group *group = group_without(comm, comm->group, proposal, &empty);
    struct rz_group *remote =
        inter && group ? group_without(comm, comm->remote, proposal, &empty) : NULL;
    struct rz_comm *made = NULL;
    int error = MPI_SUCCESS;
    rz_ballot_acknowledge(comm, proposal);
    if (!group || (inter && !remote && !empty)) {
        error = MPI_ERR_NO_MEM;
    } else if (!empty) { /* if empty, no member is left on the other side, and there is no
                            inter-communicator to make */
        error = make_shrunk(comm, proposal, group, remote, &made);
    }
    if (remote) {
        rz_group_release(remote);
    }
    if (group) {
        rz_group_release(group);
    }
    if (error == MPI_SUCCESS) {
        *(MPI_Comm *)result = made ? rz_comm_handle(made) : MPI_COMM_NULL;
    }
    return error;
}

int rzm_comm_ishrink(struct rz_comm *comm, MPI_Comm *newcomm, struct rz_request **request)
{
    return rz_ballot_begin(comm, 0, false, shrink_outcome, newcomm, request);
}

int rzm_comm_shrink(struct rz_comm *comm, MPI_Comm *newcomm)
{
    struct rz_request *request;
    int error = rzm_comm_ishrink(comm, newcomm, &request);
    return error != MPI_SUCCESS ? error : rz_wait_end(request, "MPIX_Comm_shrink", NULL);
}
