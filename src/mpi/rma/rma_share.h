/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long rows of puts and gets in memory of the user of another process of this node: an owner that
 * is inside MPI copies pieces of the row from its end, while the asker copies pieces from its
 * begin, each by system calls on the other's memory. An owner that computes or sleeps takes none,
 * and the asker copies all.
 *
 * An owner has one row at a time, named in its control block; askers that find it in use copy their
 * rows alone. The asker returns when the owner has left the row: after that the owner touches the
 * memory of neither side. An owner that has failed touches none.
 */
#ifndef RZ_MPI_RMA_SHARE_H
#define RZ_MPI_RMA_SHARE_H

#include "mpi/rma/rma_apply.h"
#include "mpi/rma/rma_call.h"

/* The state of a shared row, in the low byte; above it the rank of the asker. */
enum rz_share_state {
    RZ_SHARE_FREE,
    RZ_SHARE_HELD,  /* the asker fills it in, or has done with it */
    RZ_SHARE_ASKED, /* the owner may enter */
    RZ_SHARE_TAKEN, /* the owner is inside */
    RZ_SHARE_LEFT   /* the owner was inside, and will not enter again */
};

/*
 * The asker: a put or a get on a target that is reached by copies. *done: it was carried out;
 * otherwise the caller does all of it. MPI_ERR_PROC_FAILED, RZM_ROLLBACK: a part may have been
 * carried out.
 */
int rz_rma_share(const struct rz_rma_call *call, const struct rz_rma_operation *operation,
                 uint64_t at, bool *done);

/* The owner of the window: copies some pieces, if there is a row. Whether it did. */
bool rz_rma_share_serve(struct rz_win *win);

#endif
