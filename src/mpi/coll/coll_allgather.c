/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allgather.
 *
 * tree: up and down the tree, as one row of bytes: 2 (n - 1) messages.
 * flat: by way of rank 0, as one row of bytes: 2 (n - 1) messages, two steps. Where ranks share
 * processors each step costs a turn of all of them.
 * direct: each rank sends its part to each other: no byte is sent twice by a process, n (n - 1)
 * messages.
 * cells: each rank writes its part into a cell of each other one (cells.h).
 * ring: each rank sends to the next one what it has received last, its own part first: n - 1 steps.
 * bruck: in step k each rank sends all that it has, at most 2^k parts, to rank - 2^k, modulo n
 * (Bruck and others 1997): log2(n) steps.
 * leaders: the ranks of each node send to their leader, the leaders exchange what they have by
 * recursive doubling, each sends all to its node: k log2(k) messages between k nodes.
 */
#include "mpi/coll/cells.h"
#include "mpi/coll/leaders.h"

/* The parts as one row of bytes: place i has that of rank[i], and is from at[i] on. */
struct row {
    char *bytes;
    MPI_Count *at;   /* [n + 1] */
    const int *rank; /* NULL: places 0, 1, ... have ranks first, first + 1, ..., modulo n */
    int64_t first, n;
    int64_t own; /* the place of this process */
};

static struct rz_part part_at(const struct row *row, const struct rz_parts *all, int64_t place)
{
    return rz_parts_at(all, row->rank ? row->rank[place] : (int)((row->first + place) % row->n));
}

/* Places [lo, hi). */
static struct rz_part places(const struct row *row, int64_t lo, int64_t hi)
{
    return (struct rz_part){row->bytes + row->at[lo], row->at[hi] - row->at[lo],
                            rz_datatype_of(MPI_BYTE)};
}

/* The own part is put into the row, whose order and own place are set. False: no memory. */
static bool row_open(struct rz_schedule *schedule, const struct rz_parts *all, struct row *row)
{
    row->n = rz_comm_size(rz_schedule_comm(schedule));
    row->at = rz_schedule_bytes(schedule, (row->n + 1) * (MPI_Count)sizeof(*row->at));
    if (!row->at) {
        return false;
    }
    row->at[0] = 0;
    for (int64_t i = 0; i < row->n; i++) {
        struct rz_part part = part_at(row, all, i);
        row->at[i + 1] = row->at[i] + rz_part_bytes(&part);
    }
    row->bytes = rz_schedule_room(schedule, row->at[row->n], rz_datatype_of(MPI_BYTE));
    struct rz_part own = part_at(row, all, row->own), packed = places(row, row->own, row->own + 1);
    rz_schedule_copy_some(schedule, &own, &packed);
    return true;
}

/* The row is complete: its parts are put into `all`. */
static void row_close(struct rz_schedule *schedule, const struct rz_parts *all,
                      const struct row *row)
{
    for (int64_t i = 0; i < row->n; i++) {
        struct rz_part part = part_at(row, all, i), packed = places(row, i, i + 1);
        if (i != row->own) {
            rz_schedule_copy_some(schedule, &packed, &part);
        }
    }
}

/* Place 0 of a team gets the parts of all of it, which are in the row from `begin` on. */
static void gather_tree(struct rz_schedule *schedule, const struct row *row,
                        const struct rz_team *team, int begin)
{
    struct rz_split splits[RZ_SPLITS_MAX];
    for (int i = rz_splits(team->n, team->place, 0, splits) - 1; i >= 0; i--) {
        const struct rz_split *split = &splits[i];
        struct rz_part half = places(row, begin + split->mid, begin + split->hi);
        if (split->host == team->place) {
            rz_schedule_recv_some(schedule, &half, rz_team_rank(team, split->guest));
        } else if (split->guest == team->place) {
            rz_schedule_fence(schedule);
            rz_schedule_send_some(schedule, &half, rz_team_rank(team, split->host));
        }
    }
    rz_schedule_fence(schedule);
}

