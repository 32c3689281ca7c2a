/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inter-communicators: what one group tells the other, and communicators made of such news. The
 * members of rank 0 of both groups (or the leaders that the user names) swap, then each tells its
 * own group.
 *
 * All of these are collective; they end at all members with MPI_SUCCESS, or an error class at those
 * who learn of it: MPI_ERR_PROC_FAILED when a member of either group failed. RZM_ROLLBACK.
 */
#ifndef RZ_MPI_INTERCOMM_H
#define RZ_MPI_INTERCOMM_H

#include "mpi/comm/comm.h"

/* A row of bytes; of the caller, by free(). */
struct rz_news {
    void *data;
    size_t bytes;
};

/*
 * At one of the two who swap: tells `mine`, or that it cannot (error, told to the other as the same
 * class), and hears the other's. peer: a rank of bridge.
 */
int rz_news_swap(struct rz_comm *bridge, enum rz_context_offset context_offset, int peer, int tag,
                 int error, const struct rz_news *mine, struct rz_news *theirs);

/* At all of an intra-communicator: root tells news, or its error, which becomes everybody's. */
int rz_news_tell(struct rz_comm *comm, uint64_t operation, int root, int error,
                 struct rz_news *news);

/* At all of an inter-communicator: what rank 0 of the other group has in `mine`. error: of rank 0.
 */
int rz_intercomm_swap(struct rz_comm *inter, uint64_t operation, int error,
                      const struct rz_news *mine, struct rz_news *theirs);

/* A group and a word of the teller as news, and back. MPI_ERR_NO_MEM. */
int rz_news_of_group(uint64_t word, const struct rz_group *group, struct rz_news *news);
int rz_news_read_group(const struct rz_news *news, uint64_t *word, struct rz_group **group);

/* MPI_ERR_GROUP when they have a member in common. */
int rz_intercomm_check_disjoint(const struct rz_group *local, const struct rz_group *remote);

/* MPI_Comm_create on an inter-communicator; error: what is wrong with group here. */
int rz_intercomm_create(struct rz_comm *inter, struct rz_group *group, int error,
                        struct rz_comm **newcomm);

#endif
