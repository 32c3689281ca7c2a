/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The barrier.
 *
 * tree: the ranks tell their arrival up the tree, rank 0 lets them go down the tree: 2 (n - 1)
 * messages, 2 log2(n) steps.
 * flat: all tell rank 0, which lets all go: 2 (n - 1) messages, two steps. Where ranks share
 * processors each step costs a turn of all of them.
 * cells: each rank writes into a cell of each other one (cells.h).
 * dissemination: in step k each rank tells rank + 2^k, modulo n (Hensgen, Finkel, Manber 1988): n
 * log2(n) messages, log2(n) steps.
 */
#include "mpi/coll/algorithm.h"
#include "mpi/coll/cells.h"
#include "mpi/coll/coll.h"

static void barrier_tree(struct rz_schedule *schedule, const struct rz_part *nothing)
{
    struct rz_split splits[RZ_SPLITS_MAX];
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm);
    int n = rz_splits(rz_comm_size(comm), rank, 0, splits);
    for (int i = n - 1; i >= 0; i--) {
        if (splits[i].host == rank) {
            rz_schedule_recv_part(schedule, nothing, splits[i].guest);
        }
    }
    rz_schedule_fence(schedule);
    for (int i = n - 1; i >= 0; i--) {
        if (splits[i].guest == rank) {
            rz_schedule_send_part(schedule, nothing, splits[i].host);
            rz_schedule_recv_part(schedule, nothing, splits[i].host);
            rz_schedule_fence(schedule);
        }
    }
    for (int i = 0; i < n; i++) {
        if (splits[i].host == rank) {
            rz_schedule_send_part(schedule, nothing, splits[i].guest);
        }
    }
}

static void barrier_flat(struct rz_schedule *schedule, const struct rz_part *nothing)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    if (rz_comm_rank(comm) != 0) {
        rz_schedule_send_part(schedule, nothing, 0);
    } else {
        for (int i = 1; i < rz_comm_size(comm); i++) {
            rz_schedule_recv_part(schedule, nothing, i);
        }
        rz_schedule_fence(schedule);
    }
    rz_bcast_flat(schedule, nothing, 0);
}

static void barrier_dissemination(struct rz_schedule *schedule, const struct rz_part *nothing)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    for (int64_t distance = 1; distance < rz_comm_size(comm); distance *= 2) {
        rz_schedule_recv_part(schedule, nothing, rz_rank_at(comm, -distance));
        rz_schedule_send_part(schedule, nothing, rz_rank_at(comm, distance));
        rz_schedule_fence(schedule);
    }
}

static void barrier_cells(struct rz_schedule *schedule, const struct rz_part *nothing)
{
    const struct rz_parts none = {.datatype = nothing->datatype, .same = true};
    rz_cells_exchange(schedule, &none, &none);
}

struct rz_schedule *rz_plan_barrier(struct rz_schedule *schedule)
{
    const struct rz_part nothing = {.datatype = rz_datatype_of(MPI_BYTE)};
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_barrier(schedule);
    }
    switch (rz_coll_choose(rz_schedule_comm(schedule), RZ_COLL_BARRIER, 0,
                           rz_cells_trait(schedule, 0))) {
    case RZ_COLL_CELLS:
        barrier_cells(schedule, &nothing);
        break;
    case RZ_COLL_FLAT:
        barrier_flat(schedule, &nothing);
        break;
    case RZ_COLL_DISSEMINATION:
        barrier_dissemination(schedule, &nothing);
        break;
    default:
        barrier_tree(schedule, &nothing);
    }
    return schedule;
}
