/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long rows of puts and gets between nodes. The message of such an operation has no data: these
 * follow as a message of the window's communicator, whose tag says which operation it is of. They
 * go from the origin's buffer into the window, or back, and are not copied.
 *
 * Both memories must stay until the row has moved, also after a failure or a revocation: then a
 * transport may hold them still.
 */
#ifndef RZ_MPI_RMA_ROW_H
#define RZ_MPI_RMA_ROW_H

#include "mpi/rma/rma_apply.h"

struct rz_rma_row {
    int rank; /* the other process */
    bool out; /* it is sent to that process; else received */
    enum rz_rma_what what;
    uint64_t number; /* of the operation, at its origin */
    void *at;
    MPI_Count bytes;
};

/* The row has moved, or will not. win: NULL if it has ended. Called once for each row. */
typedef void (*rz_rma_moved_t)(struct rz_win *win, const struct rz_rma_row *row, int error);

/* Whether an operation on the memory of that member is to be carried out in this way, if its data
 * stay where they are. */
bool rz_rma_is_row(const struct rz_win *win, int rank, const struct rz_rma_operation *operation);

/* Begins to move a row: at once, so that it may have moved when this returns, or, as inside
 * callbacks of transports, in the next round of progress. Without memory the process ends: the
 * other one would wait for ever. */
void rz_rma_row_move(struct rz_win *win, const struct rz_rma_row *row, rz_rma_moved_t moved,
                     bool at_once);

/* That member has no such window: what is to be received from it will not come. */
void rz_rma_rows_cancel(const struct rz_win *win, int rank);

/* Waits until no row moves from this window or into it, which ends by itself after failures.
 * MPI_SUCCESS or RZM_ROLLBACK. */
int rz_rma_rows_await(struct rz_win *win, const char *call);

#endif
