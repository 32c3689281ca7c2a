/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks of this layer (hooks.h).
 */
#ifndef RZ_MPI_FT_HOOKS_H
#define RZ_MPI_FT_HOOKS_H

#include "mpi/engine/hooks.h"

extern const struct rz_hooks rz_ft_hooks;

#endif
