/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreements of the members of a communicator, as requests.
 */
#ifndef RZ_MPI_BALLOT_H
#define RZ_MPI_BALLOT_H

#include "mpi/agree/agreement_context.h"
#include "mpi/request/request.h"

/* Computes the result of a call from the decision, equally at all members of the communicator;
 * proposal->failed is valid during the call. The return value is the error of the request. */
typedef int (*rz_ballot_outcome_t)(struct rz_comm *comm, const struct rz_proposal *proposal,
                                   void *result);

/*
 * Proposes the bits `and`. *request, set on success, ends with the error that outcome(comm,
 * proposal, result) returns. acknowledge: the acknowledged failures of the members are compared in
 * the same agreement, and all members return MPI_ERR_PROC_FAILED, unless all had acknowledged all
 * failures in the decision; otherwise acknowledged failures make no difference.
 *
 * Its duration is bounded by the members that are alive: each must have made the call. If a member
 * fails after a decision and before it has told its subtree, that subtree asks the members above
 * it, or their daemons if they compute (agreement_context_cache.c); with two-phase commit it waits
 * until those members are in an MPI call again.
 */
int rz_ballot_begin(struct rz_comm *comm, uint64_t and, bool acknowledge,
                    rz_ballot_outcome_t outcome, void *result, struct rz_request **request);

/* For outcomes: the user learns of these failures and continues (liveness.h). */
void rz_ballot_acknowledge(const struct rz_comm *comm, const struct rz_proposal *proposal);

#endif
