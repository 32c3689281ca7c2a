/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree, and collective operations that only move data. */
#include "mpi/coll/coll.h"

/* ---- The tree ---- */

int rz_split_at(int lo, int hi)
{
    int span = 1;
    while (span < hi - lo - span) {
        span *= 2;
    }
    return lo + span;
}

static int host_of(int lo, int hi, int root)
{
    return lo <= root && root < hi ? root : lo;
}

int rz_splits(int size, int rank, int root, struct rz_split splits[RZ_SPLITS_MAX])
{
    int n = 0;
    for (int lo = 0, hi = size; hi - lo > 1; n++) {
        int mid = rz_split_at(lo, hi);
        int left = host_of(lo, mid, root), right = host_of(mid, hi, root);
        int host = host_of(lo, hi, root);
        splits[n] = (struct rz_split){
            .lo = lo, .mid = mid, .hi = hi, .host = host, .guest = host == left ? right : left};
        lo = rank < mid ? lo : mid;
        hi = rank < mid ? mid : hi;
    }
    return n;
}

struct rz_schedule *rz_plan_bcast(struct rz_schedule *schedule, const struct rz_part *part,
                                  int root)
{
    struct rz_split splits[RZ_SPLITS_MAX];
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm);
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_bcast(schedule, part, root);
    }
    int n = rz_part_bytes(part) == 0 ? 0 : rz_splits(rz_comm_size(comm), rank, root, splits);
    for (int i = 0; i < n; i++) {
        if (splits[i].guest == rank) {
            rz_schedule_recv_part(schedule, part, splits[i].host);
            rz_schedule_fence(schedule);
        } else if (splits[i].host == rank) {
            rz_schedule_send_part(schedule, part, splits[i].guest);
        }
    }
    return schedule;
}

struct rz_schedule *rz_plan_barrier(struct rz_schedule *schedule)
{
    struct rz_split splits[RZ_SPLITS_MAX];
    struct rz_part nothing = {.datatype = rz_datatype_of(MPI_BYTE)};
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm);
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_barrier(schedule);
    }
    if (rz_comm_size(comm) == 2) { /* takes the time of one message rather than of two */
        rz_schedule_recv_part(schedule, &nothing, !rank);
        rz_schedule_send_part(schedule, &nothing, !rank);
        return schedule;
    }
    int n = rz_splits(rz_comm_size(comm), rank, 0, splits);
    for (int i = n - 1; i >= 0; i--) {
        if (splits[i].host == rank) {
            rz_schedule_recv_part(schedule, &nothing, splits[i].guest);
        }
    }
    rz_schedule_fence(schedule);
    for (int i = n - 1; i >= 0; i--) {
        if (splits[i].guest == rank) {
            rz_schedule_send_part(schedule, &nothing, splits[i].host);
            rz_schedule_recv_part(schedule, &nothing, splits[i].host);
            rz_schedule_fence(schedule);
        }
    }
    for (int i = 0; i < n; i++) {
        if (splits[i].host == rank) {
            rz_schedule_send_part(schedule, &nothing, splits[i].guest);
        }
    }
    return schedule;
}

/* ---- Parts ---- */

struct rz_part rz_parts_at(const struct rz_parts *parts, int rank)
{
    bool regular = !parts->counts.narrow && !parts->counts.wide;
    struct rz_part part = {
        .count = regular ? parts->count : rz_counts_at(parts->counts, rank),
        .datatype = parts->datatypes ? rz_datatype_of(parts->datatypes[rank]) : parts->datatype,
    };
    MPI_Count displacement =
        regular ? rank * parts->count : rz_counts_at(parts->displacements, rank);
    displacement = parts->same ? 0 : displacement;
    if (!parts->datatypes) {
        displacement *= parts->datatype->extent;
    }
    part.buffer = parts->buffer + displacement;
    return part;
}

void rz_schedule_send_part(struct rz_schedule *schedule, const struct rz_part *part, int dest)
{
    rz_schedule_send(schedule, part->buffer, part->count, part->datatype, dest);
}

void rz_schedule_recv_part(struct rz_schedule *schedule, const struct rz_part *part, int source)
{
    rz_schedule_recv(schedule, part->buffer, part->count, part->datatype, source);
}

void rz_schedule_send_some(struct rz_schedule *schedule, const struct rz_part *part, int dest)
{
    if (rz_part_bytes(part) > 0) {
        rz_schedule_send_part(schedule, part, dest);
    }
}

