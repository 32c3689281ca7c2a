/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of the two-phase commit: decisions are equal, and every living member decides. */
#include "proto/twophase/twophase_check.h"

#include "proto/twophase/twophase_private.h"

#include <string.h>

typedef const struct rz_twophase *twophase_member_t;

static const struct rz_twophase_op *twophase_decision_of(twophase_member_t member, uint64_t seq)
{
    const struct rz_twophase_op *op = &member->op[seq % 2];
    return op->seq == seq && op->status == RZ_TWOPHASE_COMMITTED ? op : NULL;
}

static bool twophase_check_pair(const struct rz_check_group *group, rz_id i, rz_id j)
{
    twophase_member_t a = group->state[i], b = group->state[j];
    size_t bytes = a->n_value * sizeof(uint64_t);
    for (uint64_t seq = a->decided; seq <= a->decided + 1; seq++) {
        const struct rz_twophase_op *in_a = seq ? twophase_decision_of(a, seq) : NULL;
        const struct rz_twophase_op *in_b = seq ? twophase_decision_of(b, seq) : NULL;
        if (in_a && in_b &&
            (in_a->flag != in_b->flag ||
             memcmp(rz_twophase_op_set(a, in_a, RZ_TWOPHASE_FAILED),
                    rz_twophase_op_set(b, in_b, RZ_TWOPHASE_FAILED), bytes) != 0)) {
            return rz_check_say(group, "T-1: %u and %u decided operation %llu differently", i, j,
                                (unsigned long long)seq);
        }
    }
    if (a->decided == b->decided && memcmp(rz_twophase_set(a, RZ_TWOPHASE_AGREED),
                                           rz_twophase_set(b, RZ_TWOPHASE_AGREED), bytes) != 0) {
        return rz_check_say(group, "T-4: %u and %u decided %llu, but not the same members failed",
                            i, j, (unsigned long long)a->decided);
    }
    return true;
}

static bool check_votes(const struct rz_check_group *group, rz_id i,
                        rz_twophase_proposal_of proposal_of)
{
    twophase_member_t member = group->state[i];
    const struct rz_twophase_op *op =
        member->decided > 0 ? twophase_decision_of(member, member->decided) : NULL;
    const uint64_t *extreme =
        op ? rz_twophase_op_set(member, op, RZ_TWOPHASE_FAILED) + member->n_words : NULL;
    for (rz_id j = 0; op && j < group->n_members; j++) {
        uint64_t vote = proposal_of(j, op->seq);
        bool left_out = (op->flag & ~vote) != 0;
        if (member->config.extremes) {
            left_out |= extreme[0] > vote || extreme[1] < vote;
        }
        if (left_out && !rz_twophase_agreed_failed(member, j)) {
            return rz_check_say(group, "T-2: %u decided operation %llu without %u", i,
                                (unsigned long long)op->seq, j);
        }
    }
    return true;
}

bool rz_twophase_check(const struct rz_check_group *group, rz_twophase_proposal_of proposal_of)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        if (!group->state[i]) {
            continue;
        }
        for (rz_id j = 0; j < group->n_members; j++) {
            if (rz_twophase_agreed_failed(group->state[i], j) &&
                !rz_twophase_knows_failed(group->state[i], j)) {
                return rz_check_say(group, "T-3: %u decided that %u failed, and hears it", i, j);
            }
        }
        for (rz_id j = 0; j < group->n_members; j++) {
            if (rz_twophase_knows_failed(group->state[i], j) && !group->crashed[j]) {
                return rz_check_say(group, "T-3: %u holds %u for failed, which is not", i, j);
            }
            if (j != i && group->state[j] && !twophase_check_pair(group, i, j)) {
                return false;
            }
        }
        if (!check_votes(group, i, proposal_of)) {
            return false;
        }
    }
    return true;
}

bool rz_twophase_check_liveness(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        twophase_member_t member = group->state[i];
        bool all = true;
        if (!member || member->proposed == member->decided) {
            continue;
        }
        for (rz_id j = 0; j < group->n_members; j++) {
            twophase_member_t other = group->state[j];
            all = all && (!other || other->proposed >= member->proposed);
        }
        if (all) {
            return rz_check_say(group, "T-5: all have voted in operation %llu, and %u waits for it",
                                (unsigned long long)member->proposed, i);
        }
    }
    return true;
}
