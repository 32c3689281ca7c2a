/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An operation of the user: its checks, its data at the origin, and the way by which the target is
 * reached.
 */
#ifndef RZ_MPI_RMA_OPERATE_H
#define RZ_MPI_RMA_OPERATE_H

#include "mpi/request/request.h"
#include "mpi/rma/rma_call.h"

/* Does it; request NULL: the call has none. MPI_SUCCESS, an error class or RZM_ROLLBACK. */
int rz_rma_operate(const struct rz_rma_call *call, struct rz_request **request);

#endif
