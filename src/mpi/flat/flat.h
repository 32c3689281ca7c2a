/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `rzrun --detector flat`, for comparison with the daemons' detectors: the heartbeat ring of
 * Bosilca et al. (SC'16; docs/protocols/ring.md), in which each process observes another one, as in
 * Open MPI's ULFM. A thread of its own hosts the cores ring and spread, which the simulator runs as
 * well; their members are the processes of the job. The thread holds no lock and calls no function
 * of the library.
 *
 * A ring begins when its epoch runs and ends with the epoch. Its datagrams go to the addresses that
 * the daemon writes on the board. A silent process is reported first to the daemon, which is the
 * failure arbiter (daemon/service/arbiter.h), then to the other processes; failures on the board
 * mend the ring.
 *
 * The thread is a module (rhizome-flat.so, from mpi/flat/), so that only programs that use it load
 * what it needs to authenticate its datagrams.
 */
#ifndef RZ_MPI_FLAT_H
#define RZ_MPI_FLAT_H

#include "link/link.h"
#include "mpi/engine/hooks.h"

/* Starts the thread if the daemon has passed a socket, and ends it before the link is closed. */
extern const struct rz_hooks rz_flat_hooks;

#endif
