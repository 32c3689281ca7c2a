/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transports as a whole: opened and closed with the library; their events go to epoch_check.h
 * and peer.h.
 */
#ifndef RZ_MPI_TRANSPORT_H
#define RZ_MPI_TRANSPORT_H

#include "mpi/engine/hooks.h"

extern const struct rz_hooks rz_transport_hooks;

/* Registers for the daemon's messages and opens shared memory (nothing to open in a job without a
 * daemon). */
rz_status_t rz_transport_open(void);

/* At the end of the library, when nothing is under way any more. */
void rz_transport_close(void);

#endif
