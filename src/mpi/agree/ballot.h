/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement of the members of a communicator, as requests of the user see it. */
#ifndef RZ_MPI_BALLOT_H
#define RZ_MPI_BALLOT_H

#include "mpi/agree/agreement_context.h"
#include "mpi/request/request.h"

/*
 * What a call makes of a decision. All members of the communicator come to the same;
 * proposal->failed is valid during the call. The result is the error of the request.
 */
typedef int (*rz_ballot_outcome_t)(struct rz_comm *comm, const struct rz_proposal *proposal,
                                   void *result);

/*
 * Proposes the bits `and`; *request, set on success, ends with what outcome(comm, proposal, result)
 * says. acknowledge: the members' acknowledged failures are compared on the way, and
 * MPI_ERR_PROC_FAILED is the error, everywhere, unless all members had acknowledged all that are
 * agreed failed; else acknowledging makes no difference.
 *
 * How long it can take is bounded by the members that live: each must have called. Where a member
 * fails after a decision was made and before it told its part of the tree, that part asks those
 * above it, or their daemons where they compute (agreement_context_cache.c); by two-phase commit
 * it waits until they are in an MPI call again.
 */
int rz_ballot_begin(struct rz_comm *comm, uint64_t and, bool acknowledge,
                    rz_ballot_outcome_t outcome, void *result, struct rz_request **request);

/* For outcomes: the user learns of these failures and goes on (acknowledge.h). */
void rz_ballot_acknowledge(const struct rz_comm *comm, const struct rz_proposal *proposal);

#endif
