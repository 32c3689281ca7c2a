/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective operations. Each algorithm is a plan: it adds the steps of this process to a schedule
 * (schedule.h). Its last messages may still run when it ends: a plan that goes on adds a fence.
 * Which algorithm an operation uses: algorithm.h.
 *
 * The tree. Many plans follow one tree over the ranks 0..n-1 of the communicator: the range [lo,
 * hi) of more than one rank splits at lo + the largest power of two below hi - lo, and so on down
 * to single ranks. Each range has a host rank: the root of the operation if it lies in the range,
 * else the first rank. One half contains the host of the whole range; up the tree the host of the
 * other half sends to it, down the tree it receives from it. To take a value up and down costs 2 (n
 * - 1) messages and as many wake-ups, in 2 log2(n) steps.
 *
 * The bracketing of reductions. The value of a range is value(left half) op value(right half),
 * computed at any suitable rank; so a reduction over 6 ranks is (((0 1) (2 3)) (4 5)), whatever the
 * root, the length of the vector, the placement and the order of arrival, in MPI_Reduce,
 * MPI_Allreduce and the two MPI_Reduce_scatter alike: their results are the same to the last bit,
 * by all algorithms but the ring, and but leaders where nodes have no blocks of ranks (leaders.h);
 * only the hint rz_reproducible=false permits these. In MPI_Scan and MPI_Exscan the value before
 * rank r is the product, from left to right, of the values of the ranges to the left of the path to
 * r in the tree; MPI_Scan appends the value of r. But for these two exceptions operands
 * keep the order of ranks, so operations need not commute.
 */
#ifndef RZ_MPI_COLL_H
#define RZ_MPI_COLL_H

#include "mpi/coll/schedule.h"

/* Ranks among which a part of a plan runs, in places 0..n-1: all, those of a node, or the leaders
 * of nodes (leaders.h). */
struct rz_team {
    int n;
    int place;       /* of this process */
    const int *rank; /* of each place; NULL: it is the place */
};

static inline struct rz_team rz_team_of_all(const struct rz_schedule *schedule)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    return (struct rz_team){.n = rz_comm_size(comm), .place = rz_comm_rank(comm)};
}

static inline int rz_team_rank(const struct rz_team *team, int place)
{
    return team->rank ? team->rank[place] : place;
}

/* One split of the tree that this process lies in. */
struct rz_split {
    int lo, mid, hi;
    int host;  /* of the whole range */
    int guest; /* the host of the other half */
};

/* An int has so many bits, and each split uses up at least one. */
#define RZ_SPLITS_MAX 31

/* The place, or rank, at this distance, less than n, on the ring; negative: before this one. */
static inline int rz_team_at(const struct rz_team *team, int64_t distance)
{
    return (int)((team->place + distance + team->n) % team->n);
}

static inline int rz_rank_at(const struct rz_comm *comm, int64_t distance)
{
    const struct rz_team all = {.n = rz_comm_size(comm), .place = rz_comm_rank(comm)};
    return rz_team_at(&all, distance);
}

/* The splits of 0..size-1 down to rank, each of which contains rank; returns their number. */
int rz_splits(int size, int rank, int root, struct rz_split splits[RZ_SPLITS_MAX]);

/* The position at which the range is split: lo plus the largest power of two below hi - lo (>
 * 1). */
int rz_split_at(int lo, int hi);

/* At most so many messages are sent to other ranks at once, and as many received. */
#define RZ_EXCHANGE_WINDOW 32

/*
 * The parts of all ranks in one buffer, as the arguments of the call describe them: one count for
 * all, or counts and displacements. The displacements are in units of the extent, or in bytes if
 * there is a datatype for each part.
 */
struct rz_parts {
    char *buffer;
    struct rz_datatype *datatype;
    const MPI_Datatype *datatypes; /* NULL: datatype */
    MPI_Count count;               /* of each, when counts is empty */
    struct rz_counts counts, displacements;
    bool same; /* all ranks have the same part: the same data go to each */
};

struct rz_part rz_parts_at(const struct rz_parts *parts, int rank);

/* Parts of any lengths: memory for the counts of all ranks, which the caller sets, NULL: no memory;
 * and the parts with these counts, one behind the other, without a buffer. Returns the number of
 * elements of all together. */
MPI_Count *rz_parts_counts(struct rz_schedule *schedule);
MPI_Count rz_parts_line_up(struct rz_schedule *schedule, MPI_Count *counts,
                           struct rz_datatype *datatype, struct rz_parts *parts);

/* Divides a vector into one part for each rank: the first ones have one element more if it does not
 * divide evenly. False: no memory. */
bool rz_parts_divide(struct rz_schedule *schedule, const struct rz_part *whole,
                     struct rz_parts *parts);

/* The blocks of all ranks of the (local) group, contiguous, with `count` elements in total: sets
 * counts and displacements. False: no memory. */
bool rz_blocks_line_up(struct rz_schedule *schedule, const struct rz_parts *blocks,
                       struct rz_parts *row, MPI_Count *count);

static inline MPI_Count rz_part_bytes(const struct rz_part *part)
{
    return rz_datatype_bytes(part->datatype, part->count);
}

void rz_schedule_send_part(struct rz_schedule *schedule, const struct rz_part *part, int dest);
void rz_schedule_recv_part(struct rz_schedule *schedule, const struct rz_part *part, int source);

/* As rz_schedule_send and _recv, but no message for an empty part: both sides know when it is
 * empty. */
