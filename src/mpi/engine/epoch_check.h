/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The epoch check: a message from another process is dropped unless it is of this job, of this
 * epoch and of the present incarnation of its slot. Other messages go to the module that takes
 * their kind (hooks.h). A message of a process that our board does not show yet is kept
 * (unstarted.h).
 */
#ifndef RZ_MPI_EPOCH_CHECK_H
#define RZ_MPI_EPOCH_CHECK_H

#include "mpi/engine/liveness.h"
#include "wire/envelope.h"

/* The number of the process that sent the message. */
static inline uint32_t rz_message_from(const struct rz_envelope *envelope)
{
    return rz_engine_number(envelope->slot, envelope->incarnation);
}

/* A message has arrived (rz_net_host.arrived; path: that of the transport). */
void rz_epoch_check_arrived(void *path, const void *header, uint32_t header_bytes, const void *data,
                            size_t bytes, rz_net_token_t token);

/* The message has passed the check: passes it to the module that takes its kind. */
void rz_epoch_check_passed(struct rz_path *path, const struct rz_envelope *envelope,
                           const void *data, size_t bytes, rz_net_token_t token);

#endif
