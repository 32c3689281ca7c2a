/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided operations on memory of the user of another process of this node, by copies between
 * processes.
 */
#ifndef RZ_MPI_RMA_COPY_H
#define RZ_MPI_RMA_COPY_H

#include "mpi/rma/rma_apply.h"

/* Does it at that address of the target. For an accumulate the caller has the right to accumulate.
 * MPI_ERR_RMA_RANGE: there is no such memory; MPI_ERR_PROC_FAILED: the target has ended, or has
 * freed the window; MPI_ERR_NO_MEM. */
int rz_rma_copy(struct rz_win_target *target, const struct rz_rma_operation *operation,
                uint64_t at);

/* Whether the target still is the process that it was, with the window. */
bool rz_rma_is_there(const struct rz_win_target *target);

/* Whether the target's process has ended. False also where this host cannot say. */
bool rz_rma_has_ended(const struct rz_win_target *target);

/* Copies one row of less than 1 GiB between that address of the target and here. False: refused, or
 * no such memory; a part may have been copied. */
bool rz_rma_copy_row(const struct rz_win_target *target, uint64_t there, void *here, size_t bytes,
                     bool writes);

/* Closes what was opened for that. */
void rz_rma_copy_end(struct rz_win_target *target);

#endif
