/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The broadcast.
 *
 * tree: down the tree, n - 1 messages.
 * flat: root sends to each rank.
 * chain: from rank to rank in pieces, which travel one behind the other: no rank sends a byte more
 * than once, and each crossing between neighbours in the order of ranks is made once.
 * scatter: each rank gets a part of the message from root, and all collect the parts (van de Geijn
 * 1994): no rank sends more than twice the message.
 * leaders: down a tree of one rank of each node, then within each node: each node gets the message
 * once.
 */
#include "mpi/coll/algorithm.h"
#include "mpi/coll/leaders.h"

void rz_bcast_tree(struct rz_schedule *schedule, const struct rz_part *part,
                   const struct rz_team *team, int root)
{
    struct rz_split splits[RZ_SPLITS_MAX];
    int n = rz_splits(team->n, team->place, root, splits);
    for (int i = 0; i < n; i++) {
        if (splits[i].guest == team->place) {
            rz_schedule_recv_part(schedule, part, rz_team_rank(team, splits[i].host));
            rz_schedule_fence(schedule);
        } else if (splits[i].host == team->place) {
            rz_schedule_send_part(schedule, part, rz_team_rank(team, splits[i].guest));
        }
    }
}

void rz_bcast_flat(struct rz_schedule *schedule, const struct rz_part *part,
                   const struct rz_team *team, int root)
{
    if (team->place != root) {
        rz_schedule_recv_part(schedule, part, rz_team_rank(team, root));
        return;
    }
    for (int i = 0; i < team->n; i++) {
        if (i != root) {
            rz_schedule_send_part(schedule, part, rz_team_rank(team, i));
        }
    }
}

static void bcast_leaders(struct rz_schedule *schedule, const struct rz_part *part, int root)
{
    struct rz_leaders leaders;
    if (!rz_leaders_find(schedule, root, &leaders)) {
        return;
    }
    if (leaders.leads) {
        rz_bcast_tree(schedule, part, &leaders.across, leaders.root);
    }
    rz_leaders_bcast(schedule, part, &leaders);
}

/* The message as a row of bytes: ranks may describe it by different datatypes, but cut it alike.
 * Packed at root if it has gaps. */
static struct rz_part row_of(struct rz_schedule *schedule, const struct rz_part *part, bool is_root)
{
    struct rz_datatype *byte = rz_datatype_of(MPI_BYTE);
    struct rz_part row = {NULL, rz_part_bytes(part), byte};
    if (part->datatype->contiguous) {
        row.buffer = rz_datatype_row(part->datatype, part->buffer);
        return row;
    }
    row.buffer = rz_schedule_room(schedule, row.count, byte);
    if (is_root) {
        rz_schedule_copy(schedule, part, &row);
        rz_schedule_fence(schedule);
    }
    return row;
}

static void unpack_row(struct rz_schedule *schedule, const struct rz_part *row,
                       const struct rz_part *part, bool is_root)
{
    if (!part->datatype->contiguous && !is_root) {
        rz_schedule_fence(schedule);
        rz_schedule_copy(schedule, row, part);
    }
}

/* The length of a piece on the chain. */
#define PIECE_BYTES 65536

/* Piece i of the row; empty behind the last one. */
static struct rz_part piece_at(const struct rz_part *row, MPI_Count i)
{
    MPI_Count left = row->count - i * PIECE_BYTES;
    return (struct rz_part){row->buffer + i * PIECE_BYTES, left < PIECE_BYTES ? left : PIECE_BYTES,
                            row->datatype};
}

/* While a piece is sent on, the next one is received. */
static void bcast_chain(struct rz_schedule *schedule, const struct rz_part *row, int root)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int before = rz_rank_at(comm, -1), behind = rz_rank_at(comm, 1);
    bool first = rz_comm_rank(comm) == root, last = behind == root;
    MPI_Count pieces = (row->count - 1) / PIECE_BYTES + 1;
    for (MPI_Count i = 0; i <= pieces; i++) {
        if (!first && i < pieces) {
            struct rz_part piece = piece_at(row, i);
            rz_schedule_recv_part(schedule, &piece, before);
        }
        if (!last && i > 0) {
            struct rz_part piece = piece_at(row, i - 1);
            rz_schedule_send_part(schedule, &piece, behind);
        }
        if (!first || i % RZ_EXCHANGE_WINDOW == 0) {
            rz_schedule_fence(schedule);
        }
    }
}

static void bcast_scatter(struct rz_schedule *schedule, const struct rz_part *row, int root)
{
    struct rz_parts parts;
    int rank = rz_comm_rank(rz_schedule_comm(schedule));
    if (!rz_parts_divide(schedule, row, &parts)) {
        return;
    }
    struct rz_part mine = rz_parts_at(&parts, rank);
    rz_plan_scatter(schedule, &parts, rank == root ? NULL : &mine, root);
    rz_schedule_fence(schedule);
    rz_allgather_ring(schedule, &parts, root);
}

static void bcast_row(struct rz_schedule *schedule, const struct rz_part *part, int root,
                      void (*plan)(struct rz_schedule *, const struct rz_part *row, int root))
{
    bool is_root = rz_comm_rank(rz_schedule_comm(schedule)) == root;
    struct rz_part row = row_of(schedule, part, is_root);
    plan(schedule, &row, root);
    unpack_row(schedule, &row, part, is_root);
}

struct rz_schedule *rz_plan_bcast(struct rz_schedule *schedule, const struct rz_part *part,
                                  int root)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_bcast(schedule, part, root);
    }
    MPI_Count bytes = rz_part_bytes(part);
    if (bytes == 0) {
        return schedule;
    }
    struct rz_team all = rz_team_of_all(schedule);
    switch (rz_coll_choose(comm, RZ_COLL_BCAST, bytes,
                           RZ_COLL_ELEMENTS_IF(bytes >= rz_comm_size(comm)))) {
    case RZ_COLL_FLAT:
        rz_bcast_flat(schedule, part, &all, root);
        break;
    case RZ_COLL_LEADERS:
        bcast_leaders(schedule, part, root);
        break;
    case RZ_COLL_CHAIN:
        bcast_row(schedule, part, root, bcast_chain);
        break;
    case RZ_COLL_SCATTER:
        bcast_row(schedule, part, root, bcast_scatter);
        break;
    default:
        rz_bcast_tree(schedule, part, &all, root);
    }
    return schedule;
}
