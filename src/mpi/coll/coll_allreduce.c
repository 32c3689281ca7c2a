/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce. Which algorithms keep to the bracketing: coll.h.
 *
 * tree: up and down the tree: 2 (n - 1) messages, 2 log2(n) steps.
 * flat: rank 0 reduces the values of all and sends the result to all: 2 (n - 1) messages, two
 * steps. Where ranks share processors each step costs a turn of all of them.
 * doubling: both halves of a range exchange their values, and each rank computes that of the range,
 * from single ranks up to all (recursive doubling): n log2(n) messages, log2(n) steps.
 * cells: each rank writes its value into a cell of each other one, and computes the result
 * (cells.h).
 * direct: each rank reduces a part of the vector, from parts that all others send it, and sends the
 * result to all: 2 n (n - 1) messages, two steps.
 * halving: as doubling, but of each range a rank keeps only one half of what it had, so that in the
 * end it has the value of one part; then back (Rabenseifner 2004, with the shortest distances
 * first, which keeps the bracketing): 2 n log2(n) messages; the number of ranks is a power of two.
 * leaders: the ranks of each node reduce to their leader, the leaders do as by doubling, each sends
 * the result to its node: k log2(k) messages between k nodes.
 * ring: each part of the vector travels round the ring of ranks, which add their values to it; then
 * the results travel round: 2 (n - 1) steps. The bracketing of each part begins at another rank.
 */
#include "mpi/coll/cells.h"
#include "mpi/coll/leaders.h"
#include "mpi/coll/reduction.h"

static void allreduce_tree(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                           const struct rz_part *whole)
{
    struct rz_team all = rz_team_of_all(schedule);
    rz_reduce_tree(schedule, reduction, &all, 0);
    rz_schedule_fence(schedule); /* in place, the result overwrites what is sent up */
    rz_plan_bcast(schedule, whole, 0);
}

static void allreduce_flat(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                           const struct rz_part *whole)
{
    struct rz_team all = rz_team_of_all(schedule);
    rz_reduce_flat(schedule, reduction, &all, 0);
    rz_schedule_fence(schedule); /* in place, the result overwrites what is sent */
    rz_bcast_flat(schedule, whole, &all, 0);
}

static void allreduce_cells(struct rz_schedule *schedule, const struct rz_reduction *reduction)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int size = rz_comm_size(comm);
    struct rz_parts values = {.datatype = reduction->datatype, .count = reduction->count};
    struct rz_parts own = values;
    values.buffer = rz_schedule_room(schedule, reduction->count * size, reduction->datatype);
    own.buffer = (char *)(uintptr_t)reduction->from;
    own.same = true;
    rz_reduction_copy(schedule, reduction, own.buffer,
                      rz_parts_at(&values, rz_comm_rank(comm)).buffer);
    rz_op_retain(reduction->op);
    rz_datatype_retain(reduction->datatype);
    rz_cells_exchange(schedule, &own, &values);
    rz_reduction_copy(schedule, reduction,
                      rz_reduction_of_range(schedule, reduction, &values, 0, size), reduction->to);
    rz_datatype_release(reduction->datatype);
    rz_op_release(reduction->op);
}

/*
 * The left half of a range has at least as many ranks as the right one, so several ranks on the
 * left get the value of one on the right. One operand must be overwritten, the right one: on the
 * left that is what came, on the right a copy of the own value.
 */
