/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Scan and MPI_Exscan. */
#include "mpi/coll/reduction.h"

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
        others[i] = rz_reduction_recv(schedule, reduction, rz_reduction_room(schedule, reduction),
                                      splits[i].guest);
    }
    rz_schedule_fence(schedule);
    for (i = n - 1; i >= 0 && splits[i].host == rank; i--) {
        lefts[i] = value;
        if (splits[i].hi < size) {
            rz_reduction_combine(schedule, reduction, value, others[i]);
            value = others[i];
        }
    }
    if (i >= 0 && splits[i].hi < size) {
        rz_reduction_send(schedule, reduction, value, splits[i].host);
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
    if (rz_reduction_bytes(reduction) == 0) {
        return schedule;
    }
    int n = rz_splits(size, rank, 0, splits);
    int guest = scan_up(schedule, reduction, splits, n, lefts);
    void *before = NULL;
    if (guest >= 0) {
        before = rz_reduction_recv(schedule, reduction, rz_reduction_room(schedule, reduction),
                                   splits[guest].host);
        rz_schedule_fence(schedule);
    }
    for (int i = guest + 1; i < n; i++) {
        void *prefix = lefts[i];
        if (before) {
            prefix = prefix == reduction->from
                         ? rz_reduction_copy_to_room(schedule, reduction, prefix)
                         : prefix;
            rz_reduction_combine(schedule, reduction, before, prefix);
        }
        rz_reduction_send(schedule, reduction, prefix, splits[i].guest);
    }
    if (exclusive && before) {
        rz_reduction_copy(schedule, reduction, before, reduction->to);
    } else if (!exclusive) {
        rz_reduction_copy(schedule, reduction, reduction->from, reduction->to);
        if (before) {
            rz_reduction_combine(schedule, reduction, before, reduction->to);
        }
    }
    return schedule;
}
