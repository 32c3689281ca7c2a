/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective operations that reduce. All keep to the bracketing that coll.h defines.
 */
#include "mpi/coll/coll.h"

static MPI_Count bytes_of(const struct rz_reduction *reduction)
{
    return rz_datatype_bytes(reduction->datatype, reduction->count);
}

static void *room_for(struct rz_schedule *schedule, const struct rz_reduction *reduction)
{
    return rz_schedule_room(schedule, reduction->count, reduction->datatype);
}

static void combine(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                    const void *left, void *right)
{
    rz_schedule_combine(schedule, reduction->op, left, right, reduction->count,
                        reduction->datatype);
}

static void copy(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                 const void *from, void *to)
{
    if (from != to) {
        const struct rz_part source = {(char *)(uintptr_t)from, reduction->count,
                                       reduction->datatype};
        const struct rz_part target = {to, reduction->count, reduction->datatype};
        rz_schedule_copy(schedule, &source, &target);
    }
}

static void *copy_to_room(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                          const void *from)
{
    void *room = room_for(schedule, reduction);
    copy(schedule, reduction, from, room);
    return room;
}

static void send(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                 const void *value, int dest)
{
    rz_schedule_send(schedule, value, reduction->count, reduction->datatype, dest);
}

static void *recv_to(struct rz_schedule *schedule, const struct rz_reduction *reduction, void *room,
                     int source)
{
    rz_schedule_recv(schedule, room, reduction->count, reduction->datatype, source);
    return room;
}

/* ---- Up the tree ---- */

/* Reduces the values of all ranks into reduction->to at root. All receives are posted before the
 * first wait, so that a host sleeps once for all ranks below it. */
static void reduce_tree(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                        int root)
{
    struct rz_split splits[RZ_SPLITS_MAX];
    void *others[RZ_SPLITS_MAX]; /* the value of the other half */
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm);
    int n = rz_splits(rz_comm_size(comm), rank, root, splits);
    const void *value = reduction->from;
    bool in_place = rank == root && reduction->from == reduction->to;
    bool writable = in_place;
    int i;
    for (i = n - 1; i >= 0 && splits[i].host == rank; i--) {
        /* The last result is written to the right operand: at root that is its destination. */
        bool last = i == 0 && rank < splits[i].mid && !in_place;
        void *room = last ? reduction->to : room_for(schedule, reduction);
        others[i] = recv_to(schedule, reduction, room, splits[i].guest);
    }
    rz_schedule_fence(schedule);
    for (i = n - 1; i >= 0 && splits[i].host == rank; i--) {
        if (rank < splits[i].mid) {
            combine(schedule, reduction, value, others[i]);
            value = others[i];
        } else {
            void *right =
                writable ? (void *)(uintptr_t)value : copy_to_room(schedule, reduction, value);
            combine(schedule, reduction, others[i], right);
            value = right;
        }
        writable = true;
    }
    if (i >= 0 && splits[i].guest == rank) {
        send(schedule, reduction, value, splits[i].host);
    }
    if (rank == root) {
        copy(schedule, reduction, value, reduction->to);
    }
}

/* ---- Two ranks ---- */

/* Both ranks send their value and reduce for themselves, with the same bracketing: takes the time
 * of one message rather than of two. */
static void allreduce_two(struct rz_schedule *schedule, const struct rz_reduction *reduction)
{
    bool right = rz_comm_rank(rz_schedule_comm(schedule)) == 1;
    bool in_place = reduction->from == reduction->to;
    void *room = right || in_place ? room_for(schedule, reduction) : reduction->to;
    recv_to(schedule, reduction, room, !right);
    send(schedule, reduction, reduction->from, !right);
    rz_schedule_fence(schedule); /* in place, the result overwrites what is sent */
    if (right) {
        copy(schedule, reduction, reduction->from, reduction->to);
        combine(schedule, reduction, room, reduction->to);
    } else {
        combine(schedule, reduction, reduction->from, room);
        copy(schedule, reduction, room, reduction->to);
    }
}

/* ---- In parts: rank i reduces part i of the vector, with the same bracketing ---- */

