/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Reduce_scatter and MPI_Reduce_scatter_block.
 *
 * tree: reduces up the tree to rank 0, which scatters the parts.
 * direct: each rank gets the values of its part from all others, and reduces them.
 */
#include "mpi/coll/reduction.h"

struct rz_schedule *rz_plan_reduce_scatter(struct rz_schedule *schedule,
                                           const struct rz_reduction *reduction,
                                           const struct rz_parts *blocks)
{
    struct rz_reduction whole = *reduction;
    struct rz_parts row;
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_reduce_scatter(schedule, reduction, blocks);
    }
    if (!rz_blocks_line_up(schedule, blocks, &row, &whole.count) ||
        rz_reduction_bytes(&whole) == 0) {
        return schedule;
    }
    int rank = rz_comm_rank(rz_schedule_comm(schedule));
    struct rz_part mine = {reduction->to, rz_counts_at(row.counts, rank), reduction->datatype};
    if (rz_coll_choose(rz_schedule_comm(schedule), RZ_COLL_REDUCE_SCATTER,
                       rz_reduction_bytes(&whole),
                       rz_reduction_traits(rz_schedule_comm(schedule), &whole)) == RZ_COLL_DIRECT) {
        struct rz_part value = rz_reduce_part(schedule, &whole, row);
        rz_schedule_copy_some(schedule, &value, &mine);
        return schedule;
    }
    whole.to = rank == 0 ? rz_reduction_room(schedule, &whole) : NULL;
    struct rz_team all = rz_team_of_all(schedule);
    rz_reduce_tree(schedule, &whole, &all, 0);
    rz_schedule_fence(schedule);
    row.buffer = whole.to;
    return rz_plan_scatter(schedule, &row, &mine, 0);
}
