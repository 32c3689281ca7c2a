/*
 * Properties of computing rounds, over the states of the daemons and what was told before: rounds
 * told at the failed count. For groups of at most 64 processes.
 */
#ifndef RZ_PROTO_TURN_CHECK_H
#define RZ_PROTO_TURN_CHECK_H

#include "proto/check.h"

#include <rhizome/protocol.h>

#define RZ_VIEW_CHANGE_CHECK_ROUNDS 16 /* rounds below are remembered */

/* What is remembered of one group. */
struct rz_view_change_seen {
    uint64_t group;
    uint32_t latest;  /* the latest round told anywhere; 0: none */
    uint32_t decided; /* the latest round that was decided anywhere */
    struct {
        uint64_t progress, view;
    } round[RZ_VIEW_CHANGE_CHECK_ROUNDS]; /* view 0: it was not told */
};

/* A host was told RZ_VIEW_CHANGE_ROUND: the same as everybody who was told this round; a view of
 * somebody; progress that does not fall. before: the latest round that this daemon was told of. */
bool rz_view_change_check_told(const struct rz_check_group *group, struct rz_view_change_seen *seen,
                               const struct rz_action *notice, uint32_t before);

/* Whoever lives and knows the group has kept the latest round that was told, as it was told, and
 * has decided at most one beyond what counts there. */
bool rz_view_change_check_kept(const struct rz_check_group *group,
                               const struct rz_view_change_seen *seen);

/*
 * A daemon has decided a round that nobody had decided before: in its view are processes that have
 * arrived; each one of the old view has arrived, is gone, or is out by the counters of one that has
 * arrived; its progress is no more than what those of the old view came with, and does not grow
 * where one of them did not arrive.
 */
bool rz_view_change_check_decided(const struct rz_check_group *group,
                                  struct rz_view_change_seen *seen);

#endif
