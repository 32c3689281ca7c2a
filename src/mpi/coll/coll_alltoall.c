/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The alltoall.
 *
 * direct: each rank sends to each other what is for it, in the order of their distance: n (n - 1)
 * messages.
 * cells: each rank writes what is for another into a cell of it (cells.h).
 * bruck: parts travel by the bits of their distance (Bruck and others 1997): in step k each rank
 * sends on, to rank + 2^k modulo n, all parts whose way has that bit. log2(n) steps, each part is
 * sent once for each bit: for short parts.
 * flat: all ranks send all their parts to rank 0, which sends each one the parts that are for it: 2
 * (n - 1) messages, for short parts.
 * leaders: the ranks of each node send all their parts to their leader, each leader sends each
 * other one what is for its node, and then each rank of its own node what is for that: k (k - 1)
 * messages between k nodes, for short parts.
 */
#include "mpi/coll/cells.h"
#include "mpi/coll/leaders.h"
#include "mpi/type/datatype_layout.h"

/* Packs the outgoing data of an operation in place, one row behind the other. False: no memory. */
static bool pack_out(struct rz_schedule *schedule, const struct rz_parts *in,
                     struct rz_parts *packed)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm), size = rz_comm_size(comm);
    MPI_Count *counts = rz_parts_counts(schedule);
    if (!counts) {
        return false;
    }
    for (int i = 0; i < size; i++) {
        struct rz_part part = rz_parts_at(in, i);
        counts[i] = i != rank ? rz_part_bytes(&part) : 0;
    }
    MPI_Count bytes = rz_parts_line_up(schedule, counts, rz_datatype_of(MPI_BYTE), packed);
    packed->buffer = rz_schedule_room(schedule, bytes, packed->datatype);
    for (int i = 0; i < size; i++) {
        struct rz_part from = rz_parts_at(in, i), to = rz_parts_at(packed, i);
        if (i != rank) {
            rz_schedule_copy_some(schedule, &from, &to);
        }
    }
    return true;
}

/* n parts of the same number of bytes, one behind the other. */
static struct rz_parts row_of_parts(struct rz_schedule *schedule, MPI_Count n, MPI_Count bytes)
{
    struct rz_datatype *byte = rz_datatype_of(MPI_BYTE);
    return (struct rz_parts){
        .buffer = rz_schedule_room(schedule, n * bytes, byte), .datatype = byte, .count = bytes};
}

/* Copies the places of the row whose number has that bit into `packed`, or back; returns how
 * many. */
static int move_places(struct rz_schedule *schedule, const struct rz_parts *row,
                       const struct rz_parts *packed, int64_t bit, bool back)
{
    int n = 0, size = rz_comm_size(rz_schedule_comm(schedule));
    for (int i = 0; i < size; i++) {
        if (i & bit) {
            struct rz_part place = rz_parts_at(row, i), other = rz_parts_at(packed, n++);
            rz_schedule_copy(schedule, back ? &other : &place, back ? &place : &other);
        }
    }
    return n;
}

/* Place i of the row has the part that travels the distance i. In the end it is that from the rank
 * at distance -i. */
static void alltoall_bruck(struct rz_schedule *schedule, const struct rz_parts *out,
                           const struct rz_parts *in)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int size = rz_comm_size(comm);
    struct rz_part own = rz_parts_at(in, rz_comm_rank(comm));
    MPI_Count bytes = rz_part_bytes(&own);
    struct rz_parts row = row_of_parts(schedule, size, bytes);
    struct rz_parts leaves = row_of_parts(schedule, size / 2 + 1, bytes);
    struct rz_parts comes = row_of_parts(schedule, size / 2 + 1, bytes);
    for (int i = 1; i < size; i++) {
        struct rz_part from = rz_parts_at(out, rz_rank_at(comm, i)), place = rz_parts_at(&row, i);
        rz_schedule_copy(schedule, &from, &place);
    }
    for (int64_t bit = 1; bit < size; bit *= 2) {
        MPI_Count n = bytes * move_places(schedule, &row, &leaves, bit, false);
        rz_schedule_recv(schedule, comes.buffer, n, comes.datatype, rz_rank_at(comm, -bit));
        rz_schedule_send(schedule, leaves.buffer, n, leaves.datatype, rz_rank_at(comm, bit));
        rz_schedule_fence(schedule);
        move_places(schedule, &row, &comes, bit, true);
    }
    for (int i = 1; i < size; i++) {
        struct rz_part to = rz_parts_at(in, rz_rank_at(comm, -i)), place = rz_parts_at(&row, i);
        rz_schedule_copy(schedule, &place, &to);
    }
}

