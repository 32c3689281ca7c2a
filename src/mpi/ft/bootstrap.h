/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bootstrap messages: by a setup message (create/setup_message.h) a survivor of a communicator
 * tells a process that replaces a failed one of the new communicator that the process belongs to.
 */
#ifndef RZ_MPI_BOOTSTRAP_H
#define RZ_MPI_BOOTSTRAP_H

#include "mpi/comm/comm.h"
#include "mpi/create/setup_message.h"

struct rz_bootstrap {
    uint64_t context;
    uint32_t n, index; /* index of this communicator among the n that are repaired together */
    uint32_t rows;     /* rz_group.rows */
    uint32_t size;     /* size of the group */
    uint32_t *process; /* [size] */
    bool *is_new;      /* [size]: gets a bootstrap message itself */
};

/* Sends a setup message to all new members that are alive; MPI_ERR_NO_MEM. */
int rz_bootstrap_send(const struct rz_bootstrap *bootstrap);

/*
 * Reads a bootstrap message; *bootstrap is to be freed, also when the message is malformed. False:
 * it is malformed, or of no use to this process (which is not in the group, or a slot is not of
 * this job).
 */
bool rz_bootstrap_read(struct rz_bootstrap *bootstrap, const struct rz_setup_message *word);

/* Whether this process has the communicator with that id, or had it. */
bool rz_bootstrap_known(uint64_t context);

void rz_bootstrap_free(struct rz_bootstrap *bootstrap);

#endif