static void gather_flat(struct rz_schedule *schedule, const struct row *row,
                        const struct rz_team *team, int begin)
{
    struct rz_part own = places(row, begin + team->place, begin + team->place + 1);
    if (team->place != 0) {
        rz_schedule_send_some(schedule, &own, rz_team_rank(team, 0));
    }
    for (int i = 1; team->place == 0 && i < team->n; i++) {
        struct rz_part part = places(row, begin + i, begin + i + 1);
        rz_schedule_recv_some(schedule, &part, rz_team_rank(team, i));
    }
    rz_schedule_fence(schedule);
}

/* Each range of the tree is a part of the row. */
static void allgather_tree(struct rz_schedule *schedule, const struct rz_parts *all)
{
    struct rz_team team = rz_team_of_all(schedule);
    struct row row = {.own = team.place};
    if (!row_open(schedule, all, &row)) {
        return;
    }
    gather_tree(schedule, &row, &team, 0);
    struct rz_part whole = places(&row, 0, row.n);
    rz_plan_bcast(schedule, &whole, 0);
    rz_schedule_fence(schedule);
    row_close(schedule, all, &row);
}

static void allgather_flat(struct rz_schedule *schedule, const struct rz_parts *all)
{
    struct rz_team team = rz_team_of_all(schedule);
    struct row row = {.own = team.place};
    if (!row_open(schedule, all, &row)) {
        return;
    }
    gather_flat(schedule, &row, &team, 0);
    struct rz_part whole = places(&row, 0, row.n);
    rz_bcast_flat(schedule, &whole, &team, 0);
    rz_schedule_fence(schedule);
    row_close(schedule, all, &row);
}

/* Both halves of a range of nodes exchange what they have, from single nodes up to all; as in
 * coll_allreduce.c, several leaders on the left may get it from one on the right. */
static void exchange_rows(struct rz_schedule *schedule, const struct row *row,
                          const struct rz_leaders *leaders)
{
    struct rz_split splits[RZ_SPLITS_MAX];
    const struct rz_team *team = &leaders->across;
    const int *begin = leaders->begin;
    for (int i = rz_splits(team->n, team->place, 0, splits) - 1; i >= 0; i--) {
        int lo = splits[i].lo, mid = splits[i].mid, n_left = mid - lo, n_right = splits[i].hi - mid;
        int from_lo = team->place - lo, from_mid = team->place - mid;
        struct rz_part left = places(row, begin[lo], begin[mid]);
        struct rz_part right = places(row, begin[mid], begin[splits[i].hi]);
        if (from_mid < 0) {
            rz_schedule_recv_some(schedule, &right, rz_team_rank(team, mid + from_lo % n_right));
        } else {
            rz_schedule_recv_some(schedule, &left, rz_team_rank(team, lo + from_mid));
        }
        if (from_mid < 0 && from_lo < n_right) {
            rz_schedule_send_some(schedule, &left, rz_team_rank(team, mid + from_lo));
        }
        for (int j = from_mid; j >= 0 && j < n_left; j += n_right) {
            rz_schedule_send_some(schedule, &right, rz_team_rank(team, lo + j));
        }
        rz_schedule_fence(schedule);
    }
}

static void allgather_leaders(struct rz_schedule *schedule, const struct rz_parts *all)
{
    struct rz_leaders leaders;
    if (!rz_leaders_find(schedule, 0, &leaders)) {
        return;
    }
    int begin = leaders.begin[leaders.across.place];
    struct row row = {.rank = leaders.by_node, .own = begin + leaders.here.place};
    if (!row_open(schedule, all, &row)) {
        return;
    }
    if (leaders.flat) {
        gather_flat(schedule, &row, &leaders.here, begin);
    } else {
        gather_tree(schedule, &row, &leaders.here, begin);
    }
    if (leaders.leads) {
        exchange_rows(schedule, &row, &leaders);
    }
    struct rz_part whole = places(&row, 0, row.n);
    rz_leaders_bcast(schedule, &whole, &leaders);
    rz_schedule_fence(schedule);
    row_close(schedule, all, &row);
}

