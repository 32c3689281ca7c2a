/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: ordered sets of processes, by their numbers. Immutable after creation. */
#ifndef RZ_MPI_GROUP_H
#define RZ_MPI_GROUP_H

#include "mpi/chapter.h"

struct rz_group {
    struct rz_object object;
    int size;
    int rank;           /* of this process, or MPI_UNDEFINED */
    uint64_t session;   /* the id of the one it comes from, 0: of none; sessions.h */
    uint32_t rows;      /* 1 + how many of its members in a row are on one node, as all of them were
                           told; 0: to be looked up (agree/agreement_context_members.c) */
    uint32_t process[]; /* [size]: its members' numbers (core/process_number.h) */
};

/* A group of n processes, copied; NULL: no memory. */
struct rz_group *rz_group_new(int n, const uint32_t *process);

/* The rank of a process in group, or MPI_UNDEFINED. */
int rz_group_find(const struct rz_group *group, uint32_t process);

void rz_group_retain(struct rz_group *group);
void rz_group_release(struct rz_group *group);

/* MPI_GROUP_EMPTY made at the first use; freed by finalize. */
void rz_group_forget_empty(void);

#endif
