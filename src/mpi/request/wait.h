/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for requests: the ways shared by MPI_Wait, MPI_Test and variants, and by the blocking
 * calls. */
#ifndef RZ_MPI_WAIT_H
#define RZ_MPI_WAIT_H

#include "mpi/request/request.h"

/* The end of a blocking call: waits, tells *status (unless NULL), gives request back; its error. At
 * RZM_ROLLBACK the roll-back gives it back. */
int rz_wait_end(struct rz_request *request, const char *call, MPI_Status *status);

/* The rank in the job that request waits for, or MPI_ANY_SOURCE: for the hang report. */
int64_t rz_wait_peer(const struct rz_request *request);

/* Of a call that ends several requests: the first error, and the communicator of its request
 * (retained, or NULL). Begins as {0}. */
struct rz_blame {
    int error;
    struct rz_comm *comm;
};

/* request has ended, or is pending, with that error. blame may be NULL. */
void rz_wait_blame(struct rz_blame *blame, int error, const struct rz_request *request);

/* What the call returns: MPI_SUCCESS, or MPI_ERR_IN_STATUS, and its entry point is told why. */
int rz_wait_cause(const struct rz_blame *blame);

/* The status of the null request and of inactive ones; status may be NULL. */
void rz_wait_empty_status(MPI_Status *status);

/* Source, tag, bytes and whether cancelled; MPI_ERROR is left as it is. */
void rz_wait_copy_status(const struct rz_request *request, MPI_Status *status);

#endif
