/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `rzrun --detector flat`, for comparison with the daemons' detectors: the heartbeat ring of
 * SC'16, in which each process watches another one, as in Open MPI's ULFM. A thread of its own runs
 * the cores ring and spread, the objects that the simulator runs, with the processes of the job as
 * members; it holds no lock and calls nothing of the library.
 *
 * A ring begins when its epoch runs and ends with the epoch. Its datagrams go by the addresses
 * that the daemon writes on the board. Who is found silent is told to the daemon first, which is
 * the assess (daemon/service/arbiter.h), then to the other processes; failures that stand on the
 * board mend the ring.
 *
 * The thread is a module (rhizome-flat.so, from mpi/flat/), so that no other program needs what it
 * needs to authenticate its datagrams.
 */
#ifndef RZ_MPI_FLAT_H
#define RZ_MPI_FLAT_H

#include "link/link.h"
#include "mpi/engine/hooks.h"

/* Starts the thread where the daemon gave a socket, and ends it before the link is closed. */
extern const struct rz_hooks rz_flat_hooks;

#endif