/* The own part, for each other rank: from where the program has it. The copy of it in `all` was
 * just written, and would have to leave this processor's cache and to return at the next call. */
static struct rz_parts own_part(const struct rz_schedule *schedule, const struct rz_part *mine,
                                const struct rz_parts *all)
{
    struct rz_part own = mine ? *mine : rz_parts_at(all, rz_comm_rank(rz_schedule_comm(schedule)));
    return (struct rz_parts){
        .buffer = own.buffer, .datatype = own.datatype, .count = own.count, .same = true};
}

static void allgather_direct(struct rz_schedule *schedule, const struct rz_part *mine,
                             const struct rz_parts *all)
{
    struct rz_parts out = own_part(schedule, mine, all);
    rz_schedule_exchange(schedule, &out, all);
}

static void allgather_cells(struct rz_schedule *schedule, const struct rz_part *mine,
                            const struct rz_parts *all)
{
    struct rz_parts out = own_part(schedule, mine, all);
    rz_cells_exchange(schedule, &out, all);
}

void rz_allgather_ring(struct rz_schedule *schedule, const struct rz_parts *all, int owner)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm), before = rz_rank_at(comm, -1), behind = rz_rank_at(comm, 1);
    for (int step = 1; step < rz_comm_size(comm); step++) {
        struct rz_part in = rz_parts_at(all, rz_rank_at(comm, -step));
        struct rz_part out = rz_parts_at(all, rz_rank_at(comm, 1 - step));
        if (rank != owner) {
            rz_schedule_recv_some(schedule, &in, before);
        }
        if (behind != owner) {
            rz_schedule_send_some(schedule, &out, behind);
        }
        rz_schedule_fence(schedule);
    }
}

/* The row begins with the own part. */
static void allgather_bruck(struct rz_schedule *schedule, const struct rz_parts *all)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    struct row row = {.first = rz_comm_rank(comm)};
    if (!row_open(schedule, all, &row)) {
        return;
    }
    for (int64_t have = 1; have < row.n; have *= 2) {
        /* The other one's row begins `have` places before ours, so it lacks our first ones. */
        int64_t more = have < row.n - have ? have : row.n - have;
        struct rz_part out = places(&row, 0, more), in = places(&row, have, have + more);
        rz_schedule_recv_some(schedule, &in, rz_rank_at(comm, have));
        rz_schedule_send_some(schedule, &out, rz_rank_at(comm, -have));
        rz_schedule_fence(schedule);
    }
    row_close(schedule, all, &row);
}

struct rz_schedule *rz_plan_allgather(struct rz_schedule *schedule, const struct rz_part *mine,
                                      const struct rz_parts *all)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int size = rz_comm_size(comm);
    MPI_Count bytes = 0, longest = 0;
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_allgather(schedule, mine, all);
    }
    for (int i = 0; i < size; i++) {
        struct rz_part part = rz_parts_at(all, i);
        MPI_Count length = rz_part_bytes(&part);
        bytes += length;
        longest = length > longest ? length : longest;
    }
    if (mine) {
        struct rz_part own = rz_parts_at(all, rz_comm_rank(comm));
        rz_schedule_copy_some(schedule, mine, &own);
    }
    unsigned traits = longest > 0 ? rz_cells_trait(schedule, longest) : 0;
    switch (rz_coll_choose(comm, RZ_COLL_ALLGATHER, bytes, traits)) {
    case RZ_COLL_CELLS:
        allgather_cells(schedule, mine, all);
        break;
    case RZ_COLL_DIRECT:
        allgather_direct(schedule, mine, all);
        break;
    case RZ_COLL_FLAT:
        allgather_flat(schedule, all);
        break;
    case RZ_COLL_RING:
        rz_allgather_ring(schedule, all, MPI_PROC_NULL);
        break;
    case RZ_COLL_BRUCK:
        allgather_bruck(schedule, all);
        break;
    case RZ_COLL_LEADERS:
        allgather_leaders(schedule, all);
        break;
    default:
        allgather_tree(schedule, all);
    }
    return schedule;
}
