/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errands: an accumulate on one element in memory of the user of another process of this node,
 * which the owner carries out. The processes do not share that memory, but they share the owner's
 * control block: an owner that is inside MPI sees an errand there sooner than two system calls of
 * the asker would be done. An owner that computes or sleeps sees none, and the asker withdraws it.
 *
 * The asker has the right to accumulate (window_words.h), so that an owner has at most one errand.
 * That of a process that failed is withdrawn, or its end is awaited, by the next one with the
 * right, before it changes anything: no two changes of an element happen at a time.
 */
#ifndef RZ_MPI_RMA_ERRAND_H
#define RZ_MPI_RMA_ERRAND_H

#include "mpi/rma/rma_apply.h"
#include "mpi/rma/rma_call.h"

enum rz_errand_state {
    RZ_ERRAND_NONE,
    RZ_ERRAND_ASKED, /* by the asker; it may withdraw it */
    RZ_ERRAND_TAKEN, /* by the owner, which carries it out now */
    RZ_ERRAND_DONE   /* the asker may read the result */
};

/* The window is about to begin: whether this process is to look for errands. */
void rz_rma_errands_begin(struct rz_win *win);

/*
 * The asker: the target is reached by copies, and this process has the right to accumulate there.
 * *done: the operation was carried out; otherwise nothing was done, and the caller is free to do
 * it. MPI_ERR_PROC_FAILED, MPI_ERR_REVOKED, RZM_ROLLBACK: it may have been carried out or not.
 */
int rz_rma_errand(const struct rz_rma_call *call, const struct rz_rma_operation *operation,
                  uint64_t at, bool *done);

/* The owner: carries out what it is asked for; returns how many. *expected: there may be more
 * later. */
unsigned rz_rma_errands_serve(bool *expected);

#endif
