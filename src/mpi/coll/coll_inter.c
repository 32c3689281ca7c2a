/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective operations of inter-communicators: the part within a group is the plan of an
 * intra-communicator on the hidden local communicator. Data cross between the two ranks 0, or,
 * where each message is for one process alone, directly.
 */
#include "mpi/coll/coll.h"

static struct rz_schedule *refuse_in_place(struct rz_schedule *schedule)
{
    rz_schedule_refuse(schedule, rzm_error(MPI_ERR_BUFFER, "sendbuf may not be MPI_IN_PLACE on an "
                                                           "inter-communicator"));
    return schedule;
}

struct rz_schedule *rz_inter_refuse(struct rz_schedule *schedule)
{
    rz_schedule_refuse(schedule, rzm_error(MPI_ERR_COMM, "comm is an inter-communicator"));
    return schedule;
}

static bool is_first(const struct rz_comm *inter)
{
    return rz_comm_rank(inter) == 0;
}

/* ---- Moving data ---- */

struct rz_schedule *rz_inter_bcast(struct rz_schedule *schedule, const struct rz_part *part,
                                   int root)
{
    struct rz_comm *inter = rz_schedule_comm(schedule);
    if (root == MPI_PROC_NULL) {
        return schedule;
    }
    if (root == MPI_ROOT) {
        rz_schedule_send_some(schedule, part, 0);
        return schedule;
    }
    if (is_first(inter)) {
        rz_schedule_recv_some(schedule, part, root);
        rz_schedule_fence(schedule);
    }
    rz_schedule_turn(schedule, inter->local);
    rz_plan_bcast(schedule, part, 0);
    rz_schedule_turn(schedule, inter);
    return schedule;
}

/* Both groups are complete before any process leaves. */
struct rz_schedule *rz_inter_barrier(struct rz_schedule *schedule)
{
    struct rz_comm *inter = rz_schedule_comm(schedule);
    struct rz_part nothing = {.datatype = rz_datatype_of(MPI_BYTE)};
    rz_schedule_turn(schedule, inter->local);
    rz_plan_barrier(schedule);
    rz_schedule_fence(schedule);
    rz_schedule_turn(schedule, inter);
    if (is_first(inter)) {
        rz_schedule_send_part(schedule, &nothing, 0);
        rz_schedule_recv_part(schedule, &nothing, 0);
        rz_schedule_fence(schedule);
    }
    rz_schedule_turn(schedule, inter->local);
    rz_plan_barrier(schedule);
    rz_schedule_turn(schedule, inter);
    return schedule;
}

struct rz_schedule *rz_inter_gather(struct rz_schedule *schedule, const struct rz_part *mine,
                                    const struct rz_parts *all, int root)
{
    int peers = rz_comm_peers(rz_schedule_comm(schedule));
    if (root >= 0) {
        rz_schedule_send_some(schedule, mine, root);
    }
    for (int source = 0; root == MPI_ROOT && source < peers; source++) {
        struct rz_part part = rz_parts_at(all, source);
        rz_schedule_recv_some(schedule, &part, source);
    }
    return schedule;
}

struct rz_schedule *rz_inter_scatter(struct rz_schedule *schedule, const struct rz_parts *all,
                                     const struct rz_part *mine, int root)
{
    int peers = rz_comm_peers(rz_schedule_comm(schedule));
    if (root >= 0) {
        rz_schedule_recv_some(schedule, mine, root);
    }
    for (int dest = 0; root == MPI_ROOT && dest < peers; dest++) {
        struct rz_part part = rz_parts_at(all, dest);
        rz_schedule_send_some(schedule, &part, dest);
    }
    return schedule;
}

/*
 * Each process exchanges with each of the other group. With the ranks on a ring as long as the
 * larger group, rank r sends to r + d and receives from r - d at distance d. Both ends of a message
 * reach it in the same window, so that windows never wait for each other in a circle.
 */
static void exchange(struct rz_schedule *schedule, const struct rz_parts *out,
                     const struct rz_parts *in)
{
    struct rz_comm *inter = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(inter), size = rz_comm_size(inter), peers = rz_comm_peers(inter);
    int64_t ring = size > peers ? size : peers;
    for (int64_t begin = 0; begin < ring; begin += RZ_EXCHANGE_WINDOW) {
        int64_t end = ring - begin < RZ_EXCHANGE_WINDOW ? ring : begin + RZ_EXCHANGE_WINDOW;
        for (int64_t distance = begin; distance < end; distance++) {
            int source = (int)((rank + ring - distance) % ring);
            if (source < peers) {
                struct rz_part part = rz_parts_at(in, source);
                rz_schedule_recv_some(schedule, &part, source);
            }
        }
        for (int64_t distance = begin; distance < end; distance++) {
            int dest = (int)((rank + distance) % ring);
            if (dest < peers) {
                struct rz_part part = rz_parts_at(out, dest);
                rz_schedule_send_some(schedule, &part, dest);
            }
        }
        rz_schedule_fence(schedule);
    }
}

