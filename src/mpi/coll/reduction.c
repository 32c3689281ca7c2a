/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of reductions, and the ways to the value of a vector. */
#include "mpi/coll/reduction.h"

unsigned rz_reduction_traits(const struct rz_comm *comm, const struct rz_reduction *reduction)
{
    const struct rz_datatype *datatype = reduction->datatype;
    bool elements = reduction->count >= comm->group->size;
    MPI_Count step = datatype->extent < 0 ? -datatype->extent : datatype->extent;
    bool row = step >= datatype->true_extent;
    return RZ_COLL_ELEMENTS_IF(elements) | (row ? (unsigned)RZ_COLL_ROW : 0U) |
           (reduction->op->commutative ? (unsigned)RZ_COLL_COMMUTES : 0U);
}

/* ---- Steps ---- */

void *rz_reduction_room(struct rz_schedule *schedule, const struct rz_reduction *reduction)
{
    return rz_schedule_room(schedule, reduction->count, reduction->datatype);
}

void rz_reduction_combine(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                          const void *left, void *right)
{
    rz_schedule_combine(schedule, reduction->op, left, right, reduction->count,
                        reduction->datatype);
}

void rz_reduction_copy(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                       const void *from, void *to)
{
    if (from != to) {
        const struct rz_part source = {(char *)(uintptr_t)from, reduction->count,
                                       reduction->datatype};
        const struct rz_part target = {to, reduction->count, reduction->datatype};
        rz_schedule_copy(schedule, &source, &target);
    }
}

void *rz_reduction_copy_to_room(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                                const void *from)
{
    void *room = rz_reduction_room(schedule, reduction);
    rz_reduction_copy(schedule, reduction, from, room);
    return room;
}

void rz_reduction_send(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                       const void *value, int dest)
{
    rz_schedule_send(schedule, value, reduction->count, reduction->datatype, dest);
}

void *rz_reduction_recv(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                        void *room, int source)
{
    rz_schedule_recv(schedule, room, reduction->count, reduction->datatype, source);
    return room;
}

/* ---- Values ---- */

/* All receives are posted before the first wait, so that a host sleeps once for all ranks below
 * it. */
void rz_reduce_tree(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                    const struct rz_team *team, int root)
{
    struct rz_split splits[RZ_SPLITS_MAX];
    void *others[RZ_SPLITS_MAX]; /* the value of the other half */
    int place = team->place, n = rz_splits(team->n, place, root, splits);
    const void *value = reduction->from;
    bool in_place = place == root && reduction->from == reduction->to;
    bool writable = in_place;
    int i;
    for (i = n - 1; i >= 0 && splits[i].host == place; i--) {
        /* The last result is written to the right operand: at root that is its destination. */
        bool last = i == 0 && place < splits[i].mid && !in_place;
        void *room = last ? reduction->to : rz_reduction_room(schedule, reduction);
        others[i] =
            rz_reduction_recv(schedule, reduction, room, rz_team_rank(team, splits[i].guest));
    }
    rz_schedule_fence(schedule);
    for (i = n - 1; i >= 0 && splits[i].host == place; i--) {
        if (place < splits[i].mid) {
            rz_reduction_combine(schedule, reduction, value, others[i]);
            value = others[i];
        } else {
            void *right = writable ? (void *)(uintptr_t)value
                                   : rz_reduction_copy_to_room(schedule, reduction, value);
            rz_reduction_combine(schedule, reduction, others[i], right);
            value = right;
        }
        writable = true;
    }
    if (i >= 0 && splits[i].guest == place) {
        rz_reduction_send(schedule, reduction, value, rz_team_rank(team, splits[i].host));
    }
    if (place == root) {
        rz_reduction_copy(schedule, reduction, value, reduction->to);
    }
}

char *rz_reduction_of_range(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                            const struct rz_parts *values, int lo, int hi)
{
    if (hi - lo == 1) {
        return rz_parts_at(values, lo).buffer;
    }
    int mid = rz_split_at(lo, hi);
    char *left = rz_reduction_of_range(schedule, reduction, values, lo, mid);
    char *right = rz_reduction_of_range(schedule, reduction, values, mid, hi);
    rz_schedule_combine(schedule, reduction->op, left, right, values->count, values->datatype);
    return right;
}

struct rz_part rz_reduce_part(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                              struct rz_parts parts)
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
    place.buffer = rz_reduction_of_range(schedule, reduction, &values, 0, size);
    return place;
}

void rz_reduce_flat(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                    const struct rz_team *team, int root)
{
    if (team->place != root) {
        rz_reduction_send(schedule, reduction, reduction->from, rz_team_rank(team, root));
        return;
    }
    struct rz_parts values = {.datatype = reduction->datatype, .count = reduction->count};
    values.buffer = rz_schedule_room(schedule, reduction->count * team->n, reduction->datatype);
    for (int i = 0; i < team->n; i++) {
        void *at = rz_parts_at(&values, i).buffer;
        if (i == root) {
            rz_reduction_copy(schedule, reduction, reduction->from, at);
        } else {
            rz_reduction_recv(schedule, reduction, at, rz_team_rank(team, i));
        }
    }
    rz_schedule_fence(schedule);
    char *value = rz_reduction_of_range(schedule, reduction, &values, 0, team->n);
    rz_reduction_copy(schedule, reduction, value, reduction->to);
}
