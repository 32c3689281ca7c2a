/* SPDX-License-Identifier: BSD-3-Clause */
/* Gather and scatter: directly between each rank and the root. */
#include "mpi/coll/coll.h"

struct rz_schedule *rz_plan_gather(struct rz_schedule *schedule, const struct rz_part *mine,
                                   const struct rz_parts *all, int root)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm), size = rz_comm_size(comm);
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_gather(schedule, mine, all, root);
    }
    if (rank != root) {
        rz_schedule_send_some(schedule, mine, root);
        return schedule;
    }
    for (int source = 0; source < size; source++) {
        struct rz_part part = rz_parts_at(all, source);
        if (source != rank) {
            rz_schedule_recv_some(schedule, &part, source);
        } else if (mine) {
            rz_schedule_copy_some(schedule, mine, &part);
        }
    }
    return schedule;
}

struct rz_schedule *rz_plan_scatter(struct rz_schedule *schedule, const struct rz_parts *all,
                                    const struct rz_part *mine, int root)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm), size = rz_comm_size(comm);
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_scatter(schedule, all, mine, root);
    }
    if (rank != root) {
        rz_schedule_recv_some(schedule, mine, root);
        return schedule;
    }
    for (int dest = 0; dest < size; dest++) {
        struct rz_part part = rz_parts_at(all, dest);
        if (dest != rank) {
            rz_schedule_send_some(schedule, &part, dest);
        } else if (mine) {
            rz_schedule_copy_some(schedule, &part, mine);
        }
    }
    return schedule;
}
