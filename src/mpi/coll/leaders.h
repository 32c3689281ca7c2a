/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The leaders of nodes. The ranks of a communicator on one node form a team, whose leader is its
 * lowest rank, or the root of the operation on the root's node. The leaders form a team, too, in
 * the order of the lowest ranks of their nodes. By algorithms with leaders messages pass between
 * nodes from leader to leader only.
 *
 * Where each node has a block of 2^k consecutive ranks, a block is a range of the tree of coll.h,
 * and the tree above the blocks is that of the leaders: a reduction in each node and then among the
 * leaders has the brackets of coll.h.
 */
#ifndef RZ_MPI_LEADERS_H
#define RZ_MPI_LEADERS_H

#include "mpi/coll/coll.h"
#include "mpi/coll/reduction.h"

struct rz_leaders {
    struct rz_team here;   /* the ranks of this process's node */
    struct rz_team across; /* the leaders; its place is that of this process's node */
    int head;              /* the place of the leader in `here` */
    int root;              /* the place of the root's node in `across` */
    bool leads;            /* this process is a leader */
    bool flat;             /* within a node: each rank with the leader, not by a tree */
    /* All ranks by node, and where those of each node begin, [across.n + 1]. */
    const int *by_node, *begin;
};

/* Only where the algorithm was chosen. False: no memory, and the operation ends before it
 * begins. */
bool rz_leaders_find(struct rz_schedule *schedule, int root, struct rz_leaders *leaders);

/* From the leader to its node. */
void rz_leaders_bcast(struct rz_schedule *schedule, const struct rz_part *part,
                      const struct rz_leaders *leaders);

/* The values of a node into reduction->to at its leader. */
void rz_leaders_reduce(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                       const struct rz_leaders *leaders);

#endif
