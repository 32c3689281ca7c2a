/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inter-communicators: exchanges between their groups, and the communicators made by them. The
 * members of rank 0 of both groups (or the leaders that the user names) exchange news, then each
 * broadcasts in its own group.
 *
 * All of these calls are collective. They end at all members with MPI_SUCCESS, or with an error
 * class at the members that learn of an error: MPI_ERR_PROC_FAILED when a member of either group
 * failed. RZM_ROLLBACK.
 */
#ifndef RZ_MPI_INTERCOMM_H
#define RZ_MPI_INTERCOMM_H

#include "mpi/comm/comm.h"

/* A row of bytes; the caller frees data. */
struct rz_news {
    void *data;
    size_t bytes;
};

/* How a leader reaches the other leader: as rank peer of bridge. */
struct rz_leader_way {
    struct rz_comm *bridge;
    enum rz_context_offset context_offset;
    int peer, tag;
};

/* At the two leaders that exchange: sends `mine`, or that it cannot (error, which the other gets as
 * the same class), and receives the other's. */
int rz_news_swap(const struct rz_leader_way *way, int error, const struct rz_news *mine,
                 struct rz_news *theirs);

/* At all members of an intra-communicator: root broadcasts news, or its error, which then all
 * members return. */
int rz_news_tell(struct rz_comm *comm, uint64_t operation, int root, int error,
                 struct rz_news *news);

/* At all members of an inter-communicator: returns what rank 0 of the other group has passed as
 * `mine`. error: of rank 0. */
int rz_intercomm_swap(struct rz_comm *inter, uint64_t operation, int error,
                      const struct rz_news *mine, struct rz_news *theirs);

/* Makes news of a group and a word, and reads them again. MPI_ERR_NO_MEM. */
int rz_news_of_group(uint64_t word, const struct rz_group *group, struct rz_news *news);
int rz_news_read_group(const struct rz_news *news, uint64_t *word, struct rz_group **group);

/* MPI_ERR_GROUP when the groups have a member in common. */
int rz_intercomm_check_disjoint(const struct rz_group *local, const struct rz_group *remote);

/* MPI_Comm_create on an inter-communicator; error: of the argument group, here. */
int rz_intercomm_create(struct rz_comm *inter, struct rz_group *group, int error,
                        struct rz_comm **newcomm);

#endif
