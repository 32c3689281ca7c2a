/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Reduce. Which algorithms keep to the bracketing: coll.h.
 *
 * tree: up the tree, n - 1 messages.
 * flat: all send to root, which reduces. Where ranks share processors each step of a tree costs a
 * turn of all of them.
 * direct: each rank reduces a part of the vector, from parts that all others send it; root gathers
 * the parts.
 * leaders: within each node, then up a tree of one rank of each node.
 */
#include "mpi/coll/leaders.h"
#include "mpi/coll/reduction.h"

static void reduce_leaders(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                           int root)
{
    struct rz_leaders leaders;
    struct rz_reduction value = *reduction;
    if (!rz_leaders_find(schedule, root, &leaders)) {
        return;
    }
    leaders.flat = false; /* no rank waits for root: to share the work counts, not the steps */
    if (leaders.leads && rz_comm_rank(rz_schedule_comm(schedule)) != root) {
        value.to = rz_reduction_room(schedule, reduction);
    }
    rz_leaders_reduce(schedule, &value, &leaders);
    if (leaders.leads) {
        value.from = value.to;
        rz_reduce_tree(schedule, &value, &leaders.across, leaders.root);
    }
}

struct rz_schedule *rz_plan_reduce(struct rz_schedule *schedule,
                                   const struct rz_reduction *reduction, int root)
{
    const struct rz_part whole = {reduction->to, reduction->count, reduction->datatype};
    struct rz_parts parts;
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_reduce(schedule, reduction, root);
    }
    MPI_Count bytes = rz_reduction_bytes(reduction);
    if (bytes == 0) {
        return schedule;
    }
    struct rz_team all = rz_team_of_all(schedule);
    switch (rz_coll_choose(rz_schedule_comm(schedule), RZ_COLL_REDUCE, bytes,
                           rz_reduction_traits(rz_schedule_comm(schedule), reduction))) {
    case RZ_COLL_DIRECT:
        if (rz_parts_divide(schedule, &whole, &parts)) {
            struct rz_part value = rz_reduce_part(schedule, reduction, parts);
            rz_plan_gather(schedule, &value, &parts, root);
        }
        break;
    case RZ_COLL_FLAT:
        rz_reduce_flat(schedule, reduction, &all, root);
        break;
    case RZ_COLL_LEADERS:
        reduce_leaders(schedule, reduction, root);
        break;
    default:
        rz_reduce_tree(schedule, reduction, &all, root);
    }
    return schedule;
}
