/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of computing rounds, over the states of the daemons and earlier reports: rounds
 * reported at failed daemons count. For groups of at most 64 processes. */
#ifndef RZ_PROTO_VIEW_CHANGE_CHECK_H
#define RZ_PROTO_VIEW_CHANGE_CHECK_H

#include "proto/check.h"

#include <rhizome/protocol.h>

#define RZ_VIEW_CHANGE_CHECK_ROUNDS 16 /* number of rounds that are remembered */

/* The checker's memory of one group. */
struct rz_view_change_seen {
    uint64_t group;
    uint32_t latest;  /* the latest round reported at any daemon; 0: none */
    uint32_t decided; /* the latest round decided at any daemon */
    struct {
        uint64_t progress, view;
    } round[RZ_VIEW_CHANGE_CHECK_ROUNDS]; /* view 0: not reported */
};

/* A host got RZ_VIEW_CHANGE_ROUND: the round must be the same as at all other hosts; its view not
 * empty; its progress not lower than before. before: the latest round reported at this daemon. */
bool rz_view_change_check_told(const struct rz_check_group *group, struct rz_view_change_seen *seen,
                               const struct rz_action *notice, uint32_t before);

/* Every living daemon that knows the group has kept the latest reported round, unchanged, and has
 * decided at most one round beyond the one that counts there. */
bool rz_view_change_check_kept(const struct rz_check_group *group,
                               const struct rz_view_change_seen *seen);

/*
 * A daemon has decided a round that no daemon had decided before: its view consists of processes
 * that have arrived; each process of the old view has arrived, has failed or left, or is
 * non-recommended by the counters of one that has arrived; its progress is no more than the minimum
 * of the old view, and does not grow if one of them did not arrive.
 */
bool rz_view_change_check_decided(const struct rz_check_group *group,
                                  struct rz_view_change_seen *seen);

#endif
