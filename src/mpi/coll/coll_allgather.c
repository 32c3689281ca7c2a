/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allgather.
 *
 * tree: by way of rank 0, as one row of bytes: 2 (n - 1) messages.
 * direct: each rank sends its part to each other: no byte is sent twice by a process, n (n - 1)
 * messages.
 * ring: each rank sends to the next one what it has received last, its own part first: n - 1 steps.
 * bruck: in step k each rank sends all that it has, at most 2^k parts, to rank - 2^k, modulo n
 * (Bruck and others 1997): log2(n) steps.
 */
#include "mpi/coll/algorithm.h"
#include "mpi/coll/coll.h"

/* Moves the parts as one contiguous row of bytes in the order of ranks; each range of the tree is a
 * part of it. */
static void allgather_tree(struct rz_schedule *schedule, const struct rz_parts *all,
                           MPI_Count bytes)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm), size = rz_comm_size(comm);
    struct rz_datatype *byte = rz_datatype_of(MPI_BYTE);
    char *row = rz_schedule_room(schedule, bytes, byte);
    MPI_Count *at = rz_schedule_bytes(schedule, (size + 1) * (MPI_Count)sizeof(*at));
    struct rz_split splits[RZ_SPLITS_MAX];
    MPI_Count next = 0;
    if (!at) {
        return;
    }
    for (int i = 0; i < size; i++) {
        struct rz_part part = rz_parts_at(all, i);
        at[i] = next;
        next += rz_part_bytes(&part);
    }
    at[size] = next;
    struct rz_part own = rz_parts_at(all, rank);
    struct rz_part packed = {row + at[rank], at[rank + 1] - at[rank], byte};
    rz_schedule_copy_some(schedule, &own, &packed);
    int n = rz_splits(size, rank, 0, splits);
    for (int i = n - 1; i >= 0; i--) {
        const struct rz_split *split = &splits[i];
        struct rz_part half = {row + at[split->mid], at[split->hi] - at[split->mid], byte};
        if (split->host == rank) {
            rz_schedule_recv_some(schedule, &half, split->guest);
        } else if (split->guest == rank) {
            rz_schedule_fence(schedule);
            rz_schedule_send_some(schedule, &half, split->host);
        }
    }
    rz_schedule_fence(schedule);
    struct rz_part whole = {row, bytes, byte};
    rz_plan_bcast(schedule, &whole, 0);
    rz_schedule_fence(schedule);
    for (int i = 0; i < size; i++) {
        struct rz_part part = rz_parts_at(all, i);
        packed = (struct rz_part){row + at[i], at[i + 1] - at[i], byte};
        if (i != rank) {
            rz_schedule_copy_some(schedule, &packed, &part);
        }
    }
}

static void allgather_direct(struct rz_schedule *schedule, const struct rz_parts *all)
{
    struct rz_part own = rz_parts_at(all, rz_comm_rank(rz_schedule_comm(schedule)));
    struct rz_parts out = {
        .buffer = own.buffer, .datatype = own.datatype, .count = own.count, .same = true};
    rz_schedule_exchange(schedule, &out, all);
}

void rz_allgather_ring(struct rz_schedule *schedule, const struct rz_parts *all, int owner)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int64_t rank = rz_comm_rank(comm), size = rz_comm_size(comm);
    int before = (int)((rank - 1 + size) % size), behind = (int)((rank + 1) % size);
    for (int64_t step = 1; step < size; step++) {
        struct rz_part in = rz_parts_at(all, (int)((rank - step + size) % size));
        struct rz_part out = rz_parts_at(all, (int)((rank - step + 1 + size) % size));
        if (rank != owner) {
            rz_schedule_recv_some(schedule, &in, before);
        }
        if (behind != owner) {
            rz_schedule_send_some(schedule, &out, behind);
        }
        rz_schedule_fence(schedule);
    }
}

/* Moves the parts as one row of bytes that begins with the own part: place i of it is that of rank
 * + i, modulo n. */
static void allgather_bruck(struct rz_schedule *schedule, const struct rz_parts *all,
                            MPI_Count bytes)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int64_t rank = rz_comm_rank(comm), size = rz_comm_size(comm);
    struct rz_datatype *byte = rz_datatype_of(MPI_BYTE);
    char *row = rz_schedule_room(schedule, bytes, byte);
    MPI_Count *at = rz_schedule_bytes(schedule, (size + 1) * (MPI_Count)sizeof(*at));
    if (!at) {
        return;
    }
    at[0] = 0;
    for (int64_t i = 0; i < size; i++) {
        struct rz_part part = rz_parts_at(all, (int)((rank + i) % size));
        at[i + 1] = at[i] + rz_part_bytes(&part);
    }
    struct rz_part own = rz_parts_at(all, (int)rank), packed = {row, at[1], byte};
    rz_schedule_copy_some(schedule, &own, &packed);
    for (int64_t have = 1; have < size; have *= 2) {
        /* The other one's row begins `have` places before ours, so it lacks our first ones. */
        int64_t n = have < size - have ? have : size - have;
        struct rz_part out = {row, at[n], byte};
        struct rz_part in = {row + at[have], at[have + n] - at[have], byte};
        rz_schedule_recv_some(schedule, &in, (int)((rank + have) % size));
        rz_schedule_send_some(schedule, &out, (int)((rank - have + size) % size));
        rz_schedule_fence(schedule);
    }
    for (int64_t i = 1; i < size; i++) {
        struct rz_part part = rz_parts_at(all, (int)((rank + i) % size));
        packed = (struct rz_part){row + at[i], at[i + 1] - at[i], byte};
        rz_schedule_copy_some(schedule, &packed, &part);
    }
}

struct rz_schedule *rz_plan_allgather(struct rz_schedule *schedule, const struct rz_part *mine,
                                      const struct rz_parts *all)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int size = rz_comm_size(comm);
    MPI_Count bytes = 0;
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_allgather(schedule, mine, all);
    }
    for (int i = 0; i < size; i++) {
        struct rz_part part = rz_parts_at(all, i);
        bytes += rz_part_bytes(&part);
    }
    if (mine) {
        struct rz_part own = rz_parts_at(all, rz_comm_rank(comm));
        rz_schedule_copy_some(schedule, mine, &own);
    }
    switch (rz_coll_choose(comm, RZ_COLL_ALLGATHER, bytes, 0)) {
    case RZ_COLL_DIRECT:
        allgather_direct(schedule, all);
        break;
    case RZ_COLL_RING:
        rz_allgather_ring(schedule, all, MPI_PROC_NULL);
        break;
    case RZ_COLL_BRUCK:
        allgather_bruck(schedule, all, bytes);
        break;
    default:
        allgather_tree(schedule, all, bytes);
    }
    return schedule;
}
