/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of the two-phase commit (docs/protocols/twophase.md): those of `agree`, as predicates
 * over the states of a group. Two decisions are compared while both members live, for the reason
 * that agree_check.h gives. Each returns whether the property holds, and otherwise writes the
 * reason to group->why.
 */
#ifndef RZ_PROTO_TWOPHASE_CHECK_H
#define RZ_PROTO_TWOPHASE_CHECK_H

#include "proto/check.h"
#include "proto/twophase/twophase.h"

/* The flag that a member votes with: it must clear a bit that no other member clears. With
 * `extremes` it votes the same word for the minimum and for the maximum. */
typedef uint64_t (*rz_twophase_proposal_of)(rz_id member, uint64_t seq);

/* T-1 one decision; T-2 with the vote of every member that is not found failed by it or an earlier
 * one; T-3 only failed members are known failed, and only failed members are named by a decision;
 * T-4 the same members are found failed after the same operation. After any step. */
bool rz_twophase_check(const struct rz_check_group *group, rz_twophase_proposal_of proposal_of);

/* T-5 all living members have decided what they voted in, if all voted. At quiescence. */
bool rz_twophase_check_liveness(const struct rz_check_group *group);

#endif