/* n parts of the row from part i on. */
static struct rz_part slice(const struct rz_parts *row, int i, int n)
{
    struct rz_part part = rz_parts_at(row, i);
    part.count *= n;
    return part;
}

static void copy_slice(struct rz_schedule *schedule, struct rz_part from, struct rz_part to)
{
    rz_schedule_copy(schedule, &from, &to);
}

/* Rank 0: a row of n parts comes from each rank, and a column goes to each. */
static void turn_rows(struct rz_schedule *schedule, const struct rz_part *own,
                      const struct rz_part *to, MPI_Count bytes)
{
    int n = rz_comm_size(rz_schedule_comm(schedule));
    struct rz_parts rows = row_of_parts(schedule, (MPI_Count)n * n, bytes);
    struct rz_block column = {
        .length = bytes, .repeat = n, .stride = n * bytes, .type = rows.datatype};
    struct rz_part leaves = {rows.buffer, 1, NULL};
    int error = rz_datatype_build(&column, 1, &leaves.datatype);
    if (error != MPI_SUCCESS) {
        rz_schedule_refuse(schedule, error);
        return;
    }
    for (int i = 1; i < n; i++) {
        struct rz_part row = slice(&rows, i * n, n);
        rz_schedule_recv_part(schedule, &row, i);
    }
    copy_slice(schedule, *own, slice(&rows, 0, n));
    rz_schedule_fence(schedule);
    rz_schedule_copy(schedule, &leaves, to);
    for (int i = 1; i < n; i++) {
        leaves.buffer += bytes;
        rz_schedule_send_part(schedule, &leaves, i);
    }
    rz_datatype_release(leaves.datatype);
}

/* All parts of a rank are one message, and the own one travels with them. `out` may be `in`: rank 0
 * sends nothing before it has all. */
static void alltoall_flat(struct rz_schedule *schedule, const struct rz_parts *out,
                          const struct rz_parts *in, MPI_Count bytes)
{
    int n = rz_comm_size(rz_schedule_comm(schedule));
    struct rz_part from = slice(out, 0, n), to = slice(in, 0, n);
    if (rz_comm_rank(rz_schedule_comm(schedule)) == 0) {
        turn_rows(schedule, &from, &to, bytes);
        return;
    }
    rz_schedule_send_part(schedule, &from, 0);
    rz_schedule_fence(schedule);
    rz_schedule_recv_part(schedule, &to, 0);
}

/*
 * Of a leader whose node has m ranks. rows: of each of them, n parts by the node of the rank that
 * gets them. came: m parts from each rank, by node, for those of this node.
 */
static void exchange_blocks(struct rz_schedule *schedule, const struct rz_leaders *leaders,
                            const struct rz_parts *rows, const struct rz_parts *came)
{
    const struct rz_team *across = &leaders->across;
    const int *begin = leaders->begin;
    int n = begin[across->n], m = leaders->here.n;
    struct rz_parts blocks = row_of_parts(schedule, (MPI_Count)m * n, rows->count), out, in;
    MPI_Count *counts = rz_parts_counts(schedule);
    if (!counts) {
        return;
    }
    for (int node = 0; node < n; node++) { /* there may be fewer */
        int members = node < across->n ? begin[node + 1] - begin[node] : 0;
        counts[node] = (MPI_Count)members * m * rows->count;
        for (int i = 0; i < m && members > 0; i++) {
            bool own = node == across->place;
            copy_slice(schedule, slice(rows, i * n + begin[node], members),
                       own ? slice(came, (begin[node] + i) * m, members)
                           : slice(&blocks, begin[node] * m + i * members, members));
        }
    }
    rz_parts_line_up(schedule, counts, rows->datatype, &out);
    in = out;
    out.buffer = blocks.buffer;
    in.buffer = came->buffer;
    rz_team_exchange(schedule, across, &out, &in);
}

/* The leader's part: `rows` has its own row. Sends the ranks of its node their parts; returns its
 * own ones. */