static bool goes_in_parts(struct rz_schedule *schedule, const struct rz_reduction *reduction)
{
    int size = rz_comm_size(rz_schedule_comm(schedule));
    return size > 1 && reduction->count >= size && bytes_of(reduction) / size >= RZ_PART_BYTES_MIN;
}

/* The value of ranks [lo, hi), computed from the values of all ranks in one row, `values`. */
static char *combine_range(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                           const struct rz_parts *values, int lo, int hi)
{
    if (hi - lo == 1) {
        return rz_parts_at(values, lo).buffer;
    }
    int mid = rz_split_at(lo, hi);
    char *left = combine_range(schedule, reduction, values, lo, mid);
    char *right = combine_range(schedule, reduction, values, mid, hi);
    rz_schedule_combine(schedule, reduction->op, left, right, values->count, values->datatype);
    return right;
}

/* Each rank sends every other rank its part of the vector at reduction->from; returns the value of
 * this rank's part, in new memory. */
static struct rz_part reduce_part(struct rz_schedule *schedule,
                                  const struct rz_reduction *reduction, struct rz_parts parts)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm), size = rz_comm_size(comm);
    parts.buffer = (char *)(uintptr_t)reduction->from;
    struct rz_part own = rz_parts_at(&parts, rank);
    struct rz_parts values = {.datatype = own.datatype, .count = own.count};
    values.buffer = rz_schedule_room(schedule, own.count * size, own.datatype);
    struct rz_part place = rz_parts_at(&values, rank);
    rz_schedule_copy(schedule, &own, &place);
    rz_schedule_exchange(schedule, &parts, &values);
    place.buffer = combine_range(schedule, reduction, &values, 0, size);
    return place;
}

/* Divides the vector into parts: the first ones have one element more if it does not divide evenly.
 * NULL buffer: no memory. */
static bool cut(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                struct rz_parts *parts)
{
    int size = rz_comm_size(rz_schedule_comm(schedule));
    MPI_Count *counts = rz_schedule_bytes(schedule, 2 * size * (MPI_Count)sizeof(*counts));
    if (!counts) {
        return false;
    }
    MPI_Count *displacements = counts + size;
    MPI_Count next = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = reduction->count / size + (i < reduction->count % size);
        displacements[i] = next;
        next += counts[i];
    }
    *parts = (struct rz_parts){.buffer = reduction->to,
                               .datatype = reduction->datatype,
                               .counts = {.wide = counts},
                               .displacements = {.wide = displacements}};
    return true;
}

struct rz_schedule *rz_plan_reduce(struct rz_schedule *schedule,
                                   const struct rz_reduction *reduction, int root)
{
    struct rz_parts parts;
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_reduce(schedule, reduction, root);
    }
    if (bytes_of(reduction) == 0) {
        return schedule;
    }
    if (!goes_in_parts(schedule, reduction)) {
        reduce_tree(schedule, reduction, root);
    } else if (cut(schedule, reduction, &parts)) {
        struct rz_part value = reduce_part(schedule, reduction, parts);
        rz_plan_gather(schedule, &value, &parts, root);
    }
    return schedule;
}

struct rz_schedule *rz_plan_allreduce(struct rz_schedule *schedule,
                                      const struct rz_reduction *reduction)
{
    struct rz_part whole = {reduction->to, reduction->count, reduction->datatype};
    struct rz_parts parts;
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_allreduce(schedule, reduction);
    }
    if (bytes_of(reduction) == 0) {
        return schedule;
    }
    if (!goes_in_parts(schedule, reduction) && rz_comm_size(rz_schedule_comm(schedule)) == 2) {
        allreduce_two(schedule, reduction);
    } else if (!goes_in_parts(schedule, reduction)) {
        reduce_tree(schedule, reduction, 0);
        rz_schedule_fence(schedule); /* in place, the result overwrites what is sent up */
        rz_plan_bcast(schedule, &whole, 0);
    } else if (cut(schedule, reduction, &parts)) {
        struct rz_part value = reduce_part(schedule, reduction, parts);
        rz_plan_allgather(schedule, &value, &parts);
    }
    return schedule;
}

/* ---- MPI_Reduce_scatter ---- */

