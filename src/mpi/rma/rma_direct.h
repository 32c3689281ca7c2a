/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short way of operations on memory that this process reaches by loads and stores: rows of
 * bytes, and single elements of predefined types that the processor changes atomically.
 */
#ifndef RZ_MPI_RMA_DIRECT_H
#define RZ_MPI_RMA_DIRECT_H

#include "mpi/rma/rma_call.h"

/* Whether the operation was such a one, and is done. False: nothing was done; it goes the general
 * way, where errors of its arguments are found. rz_engine_begin was called. */
bool rz_rma_direct(const struct rz_rma_call *call);

#endif
