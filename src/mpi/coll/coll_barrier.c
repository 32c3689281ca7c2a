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
 * leaders: the ranks of each node tell their leader, the leaders do as by dissemination, each lets
 * its node go: 2 (n - k) messages within k nodes, k log2(k) between them.
 */
#include "mpi/coll/algorithm.h"
#include "mpi/coll/cells.h"
#include "mpi/coll/leaders.h"

/* Place 0 of the team learns that all have arrived. */
static void arrive_tree(struct rz_schedule *schedule, const struct rz_part *nothing,
                        const struct rz_team *team)
{
    struct rz_split splits[RZ_SPLITS_MAX];
    int n = rz_splits(team->n, team->place, 0, splits), i;
    for (i = n - 1; i >= 0 && splits[i].host == team->place; i--) {
        rz_schedule_recv_part(schedule, nothing, rz_team_rank(team, splits[i].guest));
    }
    rz_schedule_fence(schedule);
    if (i >= 0) {
        rz_schedule_send_part(schedule, nothing, rz_team_rank(team, splits[i].host));
    }
}

static void arrive_flat(struct rz_schedule *schedule, const struct rz_part *nothing,
                        const struct rz_team *team)
{
    if (team->place != 0) {
        rz_schedule_send_part(schedule, nothing, rz_team_rank(team, 0));
        return;
    }
    for (int i = 1; i < team->n; i++) {
        rz_schedule_recv_part(schedule, nothing, rz_team_rank(team, i));
    }
    rz_schedule_fence(schedule);
}

static void barrier_tree(struct rz_schedule *schedule, const struct rz_part *nothing,
                         const struct rz_team *team)
{
    arrive_tree(schedule, nothing, team);
    rz_bcast_tree(schedule, nothing, team, 0);
}

static void barrier_flat(struct rz_schedule *schedule, const struct rz_part *nothing,
                         const struct rz_team *team)
{
    arrive_flat(schedule, nothing, team);
    rz_bcast_flat(schedule, nothing, team, 0);
}

static void barrier_dissemination(struct rz_schedule *schedule, const struct rz_part *nothing,
                                  const struct rz_team *team)
{
    for (int64_t distance = 1; distance < team->n; distance *= 2) {
        rz_schedule_recv_part(schedule, nothing, rz_team_rank(team, rz_team_at(team, -distance)));
        rz_schedule_send_part(schedule, nothing, rz_team_rank(team, rz_team_at(team, distance)));
        rz_schedule_fence(schedule);
    }
}

static void barrier_leaders(struct rz_schedule *schedule, const struct rz_part *nothing)
{
    struct rz_leaders leaders;
    if (!rz_leaders_find(schedule, 0, &leaders)) {
        return;
    }
    if (leaders.flat) {
        arrive_flat(schedule, nothing, &leaders.here);
    } else {
        arrive_tree(schedule, nothing, &leaders.here);
    }
    if (leaders.leads) {
        barrier_dissemination(schedule, nothing, &leaders.across);
    }
    rz_leaders_bcast(schedule, nothing, &leaders);
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
    struct rz_team all = rz_team_of_all(schedule);
    switch (rz_coll_choose(rz_schedule_comm(schedule), RZ_COLL_BARRIER, 0,
                           rz_cells_trait(schedule, 0))) {
    case RZ_COLL_CELLS:
        barrier_cells(schedule, &nothing);
        break;
    case RZ_COLL_FLAT:
        barrier_flat(schedule, &nothing, &all);
        break;
    case RZ_COLL_DISSEMINATION:
        barrier_dissemination(schedule, &nothing, &all);
        break;
    case RZ_COLL_LEADERS:
        barrier_leaders(schedule, &nothing);
        break;
    default:
        barrier_tree(schedule, &nothing, &all);
    }
    return schedule;
}
