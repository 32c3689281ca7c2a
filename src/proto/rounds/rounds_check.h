/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of agreement by rounds (docs/protocols/rounds.md), as predicates over the states of a
 * group. Each returns whether the property holds, and else writes the reason to group->why.
 */
#ifndef RZ_PROTO_ROUNDS_CHECK_H
#define RZ_PROTO_ROUNDS_CHECK_H

#include "proto/check.h"
#include "proto/rounds/rounds.h"

/* What a member proposes. */
typedef uint64_t (*rz_rounds_proposal_of)(rz_id member);

/* The observed decision of each member, also of those that have failed since; zeroed at the start,
 * n_members of them. */
struct rz_rounds_watched {
    uint64_t and;
    uint32_t members;
    uint32_t made;
};

/* R-1 one decision, of living and failed members; R-2 it is the AND of the proposals of its
 * members, and all living members are among them; R-3 only failed members are known failed; R-4 no
 * member decides later than in round min(f + 2, n) with f failed. After any step. */
bool rz_rounds_check(const struct rz_check_group *group, struct rz_rounds_watched *watched,
                     rz_rounds_proposal_of proposal_of);

/* R-5 all living members have decided. At quiescence, when all have proposed. */
bool rz_rounds_check_liveness(const struct rz_check_group *group);

#endif