static struct rz_parts lead_alltoall(struct rz_schedule *schedule, const struct rz_leaders *leaders,
                                     const struct rz_parts *rows)
{
    const struct rz_team *here = &leaders->here;
    int n = leaders->begin[leaders->across.n], m = here->n;
    struct rz_parts came = row_of_parts(schedule, (MPI_Count)m * n, rows->count);
    struct rz_parts given = row_of_parts(schedule, (MPI_Count)m * n, rows->count);
    for (int i = 1; i < m; i++) {
        struct rz_part row = slice(rows, i * n, n);
        rz_schedule_recv_part(schedule, &row, rz_team_rank(here, i));
    }
    rz_schedule_fence(schedule);
    exchange_blocks(schedule, leaders, rows, &came);
    for (int i = 0; i < m; i++) {
        struct rz_part row = slice(&given, i * n, n);
        for (int from = 0; from < n; from++) {
            copy_slice(schedule, slice(&came, from * m + i, 1), slice(&given, i * n + from, 1));
        }
        if (i > 0) {
            rz_schedule_send_part(schedule, &row, rz_team_rank(here, i));
        }
    }
    return given;
}

static void alltoall_leaders(struct rz_schedule *schedule, const struct rz_parts *out,
                             const struct rz_parts *in)
{
    struct rz_leaders leaders;
    if (!rz_leaders_find(schedule, 0, &leaders)) {
        return;
    }
    int rank = rz_comm_rank(rz_schedule_comm(schedule)), n = leaders.begin[leaders.across.n];
    struct rz_part own = rz_parts_at(in, rank);
    MPI_Count bytes = rz_part_bytes(&own);
    struct rz_parts rows =
        row_of_parts(schedule, leaders.leads ? (MPI_Count)leaders.here.n * n : n, bytes);
    struct rz_parts came = rows;
    for (int i = 0; i < n; i++) {
        if (leaders.by_node[i] != rank) {
            copy_slice(schedule, rz_parts_at(out, leaders.by_node[i]), slice(&rows, i, 1));
        }
    }
    if (leaders.leads) {
        came = lead_alltoall(schedule, &leaders, &rows);
    } else {
        struct rz_part leaves = slice(&rows, 0, n);
        came = row_of_parts(schedule, n, bytes);
        struct rz_part comes = slice(&came, 0, n);
        rz_schedule_send_part(schedule, &leaves, rz_team_rank(&leaders.here, 0));
        rz_schedule_recv_part(schedule, &comes, rz_team_rank(&leaders.here, 0));
        rz_schedule_fence(schedule);
    }
    for (int i = 0; i < n; i++) {
        if (leaders.by_node[i] != rank) {
            copy_slice(schedule, slice(&came, i, 1), rz_parts_at(in, leaders.by_node[i]));
        }
    }
}

/* The length of the parts of all pairs, if that is known to be the same; else 0. */
static MPI_Count bytes_of_each(const struct rz_parts *in)
{
    bool regular = !in->counts.narrow && !in->counts.wide && !in->datatypes;
    struct rz_part part = regular ? rz_parts_at(in, 0) : (struct rz_part){0};
    return regular ? rz_part_bytes(&part) : 0;
}

struct rz_schedule *rz_plan_alltoall(struct rz_schedule *schedule, const struct rz_parts *out,
                                     const struct rz_parts *in)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm);
    struct rz_parts packed;
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_alltoall(schedule, out, in);
    }
    MPI_Count bytes = bytes_of_each(in);
    unsigned traits = bytes > 0 ? RZ_COLL_REGULAR | rz_cells_trait(schedule, bytes) : 0;
    enum rz_coll_algorithm algorithm =
        bytes > 0 ? rz_coll_choose(comm, RZ_COLL_ALLTOALL, bytes, traits) : RZ_COLL_DIRECT;
    if (algorithm == RZ_COLL_FLAT) {
        alltoall_flat(schedule, out ? out : in, in, bytes);
        return schedule;
    }
    if (out) {
        struct rz_part from = rz_parts_at(out, rank), to = rz_parts_at(in, rank);
        rz_schedule_copy_some(schedule, &from, &to);
    } else if (pack_out(schedule, in, &packed)) {
        out = &packed;
    } else {
        return schedule;
    }
    switch (algorithm) {
    case RZ_COLL_CELLS:
        rz_cells_exchange(schedule, out, in);
        break;
    case RZ_COLL_BRUCK:
        alltoall_bruck(schedule, out, in);
        break;
    case RZ_COLL_LEADERS:
        alltoall_leaders(schedule, out, in);
        break;
    default:
        rz_schedule_exchange(schedule, out, in);
    }
    return schedule;
}
