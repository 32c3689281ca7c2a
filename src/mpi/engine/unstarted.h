/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of processes that our board does not show yet. Whoever was spawned is known to the
 * daemons one after the other: a process may hear of it from another one, or from itself, before
 * its own daemon says so. What comes early waits here until then; so messages are never lost
 * between the living.
 */
#ifndef RZ_MPI_UNSTARTED_H
#define RZ_MPI_UNSTARTED_H

#include "mpi/engine/hooks.h"
#include "wire/envelope.h"

/* A message of this epoch whose sender is a later process of its slot than we know of. Arguments as
 * in rz_net_host.arrived; data is copied. */
void rz_unstarted_keep(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                       size_t bytes, rz_net_token_t token);

/* Such a process writes to us through shared memory (rz_shm_config.stranger). */
void rz_unstarted_met(struct rz_identity who);

/*
 * The board shows another process in that slot: `arrived` is called with what it has said so far,
 * in order; what came of an older one, which we shall never know, is dropped. Not from inside a
 * callback of a transport.
 */
void rz_unstarted_adopted(uint32_t slot, rz_arrived_t arrived);

/* All of it is dropped: at a roll-back and in finalize. */
void rz_unstarted_close(void);

#endif