bool rz_blocks_line_up(struct rz_schedule *schedule, const struct rz_parts *blocks,
                       struct rz_parts *row, MPI_Count *count)
{
    int size = rz_comm_size(rz_schedule_comm(schedule));
    MPI_Count *counts = rz_schedule_bytes(schedule, 2 * size * (MPI_Count)sizeof(*counts));
    if (!counts) {
        return false;
    }
    MPI_Count *displacements = counts + size;
    bool regular = !blocks->counts.narrow && !blocks->counts.wide;
    *count = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = regular ? blocks->count : rz_counts_at(blocks->counts, i);
        displacements[i] = *count;
        *count += counts[i];
    }
    *row = (struct rz_parts){.datatype = blocks->datatype,
                             .counts = {.wide = counts},
                             .displacements = {.wide = displacements}};
    return true;
}

struct rz_schedule *rz_plan_reduce_scatter(struct rz_schedule *schedule,
                                           const struct rz_reduction *reduction,
                                           const struct rz_parts *blocks)
{
    struct rz_reduction whole = *reduction;
    struct rz_parts row;
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_reduce_scatter(schedule, reduction, blocks);
    }
    if (!rz_blocks_line_up(schedule, blocks, &row, &whole.count) || bytes_of(&whole) == 0) {
        return schedule;
    }
    int rank = rz_comm_rank(rz_schedule_comm(schedule));
    struct rz_part mine = {reduction->to, rz_counts_at(row.counts, rank), reduction->datatype};
    if (goes_in_parts(schedule, &whole)) {
        struct rz_part value = reduce_part(schedule, &whole, row);
        rz_schedule_copy(schedule, &value, &mine);
        return schedule;
    }
    whole.to = rank == 0 ? room_for(schedule, &whole) : NULL;
    reduce_tree(schedule, &whole, 0);
    rz_schedule_fence(schedule);
    row.buffer = whole.to;
    return rz_plan_scatter(schedule, &row, &mine, 0);
}

/* ---- MPI_Scan ---- */

/*
 * Values of left halves go up the tree; the value before each range goes down. lefts[i]: the value
 * of the left half of split i, at its host. The value of a range that reaches the last rank is not
 * needed. Returns the split in which this process is the host of the other half, -1 at rank 0.
 */
static int scan_up(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                   const struct rz_split *splits, int n, void **lefts)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm), size = rz_comm_size(comm);
    void *value = (void *)(uintptr_t)reduction->from;
    void *others[RZ_SPLITS_MAX];
    int i;
    for (i = n - 1; i >= 0 && splits[i].host == rank && splits[i].hi < size; i--) {
        others[i] = recv_to(schedule, reduction, room_for(schedule, reduction), splits[i].guest);
    }
    rz_schedule_fence(schedule);
    for (i = n - 1; i >= 0 && splits[i].host == rank; i--) {
        lefts[i] = value;
        if (splits[i].hi < size) {
            combine(schedule, reduction, value, others[i]);
            value = others[i];
        }
    }
    if (i >= 0 && splits[i].hi < size) {
        send(schedule, reduction, value, splits[i].host);
    }
    return i;
}

struct rz_schedule *rz_plan_scan(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                                 bool exclusive)
{
    struct rz_split splits[RZ_SPLITS_MAX];
    void *lefts[RZ_SPLITS_MAX];
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm), size = rz_comm_size(comm);
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_refuse(schedule);
    }
    if (bytes_of(reduction) == 0) {
        return schedule;
    }
    int n = rz_splits(size, rank, 0, splits);
    int guest = scan_up(schedule, reduction, splits, n, lefts);
    void *before = NULL;
    if (guest >= 0) {
        before = recv_to(schedule, reduction, room_for(schedule, reduction), splits[guest].host);
        rz_schedule_fence(schedule);
    }
    for (int i = guest + 1; i < n; i++) {
        void *prefix = lefts[i];
        if (before) {
            prefix = prefix == reduction->from ? copy_to_room(schedule, reduction, prefix) : prefix;
            combine(schedule, reduction, before, prefix);
        }
        send(schedule, reduction, prefix, splits[i].guest);
    }
    if (exclusive && before) {
        copy(schedule, reduction, before, reduction->to);
    } else if (!exclusive) {
        copy(schedule, reduction, reduction->from, reduction->to);
        if (before) {
            combine(schedule, reduction, before, reduction->to);
        }
    }
    return schedule;
}