/* Directly: only the sender knows how much it sends, so no other process could forward it. */
struct rz_schedule *rz_inter_allgather(struct rz_schedule *schedule, const struct rz_part *mine,
                                       const struct rz_parts *all)
{
    if (!mine) {
        return refuse_in_place(schedule);
    }
    struct rz_parts out = {
        .buffer = mine->buffer, .datatype = mine->datatype, .count = mine->count, .same = true};
    exchange(schedule, &out, all);
    return schedule;
}

struct rz_schedule *rz_inter_alltoall(struct rz_schedule *schedule, const struct rz_parts *out,
                                      const struct rz_parts *in)
{
    if (!out) {
        return refuse_in_place(schedule);
    }
    exchange(schedule, out, in);
    return schedule;
}

/* ---- Reducing ---- */

/* Reduces the local group's values at its rank 0, in memory of the schedule. */
static struct rz_part reduce_here(struct rz_schedule *schedule,
                                  const struct rz_reduction *reduction)
{
    struct rz_comm *inter = rz_schedule_comm(schedule);
    struct rz_reduction here = *reduction;
    here.to = is_first(inter) ? rz_schedule_room(schedule, here.count, here.datatype) : NULL;
    rz_schedule_turn(schedule, inter->local);
    rz_plan_reduce(schedule, &here, 0);
    rz_schedule_fence(schedule);
    rz_schedule_turn(schedule, inter);
    return (struct rz_part){here.to, here.count, here.datatype};
}

/* Exchanges the values of the two groups between their ranks 0. */
static void swap_values(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                        const struct rz_part *into)
{
    struct rz_part value = reduce_here(schedule, reduction);
    if (is_first(rz_schedule_comm(schedule))) {
        rz_schedule_recv_some(schedule, into, 0);
        rz_schedule_send_some(schedule, &value, 0);
        rz_schedule_fence(schedule);
    }
}

struct rz_schedule *rz_inter_reduce(struct rz_schedule *schedule,
                                    const struct rz_reduction *reduction, int root)
{
    if (root == MPI_ROOT) {
        struct rz_part part = {reduction->to, reduction->count, reduction->datatype};
        rz_schedule_recv_some(schedule, &part, 0);
    } else if (root != MPI_PROC_NULL) {
        struct rz_part value = reduce_here(schedule, reduction);
        if (is_first(rz_schedule_comm(schedule))) {
            rz_schedule_send_some(schedule, &value, root);
        }
    }
    return schedule;
}

struct rz_schedule *rz_inter_allreduce(struct rz_schedule *schedule,
                                       const struct rz_reduction *reduction)
{
    struct rz_comm *inter = rz_schedule_comm(schedule);
    struct rz_part whole = {reduction->to, reduction->count, reduction->datatype};
    if (rz_part_bytes(&whole) == 0) {
        return schedule;
    }
    if (reduction->from == reduction->to) {
        return refuse_in_place(schedule);
    }
    swap_values(schedule, reduction, &whole);
    rz_schedule_turn(schedule, inter->local);
    rz_plan_bcast(schedule, &whole, 0);
    rz_schedule_turn(schedule, inter);
    return schedule;
}

struct rz_schedule *rz_inter_reduce_scatter(struct rz_schedule *schedule,
                                            const struct rz_reduction *reduction,
                                            const struct rz_parts *blocks)
{
    struct rz_comm *inter = rz_schedule_comm(schedule);
    struct rz_reduction whole = *reduction;
    struct rz_parts row;
    if (!rz_blocks_line_up(schedule, blocks, &row, &whole.count) ||
        rz_datatype_bytes(whole.datatype, whole.count) == 0) {
        return schedule;
    }
    if (reduction->from == reduction->to) {
        return refuse_in_place(schedule);
    }
    struct rz_part other = {NULL, whole.count, whole.datatype};
    if (is_first(inter)) {
        other.buffer = rz_schedule_room(schedule, whole.count, whole.datatype);
    }
    swap_values(schedule, &whole, &other);
    row.buffer = other.buffer;
    struct rz_part mine = {reduction->to, rz_counts_at(row.counts, rz_comm_rank(inter)),
                           whole.datatype};
    rz_schedule_turn(schedule, inter->local);
    rz_plan_scatter(schedule, &row, &mine, 0);
    rz_schedule_turn(schedule, inter);
    return schedule;
}
