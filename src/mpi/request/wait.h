/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for requests: what MPI_Wait, MPI_Test and variants share with the blocking calls.
 */
#ifndef RZ_MPI_WAIT_H
#define RZ_MPI_WAIT_H

#include "mpi/request/request.h"

/* The end of a blocking call: waits, sets *status (unless NULL), destroys the request and returns
 * its error. At RZM_ROLLBACK the roll-back destroys it. */
int rz_wait_end(struct rz_request *request, const char *call, MPI_Status *status);

/* As rz_wait_end, for a request in the caller's memory (rz_request_init), which it clears. */
int rz_wait_clear(struct rz_request *request, const char *call, MPI_Status *status);

/* The rank in the job that request waits for, or MPI_ANY_SOURCE: for reports of hanging calls. */
int64_t rz_wait_peer(const struct rz_request *request);

/* In a call that ends several requests: the first error, and the communicator of its request
 * (retained, or NULL). Starts as {0}. */
struct rz_blame {
    int error;
    struct rz_comm *comm;
};

/* Records that request has ended, or is pending, with that error, not MPI_SUCCESS. blame may be
 * NULL. */
void rz_wait_blame(struct rz_blame *blame, int error, const struct rz_request *request);

/* What the call returns: MPI_SUCCESS, or MPI_ERR_IN_STATUS; in the latter case the entry point is
 * told the cause. */
int rz_wait_cause(const struct rz_blame *blame);

/* The status of the null request and of inactive ones; status may be NULL. */
void rz_wait_empty_status(MPI_Status *status);

/* Copies source, tag, bytes and whether the request was cancelled; MPI_ERROR is not changed. */
void rz_wait_copy_status(const struct rz_request *request, MPI_Status *status);

#endif
