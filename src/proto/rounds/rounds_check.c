/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of agreement by rounds: decisions are equal and contain the proposal of every living
 * member. */
#include "proto/rounds/rounds_check.h"

static bool check_value(const struct rz_check_group *group, rz_id i,
                        const struct rz_rounds_decision *decision,
                        rz_rounds_proposal_of proposal_of)
{
    uint64_t and = UINT64_MAX;
    for (rz_id j = 0; j < group->n_members; j++) {
        if (decision->members >> j & 1) {
            and &= proposal_of(j);
        } else if (group->state[j]) {
            return rz_check_say(group, "R-2: %u decided without %u, which is alive", i, j);
        }
    }
    return and == decision->and ||
           rz_check_say(group, "R-2: the decision of %u is not what its members proposed", i);
}

static bool check_bound(const struct rz_check_group *group, rz_id i,
                        const struct rz_rounds_decision *decision)
{
    uint32_t bound = 2;
    for (rz_id j = 0; j < group->n_members; j++) {
        bound += group->crashed[j];
    }
    if (bound > group->n_members) {
        bound = group->n_members;
    }
    return decision->round <= bound ||
           rz_check_say(group, "R-4: %u decided in round %u, the bound is %u", i, decision->round,
                        bound);
}

bool rz_rounds_check(const struct rz_check_group *group, struct rz_rounds_watched *watched,
                     rz_rounds_proposal_of proposal_of)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_rounds *rounds = group->state[i];
        if (!rounds) {
            continue;
        }
        for (rz_id j = 0; j < group->n_members; j++) {
            if (rz_rounds_failed(rounds) >> j & 1 && !group->crashed[j]) {
                return rz_check_say(group, "R-3: %u holds %u for failed, which is not", i, j);
            }
        }
        struct rz_rounds_decision decision = rz_rounds_decision(rounds);
        if (!decision.made || watched[i].made) {
            continue;
        }
        watched[i] = (struct rz_rounds_watched){decision.and, decision.members, 1};
        if (!check_value(group, i, &decision, proposal_of) || !check_bound(group, i, &decision)) {
            return false;
        }
        for (rz_id j = 0; j < group->n_members; j++) {
            if (watched[j].made &&
                (watched[j].and != decision.and || watched[j].members != decision.members)) {
                return rz_check_say(group, "R-1: %u and %u decided differently", i, j);
            }
        }
    }
    return true;
}

bool rz_rounds_check_liveness(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_rounds *rounds = group->state[i];
        if (rounds && !rz_rounds_decision(rounds).made) {
            return rz_check_say(group, "R-5: %u has not decided", i);
        }
    }
    return true;
}
