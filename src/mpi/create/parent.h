/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of a spawn, and what their parents tell them.
 */
#ifndef RZ_MPI_PARENT_H
#define RZ_MPI_PARENT_H

#include "mpi/create/intercomm.h"

/*
 * Once MPI_COMM_WORLD exists: makes the inter-communicator with the parents and waits until their
 * root has sent GO to all of this world. Does not return if the spawn has failed: then all spawned
 * processes exit silently. Returns an error class.
 */
int rz_parent_meet(void);

/* comm ends: MPI_Comm_get_parent does not return it any more. */
void rz_parent_ends(const struct rz_comm *comm);

/* What the parents of a spawn pass to the spawned processes; the caller frees it.
 * MPI_ERR_NO_MEM. */
struct rz_parent_message {
    uint64_t words[3]; /* for the id of the inter-communicator */
    uint64_t order;    /* READY and GO carry this number */
    uint32_t root;     /* the root of the spawn */
    uint32_t n;        /* number of parents */
};
int rz_parent_write(const struct rz_parent_message *protocol_message,
                    const struct rz_group *parents, struct rz_news *news);

#endif
