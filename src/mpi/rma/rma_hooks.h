/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer of windows among the others. */
#ifndef RZ_MPI_RMA_HOOKS_H
#define RZ_MPI_RMA_HOOKS_H

#include "mpi/engine/hooks.h"

extern const struct rz_hooks rz_rma_hooks;

#endif
