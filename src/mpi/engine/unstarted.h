/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of processes that our board does not show yet. The daemons learn of a spawned process
 * one after the other, so this process may hear of it from another one, or from itself, before its
 * own daemon shows it. Messages that come early wait here until then; so no message is lost between
 * processes that are alive.
 */
#ifndef RZ_MPI_UNSTARTED_H
#define RZ_MPI_UNSTARTED_H

#include "mpi/engine/hooks.h"
#include "wire/envelope.h"

/* Keeps a message of this epoch whose sender is a later process of its slot than we know of.
 * Arguments as in rz_net_host.arrived; data is copied. */
void rz_unstarted_keep(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                       size_t bytes, rz_net_token_t token);

/* Such a process has connected through shared memory (rz_shm_config.stranger). */
void rz_unstarted_met(struct rz_identity identity);

/*
 * The board shows another process in that slot: calls `arrived` with the messages that it has sent
 * so far, in order. Messages of an older process of the slot, which we shall never know, are
 * dropped. Not called from inside a callback of a transport.
 */
void rz_unstarted_adopted(uint32_t slot, rz_arrived_t arrived);

/* Drops all of it: at a roll-back and in finalize. */
void rz_unstarted_close(void);

#endif
