/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The epoch check: what arrives from other processes is dropped unless it is of this job, this
 * epoch and a living incarnation; the rest goes to the module that takes messages of its kind
 * (hooks.h). Of a process that our board does not show yet it waits (unstarted.h).
 */
#ifndef RZ_MPI_EPOCH_CHECK_H
#define RZ_MPI_EPOCH_CHECK_H

#include "mpi/engine/liveness.h"
#include "wire/envelope.h"

/* The number of the process that has sent it. */
static inline uint32_t rz_message_from(const struct rz_envelope *envelope)
{
    return rz_process(envelope->slot, envelope->incarnation);
}

/* A message has arrived (rz_net_host.arrived; path: that of the transport). */
void rz_epoch_check_arrived(void *path, const void *header, uint32_t header_bytes, const void *data,
                            size_t bytes, rz_net_token_t token);

/* It has passed the check: to where its kind belongs. */
void rz_epoch_check_passed(struct rz_path *path, const struct rz_envelope *envelope,
                           const void *data, size_t bytes, rz_net_token_t token);

#endif
