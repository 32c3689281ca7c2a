/* SPDX-License-Identifier: BSD-3-Clause */
/* MPIX_Comm_agree and variants (ULFM). */
#include "mpi/agree/ballot.h"
#include "mpi/request/wait.h"

#include <stdlib.h>

/* ---- MPIX_Comm_agree ---- */

#define HALF 32
#define LOW_HALF UINT64_C(0xffffffff)

/* On an inter-communicator each group proposes in its own half of the bits, and returns the half of
 * the other group. */
static uint64_t flag_as_bits(const struct rz_comm *comm, int flag)
{
    uint64_t bits = (uint32_t)flag;
    return rz_agreement_context_second(comm) ? bits << HALF | LOW_HALF : bits | LOW_HALF << HALF;
}

static int agree_outcome(struct rz_comm *comm, const struct rz_proposal *proposal, void *result)
{
    bool inter = comm->remote != comm->group;
    bool high = inter && !rz_agreement_context_second(comm);
    uint64_t bits = high ? proposal->and >> HALF : proposal->and;
    *(int *)result = (int)(uint32_t)(bits & LOW_HALF);
    rz_ballot_acknowledge(comm, proposal);
    return MPI_SUCCESS;
}

int rzm_comm_iagree(struct rz_comm *comm, int *flag, struct rz_request **request)
{
    return rz_ballot_begin(comm, flag_as_bits(comm, *flag), true, agree_outcome, flag, request);
}

/* With --no-ft a failure ends the job, so there is no failure to agree on. */
static int agree_by_allreduce(struct rz_comm *comm, int *flag)
{
    int mine = *flag;
    struct rz_op *band = rz_op_predefined((unsigned)(uintptr_t)MPI_BAND);
    return rzm_allreduce(&mine, flag, 1, rz_datatype_of(MPI_INT), band, comm);
}

int rzm_comm_agree(struct rz_comm *comm, int *flag)
{
    if (!rz_engine_fault_tolerant()) {
        return agree_by_allreduce(comm, flag);
    }
    struct rz_request *request;
    int error = rzm_comm_iagree(comm, flag, &request);
    return error != MPI_SUCCESS ? error : rz_wait_end(request, "MPIX_Comm_agree", NULL);
}

/* ---- MPIX_Comm_agree_failed ---- */

/* Makes a group of the failed members that the decision names; all members get the same group. */
static int failed_outcome(struct rz_comm *comm, const struct rz_proposal *proposal, void *result)
{
    uint32_t *process = malloc((proposal->n_failed + 1) * sizeof(*process));
    if (!process) {
        return MPI_ERR_NO_MEM;
    }
    for (uint32_t i = 0; i < proposal->n_failed; i++) {
        process[i] = rz_agreement_context_process(comm->agreement_context, proposal->failed[i]);
    }
    rz_failures_acknowledge(process, proposal->n_failed);
    struct rz_group *group = rz_group_predefined(0x109);
    if (proposal->n_failed > 0) {
        group = rz_group_new((int)proposal->n_failed, process);
    } else if (group) {
        rz_group_retain(group);
    }
    free(process);
    if (!group) {
        return MPI_ERR_NO_MEM;
    }
    *(MPI_Group *)result = (MPI_Group)rz_object_handle(&group->object, (uintptr_t)MPI_GROUP_NULL);
    return MPI_SUCCESS;
}

int rzm_comm_iagree_failed(struct rz_comm *comm, MPI_Group *group, struct rz_request **request)
{
    return rz_ballot_begin(comm, 0, false, failed_outcome, group, request);
}

int rzm_comm_agree_failed(struct rz_comm *comm, MPI_Group *group)
{
    struct rz_request *request;
    int error = rzm_comm_iagree_failed(comm, group, &request);
    return error != MPI_SUCCESS ? error : rz_wait_end(request, "MPIX_Comm_agree_failed", NULL);
}
