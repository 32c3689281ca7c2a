/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups: ordered sets of processes, identified by process numbers. Immutable after creation.
 */
#ifndef RZ_MPI_GROUP_H
#define RZ_MPI_GROUP_H

#include "mpi/impl.h"

struct rz_group {
    struct rz_object object;
    int size;
    int rank;         /* of this process, or MPI_UNDEFINED */
    uint64_t session; /* the id of the session it comes from (sessions.h); 0: none */
    uint32_t rows; /* 1 + how many consecutive members are on one node, equal at all members; 0: not
                      known yet (agree/agreement_context_members.c) */
    uint32_t process[]; /* [size]: the numbers of its members (core/process_number.h) */
};

/* A group of n processes, whose numbers are copied; NULL: no memory. */
struct rz_group *rz_group_new(int n, const uint32_t *process);

/* The rank of a process in group, or MPI_UNDEFINED. */
int rz_group_find(const struct rz_group *group, uint32_t process);

void rz_group_retain(struct rz_group *group);
void rz_group_release(struct rz_group *group);

/* Frees the MPI_GROUP_EMPTY that was made at its first use: in finalize. */
void rz_group_forget_empty(void);

#endif
