/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bootstrap messages: by a word (create/setup_message.h) the survivors of a communicator tell a
 * process that came in place of a failed one of the new communicator to which it belongs.
 */
#ifndef RZ_MPI_BOOTSTRAP_H
#define RZ_MPI_BOOTSTRAP_H

#include "mpi/comm/comm.h"
#include "mpi/create/setup_message.h"

struct rz_bootstrap {
    uint64_t context;
    uint32_t n, index; /* which of how many communicators are repaired together */
    uint32_t rows;     /* rz_group.rows */
    uint32_t size;     /* of the group */
    uint32_t *process; /* [size] */
    bool *is_new;      /* [size]: is invited itself */
};

/* As a word to all of them that are new and live; MPI_ERR_NO_MEM. */
int rz_bootstrap_send(const struct rz_bootstrap *bootstrap);

/* Reads one; *bootstrap message is to be freed, also when it is malformed. False: malformed, or of
 * no use to this process (it is not in the group, or a slot is not of this job). */
bool rz_bootstrap_read(struct rz_bootstrap *bootstrap, const struct rz_setup_message *word);

/* Whether this process has the communicator of that id already, or had it. */
bool rz_bootstrap_known(uint64_t context);

void rz_bootstrap_free(struct rz_bootstrap *bootstrap);

#endif