void rz_schedule_send_some(struct rz_schedule *schedule, const struct rz_part *part, int dest);
void rz_schedule_recv_some(struct rz_schedule *schedule, const struct rz_part *part, int source);

/* A copy, unless both are empty. */
void rz_schedule_copy_some(struct rz_schedule *schedule, const struct rz_part *from,
                           const struct rz_part *to);

/* Sends each other rank its part of `out`, and receives the parts of `in`; nothing for the own
 * rank. Ends with a fence. */
void rz_schedule_exchange(struct rz_schedule *schedule, const struct rz_parts *out,
                          const struct rz_parts *in);

/* The same within a team; the parts are those of its places. */
void rz_team_exchange(struct rz_schedule *schedule, const struct rz_team *team,
                      const struct rz_parts *out, const struct rz_parts *in);

/* Sends buffer from root to all ranks. */
struct rz_schedule *rz_plan_bcast(struct rz_schedule *schedule, const struct rz_part *part,
                                  int root);

/* Steps of plans: from the place `root` of a team to all of it, down the tree, or each directly. */
void rz_bcast_tree(struct rz_schedule *schedule, const struct rz_part *part,
                   const struct rz_team *team, int root);
void rz_bcast_flat(struct rz_schedule *schedule, const struct rz_part *part,
                   const struct rz_team *team, int root);

/* No process leaves the barrier before all have entered it. */
struct rz_schedule *rz_plan_barrier(struct rz_schedule *schedule);

/*
 * `mine`, NULL for MPI_IN_PLACE, is the part of this process; `all` is used at root only in gather
 * and scatter. The buffers of a process do not overlap.
 */
struct rz_schedule *rz_plan_gather(struct rz_schedule *schedule, const struct rz_part *mine,
                                   const struct rz_parts *all, int root);
struct rz_schedule *rz_plan_scatter(struct rz_schedule *schedule, const struct rz_parts *all,
                                    const struct rz_part *mine, int root);
struct rz_schedule *rz_plan_allgather(struct rz_schedule *schedule, const struct rz_part *mine,
                                      const struct rz_parts *all);

/* A step of plans: the own part is in `all` already. owner: a rank that has all parts and receives
 * none; MPI_PROC_NULL: no rank has. Ends with a fence. */
void rz_allgather_ring(struct rz_schedule *schedule, const struct rz_parts *all, int owner);

/* out NULL: MPI_IN_PLACE. */
struct rz_schedule *rz_plan_alltoall(struct rz_schedule *schedule, const struct rz_parts *out,
                                     const struct rz_parts *in);

/* A reduction: count elements at `from` (the user's, or `to` for MPI_IN_PLACE) into `to`. */
struct rz_reduction {
    const void *from;
    void *to;
    MPI_Count count;
    struct rz_datatype *datatype;
    struct rz_op *op;
};

/* reduction->to is used at root only; from == to there means MPI_IN_PLACE. */
struct rz_schedule *rz_plan_reduce(struct rz_schedule *schedule,
                                   const struct rz_reduction *reduction, int root);
struct rz_schedule *rz_plan_allreduce(struct rz_schedule *schedule,
                                      const struct rz_reduction *reduction);

/* reduction->count is ignored; rank i gets counts[i] elements at `to`; from NULL: in place, they
 * come from `to`. */
struct rz_schedule *rz_plan_reduce_scatter(struct rz_schedule *schedule,
                                           const struct rz_reduction *reduction,
                                           const struct rz_parts *blocks);

/* exclusive: MPI_Exscan, which leaves `to` of rank 0 unchanged. */
struct rz_schedule *rz_plan_scan(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                                 bool exclusive);

/* ---- Inter-communicators (coll_inter.c): the plans above call these ---- */

static inline bool rz_plan_is_inter(const struct rz_schedule *schedule)
{
    return rz_schedule_comm(schedule)->object.flags & RZ_COMM_INTER;
}

/* The data of the other group arrive here. root: as in MPI, also MPI_ROOT and MPI_PROC_NULL. */
struct rz_schedule *rz_inter_barrier(struct rz_schedule *schedule);
struct rz_schedule *rz_inter_bcast(struct rz_schedule *schedule, const struct rz_part *part,
                                   int root);
struct rz_schedule *rz_inter_gather(struct rz_schedule *schedule, const struct rz_part *mine,
                                    const struct rz_parts *all, int root);
struct rz_schedule *rz_inter_scatter(struct rz_schedule *schedule, const struct rz_parts *all,
                                     const struct rz_part *mine, int root);
struct rz_schedule *rz_inter_allgather(struct rz_schedule *schedule, const struct rz_part *mine,
                                       const struct rz_parts *all);
struct rz_schedule *rz_inter_alltoall(struct rz_schedule *schedule, const struct rz_parts *out,
                                      const struct rz_parts *in);

/* The value of each group, with the bracketing of that group, goes to the other group. */
struct rz_schedule *rz_inter_reduce(struct rz_schedule *schedule,
                                    const struct rz_reduction *reduction, int root);
struct rz_schedule *rz_inter_allreduce(struct rz_schedule *schedule,
                                       const struct rz_reduction *reduction);
struct rz_schedule *rz_inter_reduce_scatter(struct rz_schedule *schedule,
                                            const struct rz_reduction *reduction,
                                            const struct rz_parts *blocks);

/* MPI_Scan and MPI_Exscan are not defined on inter-communicators: MPI_ERR_COMM. */
struct rz_schedule *rz_inter_refuse(struct rz_schedule *schedule);

#endif
