/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owner requests: an accumulate on one element in memory of the user of another process of this
 * node, which the owner carries out. The processes do not share that memory, but they share the
 * owner's control block: an owner that is inside MPI sees a request there sooner than two system
 * calls of the asker would be done. An owner that computes or sleeps sees none, and the asker
 * withdraws it.
 *
 * The asker has the right to accumulate (window_words.h), so that an owner has at most one request.
 * That of a process that failed is withdrawn, or its end is awaited, by the next one with the
 * right, before it changes anything: no two changes of an element happen at a time.
 */
#ifndef RZ_MPI_RMA_OWNER_REQUEST_H
#define RZ_MPI_RMA_OWNER_REQUEST_H

#include "mpi/rma/rma_apply.h"
#include "mpi/rma/rma_call.h"

enum rz_owner_request_state {
    RZ_OWNER_REQUEST_NONE,
    RZ_OWNER_REQUEST_ASKED, /* by the asker; it may withdraw it */
    RZ_OWNER_REQUEST_TAKEN, /* by the owner, which carries it out now */
    RZ_OWNER_REQUEST_DONE   /* the asker may read the result */
};

/* The window is about to begin: whether this process is to look for requests. */
void rz_rma_owner_requests_begin(struct rz_win *win);

/*
 * The asker: the target is reached by copies, and this process has the right to accumulate there.
 * *done: the operation was carried out; otherwise nothing was done, and the caller is free to do
 * it. MPI_ERR_PROC_FAILED, MPI_ERR_REVOKED, RZM_ROLLBACK: it may have been carried out or not.
 */
int rz_rma_ask_owner(const struct rz_rma_call *call, const struct rz_rma_operation *operation,
                     uint64_t at, bool *done);

/* The owner: carries out what it is asked for; returns how many. *expected: there may be more
 * later. */
unsigned rz_rma_owner_requests_serve(bool *expected);

#endif
