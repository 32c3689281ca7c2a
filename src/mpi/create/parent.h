/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a spawn, among themselves, and what their parents tell them. */
#ifndef RZ_MPI_PARENT_H
#define RZ_MPI_PARENT_H

#include "mpi/create/intercomm.h"

/*
 * Once MPI_COMM_WORLD stands: makes the inter-communicator with the parents and waits until their
 * root has told all of this world to go on. Does not return where the spawn came to nothing: then
 * none of the spawned processes goes on, and they leave without a word. An error class.
 */
int rz_parent_meet(void);

/* comm ends: MPI_Comm_get_parent does not give it any more. */
void rz_parent_ends(const struct rz_comm *comm);

/* What the parents of a spawn give to the spawned; of the caller, by free(). MPI_ERR_NO_MEM. */
struct rz_parent_message {
    uint64_t words[3]; /* of the inter-communicator */
    uint64_t order;    /* READY and GO are about this */
    uint32_t root;     /* the process that spawned */
    uint32_t n;        /* parents */
};
int rz_parent_write(const struct rz_parent_message *protocol_message,
                    const struct rz_group *parents, struct rz_news *news);

#endif