static void allreduce_doubling(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                               const struct rz_team *team)
{
    struct rz_split splits[RZ_SPLITS_MAX];
    int place = team->place;
    const void *value = reduction->from;
    bool in_place = reduction->from == reduction->to, own = in_place;
    for (int i = rz_splits(team->n, place, 0, splits) - 1; i >= 0; i--) {
        int lo = splits[i].lo, mid = splits[i].mid, n_left = mid - lo, n_right = splits[i].hi - mid;
        bool left = place < mid, last = i == 0;
        void *room =
            last && left && !in_place ? reduction->to : rz_reduction_room(schedule, reduction);
        int source = left ? mid + (place - lo) % n_right : lo + (place - mid);
        rz_reduction_recv(schedule, reduction, room, rz_team_rank(team, source));
        if (left && place - lo < n_right) {
            rz_reduction_send(schedule, reduction, value, rz_team_rank(team, mid + (place - lo)));
        }
        for (int j = place - mid; !left && j < n_left; j += n_right) {
            rz_reduction_send(schedule, reduction, value, rz_team_rank(team, lo + j));
        }
        rz_schedule_fence(schedule);
        if (left) {
            rz_reduction_combine(schedule, reduction, value, room);
            value = room;
        } else {
            void *copy = own    ? (void *)(uintptr_t)value
                         : last ? reduction->to
                                : rz_reduction_room(schedule, reduction);
            rz_reduction_copy(schedule, reduction, value, copy);
            rz_reduction_combine(schedule, reduction, room, copy);
            value = copy;
        }
        own = true;
    }
    rz_reduction_copy(schedule, reduction, value, reduction->to);
}

static void allreduce_leaders(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                              const struct rz_part *whole)
{
    struct rz_leaders leaders;
    if (!rz_leaders_find(schedule, 0, &leaders)) {
        return;
    }
    rz_leaders_reduce(schedule, reduction, &leaders);
    if (leaders.leads) {
        struct rz_reduction value = *reduction;
        value.from = value.to;
        allreduce_doubling(schedule, &value, &leaders.across);
    }
    rz_schedule_fence(schedule); /* in place, the result overwrites what is sent */
    rz_leaders_bcast(schedule, whole, &leaders);
}

static void allreduce_direct(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                             const struct rz_parts *parts)
{
    struct rz_part value = rz_reduce_part(schedule, reduction, *parts);
    rz_plan_allgather(schedule, &value, parts);
}

/* Parts [lo, hi) of the vector, one behind the other. */
static struct rz_part range_of(const struct rz_parts *parts, int lo, int hi)
{
    struct rz_part first = rz_parts_at(parts, lo);
    MPI_Count end =
        rz_counts_at(parts->displacements, hi - 1) + rz_counts_at(parts->counts, hi - 1);
    first.count = end - rz_counts_at(parts->displacements, lo);
    return first;
}

/*
 * The ranks whose numbers agree but for their lowest k bits have exchanged halves: each has a part
 * of the value of all of them: `have` parts from part lo on, which are at `now`.
 */
static void allreduce_halving(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                              const struct rz_parts *parts)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int rank = rz_comm_rank(comm), size = rz_comm_size(comm), lo = 0, have = size;
    struct rz_parts now = *parts; /* where the values are: displacements are those of `parts` */
    now.buffer = (char *)(uintptr_t)reduction->from;
    bool own = reduction->from == reduction->to;
    for (int distance = 1; distance < size; distance *= 2) {
        bool left = !(rank & distance);
        have /= 2;
        int kept_lo = left ? lo : lo + have, sent_lo = left ? lo + have : lo;
        struct rz_part kept = range_of(&now, kept_lo, kept_lo + have);
        struct rz_part sent = range_of(&now, sent_lo, sent_lo + have);
        struct rz_part came = kept;
        came.buffer = rz_schedule_room(schedule, kept.count, kept.datatype);
        rz_schedule_recv_some(schedule, &came, rank ^ distance);
        rz_schedule_send_some(schedule, &sent, rank ^ distance);
        rz_schedule_fence(schedule);
        if (!left && !own) {
            struct rz_part place = range_of(parts, kept_lo, kept_lo + have);
            rz_schedule_copy_some(schedule, &kept, &place);
            kept = place;
        }
        const struct rz_part *to = left ? &came : &kept;
        rz_schedule_combine(schedule, reduction->op, left ? kept.buffer : came.buffer, to->buffer,
                            to->count, to->datatype);
        lo = kept_lo;
        now.buffer =
            to->buffer - rz_counts_at(parts->displacements, lo) * reduction->datatype->extent;
        own = true;
    }
    struct rz_part value = range_of(&now, lo, lo + 1), place = range_of(parts, lo, lo + 1);
    if (value.buffer != place.buffer) {
        rz_schedule_copy_some(schedule, &value, &place);
    }
    for (int distance = size / 2; distance > 0; distance /= 2, have *= 2) {
        int theirs = rank & distance ? lo - have : lo + have;
        struct rz_part out = range_of(parts, lo, lo + have),
                       in = range_of(parts, theirs, theirs + have);
        rz_schedule_recv_some(schedule, &in, rank ^ distance);
        rz_schedule_send_some(schedule, &out, rank ^ distance);
        rz_schedule_fence(schedule);
        lo = lo < theirs ? lo : theirs;
    }
}

