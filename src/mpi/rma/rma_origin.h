/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations on targets that are reached by messages, at their origin. An operation is sent in
 * parts of moderate length; each is acknowledged when it is done. Data of the origin are copied, so
 * its buffer is free when the call returns; results arrive with the acknowledgements.
 */
#ifndef RZ_MPI_RMA_ORIGIN_H
#define RZ_MPI_RMA_ORIGIN_H

#include "mpi/request/request.h"
#include "mpi/rma/rma_apply.h"

/* Where a result goes: count elements of type at `at`; type NULL: there is none. */
struct rz_rma_result {
    void *at;
    MPI_Count count;
    struct rz_datatype *type;
};

/*
 * Begins an operation. request, if not NULL: a request of rz_rma_request_new, which ends with it,
 * also after an error. MPI_ERR_NO_MEM: nothing was sent, or a part; what was sent is waited for at
 * the next synchronisation. RZM_ROLLBACK. May wait until earlier operations are done, but not for a
 * target that no thread serves.
 */
int rz_rma_begin(struct rz_win *win, int rank, const struct rz_rma_operation *operation,
                 uint64_t at, const struct rz_rma_result *result, struct rz_request *request);

/* A request for a one-sided operation, active; NULL: no memory. */
struct rz_request *rz_rma_request_new(struct rz_win *win);

/* Member `rank` has done part `number`, or failed to: its result. */
void rz_rma_answered(struct rz_win *win, int rank, uint64_t number, int error, const char *result,
                     size_t bytes);

/* Ends all operations on that member, or on all (rank < 0), with `error`. */
void rz_rma_give_up(struct rz_win *win, int rank, int error);

/* Waits until all operations on that member, or on all (rank < 0), are done. MPI_SUCCESS or
 * RZM_ROLLBACK; errors are at the targets. */
int rz_rma_await(struct rz_win *win, int rank, const char *call);

#endif
