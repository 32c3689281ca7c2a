/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that end with an agreement: proposes with the acknowledged failures, and computes the
 * user's result from the decision.
 */
#include "mpi/agree/ballot.h"

#include "base/random.h"

#include <stdlib.h>

struct ballot {
    struct rz_proposal proposal;
    struct rz_request *request;
    rz_ballot_outcome_t outcome;
    void *result;
    bool acknowledge;
    uint32_t n_acknowledged;
    rz_id
        acknowledged[]; /* members, sorted, whose failures the user had acknowledged at the call */
};

#define BALLOT_OF(proposal_)                                                                       \
    ((struct ballot *)(void *)((char *)(proposal_)-offsetof(struct ballot, proposal)))

/* ---- Acknowledged failures ---- */

static int by_id(const void *a, const void *b)
{
    rz_id left = *(const rz_id *)a, right = *(const rz_id *)b;
    return (left > right) - (left < right);
}

static void take_acknowledged(const struct rz_comm *comm, struct ballot *ballot)
{
    for (uint32_t i = 0; i < rz_liveness.n_failed && ballot->n_acknowledged < comm->acknowledged;
         i++) {
        rz_id member = rz_agreement_context_member(comm, rz_liveness.failed[i]);
        if (member != RZ_ID_NONE) {
            ballot->acknowledged[ballot->n_acknowledged++] = member;
        }
    }
    qsort(ballot->acknowledged, ballot->n_acknowledged, sizeof(rz_id), by_id);
}

/* A word for the acknowledged failures: two members that acknowledged different ones propose
 * different words, so that minimum and maximum differ. */
static uint64_t word_of_acknowledged(const struct ballot *ballot)
{
    uint64_t word = ballot->n_acknowledged;
    for (uint32_t i = 0; i < ballot->n_acknowledged; i++) {
        word = rz_mix(word, ballot->acknowledged[i]);
    }
    return word;
}

/* Whether all members had acknowledged the same failures, including all agreed ones. */
static bool all_acknowledged(const struct ballot *ballot)
{
    const struct rz_proposal *proposal = &ballot->proposal;
    if (proposal->min != proposal->max) {
        return false;
    }
    for (uint32_t i = 0; i < proposal->n_failed; i++) {
        if (!bsearch(&proposal->failed[i], ballot->acknowledged, ballot->n_acknowledged,
                     sizeof(rz_id), by_id)) {
            return false;
        }
    }
    return true;
}

void rz_ballot_acknowledge(const struct rz_comm *comm, const struct rz_proposal *proposal)
{
    for (uint32_t i = 0; i < proposal->n_failed; i++) {
        uint32_t process =
            rz_agreement_context_process(comm->agreement_context, proposal->failed[i]);
        rz_failures_acknowledge(&process, 1);
    }
}

/* ---- Agreements as requests ---- */

static void ballot_decided(struct rz_proposal *proposal,
                           struct rz_agreement_context *agreement_context)
{
    struct ballot *ballot = BALLOT_OF(proposal);
    struct rz_request *request = ballot->request;
    (void)agreement_context;
    int error = ballot->outcome(request->comm, proposal, ballot->result);
    if (error == MPI_SUCCESS && ballot->acknowledge && !all_acknowledged(ballot)) {
        error = MPI_ERR_PROC_FAILED;
    }
    rz_request_complete(request, error);
}

static void ballot_destroy(struct rz_request *request)
{
    free(request->state);
}

static void ballot_waits_for(const struct rz_request *request, struct rz_blocked *blocked)
{
    rz_agreement_context_waits_for(request->comm->agreement_context, blocked);
}

static const struct rz_request_class ballot_class = {.name = "agreement",
                                                     .waited_for = true,
                                                     .waits_for = ballot_waits_for,
                                                     .destroy = ballot_destroy};

int rz_ballot_begin(struct rz_comm *comm, uint64_t and, bool acknowledge,
                    rz_ballot_outcome_t outcome, void *result, struct rz_request **request)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS && comm->unshared) {
        error =
            rzm_error(MPI_ERR_COMM, "this MPI_COMM_WORLD is of a process that replaces a failed "
                                    "one: no other process has it (see RZ_Comm_replace)");
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_request *made = rz_request_new(&ballot_class, comm);
    struct ballot *ballot =
        malloc(sizeof(*ballot) + (acknowledge ? comm->acknowledged : 0) * sizeof(rz_id));
    if (!made || !ballot) {
        free(ballot);
        if (made) {
            rz_request_destroy(made);
        }
        return MPI_ERR_NO_MEM;
    }
    *ballot = (struct ballot){
        .request = made, .outcome = outcome, .result = result, .acknowledge = acknowledge};
    made->state = ballot;
    if (acknowledge) {
        take_acknowledged(comm, ballot);
    }
    uint64_t word = acknowledge ? word_of_acknowledged(ballot) : 0;
    ballot->proposal =
        (struct rz_proposal){.and = and, .min = word, .max = word, .decided = ballot_decided};
    rz_request_activate(made);
    error = rz_agreement_context_propose(comm, &ballot->proposal);
    if (error != MPI_SUCCESS) {
        rz_request_complete(made, error);
        rz_request_destroy(made);
        return error;
    }
    *request = made;
    return MPI_SUCCESS;
}
