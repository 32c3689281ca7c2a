/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transports as a whole: opened with the library, given what they tell (epoch_check.h, peer.h),
 * closed with it.
 */
#ifndef RZ_MPI_TRANSPORT_H
#define RZ_MPI_TRANSPORT_H

#include "mpi/engine/hooks.h"

extern const struct rz_hooks rz_transport_hooks;

/* Registers for the daemon's messages and opens shared memory (nothing to open when alone). */
rz_status_t rz_transport_open(void);

/* At the end of the library: nothing is under way any more. */
void rz_transport_close(void);

#endif