/* In step s a rank passes on the part of rank - s, to which it has added its own value. */
static void allreduce_ring(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                           const struct rz_parts *parts)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int size = rz_comm_size(comm), before = rz_rank_at(comm, -1), behind = rz_rank_at(comm, 1);
    struct rz_part room = rz_parts_at(parts, 0); /* none is longer */
    room.buffer = rz_schedule_room(schedule, room.count, room.datatype);
    rz_reduction_copy(schedule, reduction, reduction->from, reduction->to);
    for (int step = 0; step < size - 1; step++) {
        struct rz_part out = rz_parts_at(parts, rz_rank_at(comm, -step));
        struct rz_part sum = rz_parts_at(parts, rz_rank_at(comm, -step - 1));
        struct rz_part in = {room.buffer, sum.count, sum.datatype};
        rz_schedule_recv_some(schedule, &in, before);
        rz_schedule_send_some(schedule, &out, behind);
        rz_schedule_fence(schedule);
        rz_schedule_combine(schedule, reduction->op, in.buffer, sum.buffer, sum.count,
                            sum.datatype);
    }
    for (int step = 0; step < size - 1; step++) { /* rank has the result of part rank + 1 */
        struct rz_part out = rz_parts_at(parts, rz_rank_at(comm, 1 - step));
        struct rz_part in = rz_parts_at(parts, rz_rank_at(comm, -step));
        rz_schedule_recv_some(schedule, &in, before);
        rz_schedule_send_some(schedule, &out, behind);
        rz_schedule_fence(schedule);
    }
}

/* By an algorithm that divides the vector. */
static void allreduce_parts(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                            const struct rz_part *whole,
                            void (*plan)(struct rz_schedule *, const struct rz_reduction *,
                                         const struct rz_parts *))
{
    struct rz_parts parts;
    if (rz_parts_divide(schedule, whole, &parts)) {
        plan(schedule, reduction, &parts);
    }
}

struct rz_schedule *rz_plan_allreduce(struct rz_schedule *schedule,
                                      const struct rz_reduction *reduction)
{
    const struct rz_part whole = {reduction->to, reduction->count, reduction->datatype};
    if (rz_plan_is_inter(schedule)) {
        return rz_inter_allreduce(schedule, reduction);
    }
    MPI_Count bytes = rz_reduction_bytes(reduction);
    if (bytes == 0) {
        return schedule;
    }
    struct rz_team all = rz_team_of_all(schedule);
    switch (rz_coll_choose(rz_schedule_comm(schedule), RZ_COLL_ALLREDUCE, bytes,
                           rz_reduction_traits(rz_schedule_comm(schedule), reduction) |
                               rz_cells_trait(schedule, bytes))) {
    case RZ_COLL_CELLS:
        allreduce_cells(schedule, reduction);
        break;
    case RZ_COLL_DIRECT:
        allreduce_parts(schedule, reduction, &whole, allreduce_direct);
        break;
    case RZ_COLL_HALVING:
        allreduce_parts(schedule, reduction, &whole, allreduce_halving);
        break;
    case RZ_COLL_RING:
        allreduce_parts(schedule, reduction, &whole, allreduce_ring);
        break;
    case RZ_COLL_DOUBLING:
        allreduce_doubling(schedule, reduction, &all);
        break;
    case RZ_COLL_LEADERS:
        allreduce_leaders(schedule, reduction, &whole);
        break;
    case RZ_COLL_FLAT:
        allreduce_flat(schedule, reduction, &whole);
        break;
    default:
        allreduce_tree(schedule, reduction, &whole);
    }
    return schedule;
}
