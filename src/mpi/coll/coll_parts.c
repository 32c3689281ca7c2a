/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree, parts of buffers, and the exchange of all with all. */
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

void rz_schedule_copy_some(struct rz_schedule *schedule, const struct rz_part *from,
                           const struct rz_part *to)
{
    if (rz_part_bytes(from) > 0 || rz_part_bytes(to) > 0) {
        rz_schedule_copy(schedule, from, to);
    }
}

void rz_team_exchange(struct rz_schedule *schedule, const struct rz_team *team,
                      const struct rz_parts *out, const struct rz_parts *in)
{
    for (int begin = 1; begin < team->n; begin += RZ_EXCHANGE_WINDOW) {
        int end = team->n - begin < RZ_EXCHANGE_WINDOW ? team->n : begin + RZ_EXCHANGE_WINDOW;
        for (int distance = begin; distance < end; distance++) {
            int source = rz_team_at(team, -distance);
            struct rz_part part = rz_parts_at(in, source);
            rz_schedule_recv_some(schedule, &part, rz_team_rank(team, source));
        }
        for (int distance = begin; distance < end; distance++) {
            int dest = rz_team_at(team, distance);
            struct rz_part part = rz_parts_at(out, dest);
            rz_schedule_send_some(schedule, &part, rz_team_rank(team, dest));
        }
        rz_schedule_fence(schedule);
    }
}

void rz_schedule_exchange(struct rz_schedule *schedule, const struct rz_parts *out,
                          const struct rz_parts *in)
{
    struct rz_team all = rz_team_of_all(schedule);
    rz_team_exchange(schedule, &all, out, in);
}

MPI_Count *rz_parts_counts(struct rz_schedule *schedule)
{
    MPI_Count size = rz_comm_size(rz_schedule_comm(schedule));
    return rz_schedule_bytes(schedule, 2 * size * (MPI_Count)sizeof(MPI_Count));
}

MPI_Count rz_parts_line_up(struct rz_schedule *schedule, MPI_Count *counts,
                           struct rz_datatype *datatype, struct rz_parts *parts)
{
    int size = rz_comm_size(rz_schedule_comm(schedule));
    MPI_Count *displacements = counts + size, next = 0;
    for (int i = 0; i < size; i++) {
        displacements[i] = next;
        next += counts[i];
    }
    *parts = (struct rz_parts){
        .datatype = datatype, .counts = {.wide = counts}, .displacements = {.wide = displacements}};
    return next;
}

bool rz_parts_divide(struct rz_schedule *schedule, const struct rz_part *whole,
                     struct rz_parts *parts)
{
    int size = rz_comm_size(rz_schedule_comm(schedule));
    MPI_Count *counts = rz_parts_counts(schedule);
    for (int i = 0; counts && i < size; i++) {
        counts[i] = whole->count / size + (i < whole->count % size);
    }
    if (counts) {
        rz_parts_line_up(schedule, counts, whole->datatype, parts);
        parts->buffer = whole->buffer;
    }
    return counts != NULL;
}

bool rz_blocks_line_up(struct rz_schedule *schedule, const struct rz_parts *blocks,
                       struct rz_parts *row, MPI_Count *count)
{
    int size = rz_comm_size(rz_schedule_comm(schedule));
    MPI_Count *counts = rz_parts_counts(schedule);
    bool regular = !blocks->counts.narrow && !blocks->counts.wide;
    for (int i = 0; counts && i < size; i++) {
        counts[i] = regular ? blocks->count : rz_counts_at(blocks->counts, i);
    }
    if (counts) {
        *count = rz_parts_line_up(schedule, counts, blocks->datatype, row);
    }
    return counts != NULL;
}