void rz_schedule_recv_some(struct rz_schedule *schedule, const struct rz_part *part, int source)
{
    if (rz_part_bytes(part) > 0) {
        rz_schedule_recv_part(schedule, part, source);
    }
}

static void copy_some(struct rz_schedule *schedule, const struct rz_part *from,
                      const struct rz_part *to)
{
    if (rz_part_bytes(from) > 0 || rz_part_bytes(to) > 0) {
        rz_schedule_copy(schedule, from, to);
    }
}

void rz_schedule_exchange(struct rz_schedule *schedule, const struct rz_parts *out,
                          const struct rz_parts *in)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm), size = rz_comm_size(comm);
    for (int begin = 1; begin < size; begin += RZ_EXCHANGE_WINDOW) {
        int end = size - begin < RZ_EXCHANGE_WINDOW ? size : begin + RZ_EXCHANGE_WINDOW;
        for (int distance = begin; distance < end; distance++) {
            int source = rank - distance + (rank < distance ? size : 0);
            struct rz_part part = rz_parts_at(in, source);
            rz_schedule_recv_some(schedule, &part, source);
        }
        for (int distance = begin; distance < end; distance++) {
            int dest = distance < size - rank ? rank + distance : rank + (distance - size);
            struct rz_part part = rz_parts_at(out, dest);
            rz_schedule_send_some(schedule, &part, dest);
        }
        rz_schedule_fence(schedule);
    }
}

/* ---- Gather and scatter: directly between each rank and the root ---- */

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
            copy_some(schedule, mine, &part);
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
            copy_some(schedule, &part, mine);
        }
    }
    return schedule;
}

/* ---- Allgather ---- */

/* Up to so many bytes in total go by way of rank 0: few messages. More go directly: no byte is sent
 * twice. */
#define ALLGATHER_TREE_BYTES_MAX 32768

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
    copy_some(schedule, &own, &packed);
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
    for (int i = 0; i < size; i++) {
        struct rz_part part = rz_parts_at(all, i);
        packed = (struct rz_part){row + at[i], at[i + 1] - at[i], byte};
        if (i != rank) {
            copy_some(schedule, &packed, &part);
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
        copy_some(schedule, mine, &own);
    }
    if (bytes <= ALLGATHER_TREE_BYTES_MAX) {
        allgather_tree(schedule, all, bytes);
    } else {
        allgather_direct(schedule, all);
    }
    return schedule;
}

/* ---- Alltoall ---- */

/* Packs the outgoing data of an operation in place, one row behind the other. False: no memory. */
static bool pack_out(struct rz_schedule *schedule, const struct rz_parts *in,
                     struct rz_parts *packed)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm), size = rz_comm_size(comm);
    MPI_Count *counts = rz_schedule_bytes(schedule, 2 * size * (MPI_Count)sizeof(*counts));
    MPI_Count *displacements = counts + size;
    MPI_Count bytes = 0;
    if (!counts) {
        return false;
    }
    for (int i = 0; i < size; i++) {
        struct rz_part part = rz_parts_at(in, i);
        displacements[i] = bytes;
        counts[i] = i != rank ? rz_part_bytes(&part) : 0;
        bytes += counts[i];
    }
    *packed = (struct rz_parts){.datatype = rz_datatype_of(MPI_BYTE),
                                .counts = {.wide = counts},
                                .displacements = {.wide = displacements}};
    packed->buffer = rz_schedule_room(schedule, bytes, packed->datatype);
    for (int i = 0; i < size; i++) {
        struct rz_part from = rz_parts_at(in, i), to = rz_parts_at(packed, i);
        if (i != rank) {
            copy_some(schedule, &from, &to);
        }
    }
    return true;
}

struct rz_schedule *rz_plan_alltoall(struct rz_schedule *schedule, const struct rz_parts *out,
                                     const struct rz_parts *in)
{
    int rank = rz_comm_rank(rz_schedule_comm(schedule));
    struct rz_parts packed;
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_alltoall(schedule, out, in);
    }
    if (out) {
        struct rz_part from = rz_parts_at(out, rank), to = rz_parts_at(in, rank);
        copy_some(schedule, &from, &to);
    } else if (pack_out(schedule, in, &packed)) {
        out = &packed;
    } else {
        return schedule;
    }
    rz_schedule_exchange(schedule, out, in);
    return schedule;
}
