/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of gossip, over the states of a group (docs/protocols/gossip.md). S4-2 is certain for
 * MATRIX only; with LIST and SUM it, S4-5 and S4-6 hold with high probability.
 */
#ifndef RZ_PROTO_GOSSIP_CHECK_H
#define RZ_PROTO_GOSSIP_CHECK_H

#include "proto/check.h"

#define RZ_GOSSIP_WATCHED_MAX 64

/* S4-1: a member that is known failed has crashed. */
bool rz_gossip_check_accurate(const struct rz_check_group *group);

/* S4-2: if a member has consensus on a failure, all living members know it. */
bool rz_gossip_check_consensus(const struct rz_check_group *group);

/* S4-3: no failure is forgotten, no phase is undone. watched[n_members], zeroed at the start of the
 * run, is the observed progress of each member; bit k of phase[p - 1]: member k was seen in phase
 * p. At most RZ_GOSSIP_WATCHED_MAX members. */
struct rz_gossip_watched {
    uint64_t phase[3];
};
bool rz_gossip_check_monotone(const struct rz_check_group *group,
                              struct rz_gossip_watched *watched);

/* MATRIX: a member's own row is the union of all its rows. */
bool rz_gossip_check_rows(const struct rz_check_group *group);

/* S4-4 at any time: the members of an instance hold no more mass than it began with. */
bool rz_gossip_check_mass_bounded(const struct rz_check_group *group);
/* S4-4 with no message in flight: member `first` and all of its instance hold the whole weight, and
 * one unit for each of them that has reached the phase. Only for an instance that lost none of its
 * members. */
bool rz_gossip_check_mass_whole(const struct rz_check_group *group, rz_id first);

/* S4-5: if a member has committed a failure, all living members have consensus on it. */
bool rz_gossip_check_commits(const struct rz_check_group *group);

/* S4-6, at the end: all living members have returned, and have reached this phase for the same
 * members: all that crashed. */
bool rz_gossip_check_agreed(const struct rz_check_group *group, uint32_t phase);

#endif
