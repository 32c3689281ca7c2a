/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the plans of reductions have in common: steps on whole vectors, and the two ways to a value
 * with the bracketing of coll.h: up the tree, or one part of the vector at each rank.
 */
#ifndef RZ_MPI_REDUCTION_H
#define RZ_MPI_REDUCTION_H

#include "mpi/coll/algorithm.h"
#include "mpi/coll/coll.h"

static inline MPI_Count rz_reduction_bytes(const struct rz_reduction *reduction)
{
    return rz_datatype_bytes(reduction->datatype, reduction->count);
}

/* What rz_coll_choose must know of it. */
unsigned rz_reduction_traits(const struct rz_comm *comm, const struct rz_reduction *reduction);

/* ---- Steps ---- */

/* New memory for a vector. */
void *rz_reduction_room(struct rz_schedule *schedule, const struct rz_reduction *reduction);

/* right = left op right */
void rz_reduction_combine(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                          const void *left, void *right);

/* Nothing if `from` is `to`. */
void rz_reduction_copy(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                       const void *from, void *to);
void *rz_reduction_copy_to_room(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                                const void *from);

void rz_reduction_send(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                       const void *value, int dest);

/* Returns room. */
void *rz_reduction_recv(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                        void *room, int source);

/* ---- Values ---- */

/* The value of ranks [lo, hi), computed from the values of all ranks in one row, `values`; returns
 * where it is in the row. */
char *rz_reduction_of_range(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                            const struct rz_parts *values, int lo, int hi);

/* Reduces the values of a team into reduction->to at its place root, up the tree. */
void rz_reduce_tree(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                    const struct rz_team *team, int root);

/* All of the team send their value to its place root, which reduces them. */
void rz_reduce_flat(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                    const struct rz_team *team, int root);

/* Each rank sends every other rank its part of the vector at reduction->from; returns the value of
 * this rank's part, in new memory. */
struct rz_part rz_reduce_part(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                              struct rz_parts parts);

#endif
