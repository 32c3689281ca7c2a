/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of SWIM (docs/protocols/swim.md, S5-1 to S5-6, L5-1, L5-2), over the states of a group
 * and the checker's memory of earlier ones. */
#ifndef RZ_PROTO_SWIM_CHECK_H
#define RZ_PROTO_SWIM_CHECK_H

#include "proto/check.h"

/* The checker's memory of a group of this many members, in words that are 0 at the start: the last
 * incarnation of each, and the order value of the evidence that each had of each. */
#define RZ_SWIM_CHECK_WORDS(members) ((members) + (members) * (members))

/* At any time. S5-1: an observer's knowledge of a member never gets older; S5-2: no member knows an
 * incarnation that its owner did not create; S5-3: no member considers itself suspect or failed,
 * unless it leaves; S5-5: news are sent at most as often as their limit; S5-6: one timer for each
 * suspect, none for others. final: as in the members' configuration. */
bool rz_swim_check_safety(const struct rz_check_group *group, bool final, uint64_t *memory);

/* If no answer is late and no message is lost: no living member is suspected. */
bool rz_swim_check_accurate(const struct rz_check_group *group);

/* At the end. L5-1: all living members consider all others failed or left, and L5-2: consider each
 * other alive. S5-4: they have the same incarnation of each. */
bool rz_swim_check_complete(const struct rz_check_group *group);
bool rz_swim_check_cleared(const struct rz_check_group *group);
bool rz_swim_check_agreed(const struct rz_check_group *group);

/* At the end, if failure is final. S5-7: if a living member is considered failed by another living
 * one, the separation is permanent: each considers the other failed. More is the task of the host
 * (a quorum). */
bool rz_swim_check_parted(const struct rz_check_group *group);

#endif
