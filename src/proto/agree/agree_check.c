/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of agreement: decisions are equal, trees are trees, operations only go forward. */
#include "proto/agree/agree_check.h"

#include "base/idset.h"
#include "base/random.h"
#include "proto/agree/agree_private.h"

#include <string.h>

typedef const struct rz_agree *agree_member_t;

static uint64_t newest(agree_member_t member)
{
    return member->decided + 2 * (uint64_t)member->config.in_flight_max;
}

static const struct rz_agree_op *agree_decision_of(agree_member_t member, uint64_t seq)
{
    const struct rz_agree_op *op = rz_agree_op_find(member, seq);
    return op && op->status == RZ_AGREE_COMPLETED ? op : NULL;
}

static uint32_t value_length(const struct rz_agree_op *op)
{
    return RZ_AGREE_VALUE_WORDS + op->n_failed + op->n_items;
}

static bool same_decision(agree_member_t a, const struct rz_agree_op *in_a, agree_member_t b,
                          const struct rz_agree_op *in_b)
{
    return in_a->n_failed == in_b->n_failed && in_a->n_items == in_b->n_items &&
           memcmp(rz_agree_op_value(a, in_a), rz_agree_op_value(b, in_b),
                  value_length(in_a) * sizeof(uint64_t)) == 0;
}

/* Whether every failure that one member knows agreed by operations up to seq is known to the other
 * member too. */
static bool agreed_within(agree_member_t one, agree_member_t other, uint64_t seq)
{
    const rz_id *ids = rz_agree_agreed_list(one);
    const uint64_t *at = rz_agree_agreed_at(one);
    for (uint32_t i = 0; i < one->n_agreed; i++) {
        uint32_t found =
            rz_agree_ids_lower_bound(rz_agree_agreed_list(other), other->n_agreed, ids[i]);
        if (at[i] > seq) {
            continue;
        }
        if (found == other->n_agreed || rz_agree_agreed_list(other)[found] != ids[i] ||
            rz_agree_agreed_at(other)[found] != at[i]) {
            return false;
        }
    }
    return true;
}

static bool agree_check_pair(const struct rz_check_group *group, rz_id i, rz_id j)
{
    agree_member_t a = group->state[i], b = group->state[j];
    uint64_t both = a->decided < b->decided ? a->decided : b->decided;
    for (uint64_t seq = a->collected + 1; seq <= newest(a); seq++) {
        const struct rz_agree_op *in_a = agree_decision_of(a, seq),
                                 *in_b = agree_decision_of(b, seq);
        if (in_a && in_b && !same_decision(a, in_a, b, in_b)) {
            return rz_check_say(group, "S3-1: %u and %u decided operation %llu differently", i, j,
                                (unsigned long long)seq);
        }
    }
    if (a->collected > b->decided) {
        return rz_check_say(group,
                            "S3-6: %u has forgotten operation %llu, which %u has not decided", i,
                            (unsigned long long)a->collected, j);
    }
    if (!agreed_within(a, b, both) || !agreed_within(b, a, both)) {
        return rz_check_say(group, "S3-8: %u and %u decided %llu, but not the same members failed",
                            i, j, (unsigned long long)both);
    }
    return true;
}

bool rz_agree_check_agreement(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        agree_member_t a = group->state[i];
        if (!a) {
            continue;
        }
        for (uint32_t d = 0; d < a->n_failed; d++) {
            if (!group->crashed[rz_agree_failed_list(a)[d]]) {
                return rz_check_say(group, "S3-3: %u holds %u for failed, which is not", i,
                                    rz_agree_failed_list(a)[d]);
            }
        }
        for (rz_id j = 0; j < group->n_members; j++) {
            if (j != i && group->state[j] && !agree_check_pair(group, i, j)) {
                return false;
            }
        }
    }
    return true;
}

static bool found_failed(agree_member_t member, const struct rz_agree_op *op, rz_id id)
{
    const uint64_t *failed = rz_agree_op_value(member, op) + RZ_AGREE_VALUE_WORDS;
    uint32_t at = rz_agree_ids_lower_bound(rz_agree_agreed_list(member), member->n_agreed, id);
    return rz_items_contain(failed, op->n_failed, id) ||
           (at < member->n_agreed && rz_agree_agreed_list(member)[at] == id &&
            rz_agree_agreed_at(member)[at] <= op->seq);
}

static bool includes(const uint64_t *value, const struct rz_agree_op *op,
                     const struct rz_agree_proposal *proposal)
{
    return (value[RZ_AGREE_AND] & ~proposal->and) == 0 && value[RZ_AGREE_MIN] <= proposal->min &&
           value[RZ_AGREE_MAX] >= proposal->max &&
           rz_items_contain(value + RZ_AGREE_VALUE_WORDS + op->n_failed, op->n_items,
                            proposal->item);
}

/* A decision that still waits for an earlier one is examined when it is reported: the earlier one
 * may name the failed members. */
bool rz_agree_check_participation(const struct rz_check_group *group,
                                  rz_agree_proposal_of proposal_of)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        agree_member_t member = group->state[i];
        for (uint64_t seq = member ? member->collected + 1 : 1; member && seq <= member->decided;
             seq++) {
            const struct rz_agree_op *op = agree_decision_of(member, seq);
            for (rz_id j = 0; op && j < group->n_members; j++) {
                struct rz_agree_proposal proposal = proposal_of(j, seq);
                if (!includes(rz_agree_op_value(member, op), op, &proposal) &&
                    !found_failed(member, op, j)) {
                    return rz_check_say(group, "S3-2: %u decided operation %llu without %u", i,
                                        (unsigned long long)seq, j);
                }
            }
        }
    }
    return true;
}

/* How often child occurs in the list of children of above. */
static uint32_t times_below(const struct rz_agree_tree_view *tree, rz_id above, rz_id child)
{
    struct rz_agree_walk walk = {.member = above};
    uint32_t times = 0;
    for (rz_id id; (id = rz_agree_tree_next_child(tree, &walk)) != RZ_ID_NONE;) {
        times += id == child;
    }
    return times;
}

bool rz_agree_check_tree(const struct rz_check_group *group, const struct rz_agree_tree_view *tree)
{
    uint32_t n_roots = 0;
    for (rz_id id = 0; id < tree->n_members; id++) {
        if (rz_agree_ids_contain(tree->failed, tree->n_failed, id)) {
            continue;
        }
        rz_id parent = rz_agree_tree_parent(tree, id);
        if (rz_agree_ids_contain(tree->failed, tree->n_failed, parent) || parent > id) {
            return rz_check_say(group, "S3-7: %u hangs below %u", id, parent);
        }
        n_roots += parent == id;
        for (rz_id above = 0; above < tree->n_members; above++) {
            if (rz_agree_ids_contain(tree->failed, tree->n_failed, above)) {
                continue;
            }
            uint32_t wanted = above == parent && parent != id;
            if (times_below(tree, above, id) != wanted) {
                return rz_check_say(group, "S3-7: %u is %u times a child of %u, whose parent is %u",
                                    id, times_below(tree, above, id), above, parent);
            }
        }
    }
    return n_roots == 1 || rz_check_say(group, "S3-7: %u roots", n_roots);
}

static bool misses_child(agree_member_t member, const struct rz_agree_op *op,
                         const struct rz_agree_tree_view *tree)
{
    struct rz_agree_walk walk = {.member = member->self};
    for (rz_id child; (child = rz_agree_tree_next_child(tree, &walk)) != RZ_ID_NONE;) {
        if (!(rz_agree_op_roles(member, op, child) & RZ_AGREE_GATHERED)) {
            return true;
        }
    }
    return false;
}

static bool check_place(const struct rz_check_group *group, agree_member_t member,
                        const struct rz_agree_op *op)
{
    struct rz_agree_tree_view tree = rz_agree_op_tree(member, op);
    rz_id parent = rz_agree_tree_parent(&tree, member->self);
    if (op->status == RZ_AGREE_BROADCASTING && (parent != op->parent || parent == member->self)) {
        return rz_check_say(group, "S3-5: %u has sent UP to %u, its parent is %u", member->self,
                            op->parent, parent);
    }
    if (op->status == RZ_AGREE_GATHERING && !misses_child(member, op, &tree)) {
        return rz_check_say(group, "S3-5: %u gathers and misses no child", member->self);
    }
    if (parent != member->self && times_below(&tree, parent, member->self) != 1) {
        return rz_check_say(group, "S3-7: %u is not a child of its parent %u", member->self,
                            parent);
    }
    return true;
}

bool rz_agree_check_trees(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        agree_member_t member = group->state[i];
        for (uint64_t seq = member ? member->decided + 1 : 1; member && seq <= member->proposed;
             seq++) {
            const struct rz_agree_op *op = rz_agree_op_find(member, seq);
            if (!op || op->status < RZ_AGREE_GATHERING) {
                return rz_check_say(group, "S3-4: %u has no record of its operation %llu", i,
                                    (unsigned long long)seq);
            }
            if (op->status < RZ_AGREE_COMPLETED && !check_place(group, member, op)) {
                return false;
            }
        }
    }
    return true;
}

uint32_t rz_agree_watch_slots(const struct rz_agree_config *config)
{
    return 3 * config->in_flight_max;
}

static uint64_t digest_of(agree_member_t member, const struct rz_agree_op *op)
{
    uint64_t digest = op->n_failed;
    for (uint32_t i = 0; i < value_length(op); i++) {
        digest = rz_mix(digest, rz_agree_op_value(member, op)[i]);
    }
    return digest | 1;
}

static bool goes_forward(const struct rz_agree_watched *before, const struct rz_agree_op *op)
{
    if (before->seq != op->seq || op->status >= before->status) {
        return true;
    }
    return before->status == RZ_AGREE_BROADCASTING && op->status == RZ_AGREE_GATHERING &&
           op->asking;
}

bool rz_agree_check_progress(const struct rz_check_group *group, struct rz_agree_watched *watched)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        agree_member_t member = group->state[i];
        for (uint64_t seq = member ? member->collected + 1 : 1; member && seq <= newest(member);
             seq++) {
            const struct rz_agree_op *op = rz_agree_op_find(member, seq);
            struct rz_agree_watched *now = &watched[i * member->n_slots + seq % member->n_slots];
            if (!op) {
                continue;
            }
            if (!goes_forward(now, op)) {
                return rz_check_say(group, "S3-4: operation %llu at %u went from %u to %u",
                                    (unsigned long long)seq, i, now->status, op->status);
            }
            *now = (struct rz_agree_watched){.seq = seq, .status = op->status};
            if (op->status != RZ_AGREE_COMPLETED) {
                continue;
            }
            now->digest = digest_of(member, op);
            const struct rz_agree_watched *given =
                &watched[op->giver * member->n_slots + seq % member->n_slots];
            if (given->seq == seq && given->digest != 0 && given->digest != now->digest) {
                return rz_check_say(group,
                                    "S3-1c: %u took another decision %llu from %u than that had", i,
                                    (unsigned long long)seq, op->giver);
            }
        }
    }
    return true;
}

static bool check_decided(const struct rz_check_group *group, rz_id waiting, uint64_t seq)
{
    bool all_contributed = true;
    for (rz_id j = 0; j < group->n_members; j++) {
        agree_member_t other = group->state[j];
        if (other && agree_decision_of(other, seq)) {
            return rz_check_say(group, "L3-2: %u waits for operation %llu, which %u has decided",
                                waiting, (unsigned long long)seq, j);
        }
        if (other && other->proposed < seq) {
            all_contributed = false;
        }
    }
    return !all_contributed ||
           rz_check_say(group, "L3-1: all have contributed to operation %llu, and %u waits for it",
                        (unsigned long long)seq, waiting);
}

bool rz_agree_check_liveness(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        agree_member_t member = group->state[i];
        for (uint64_t seq = member ? member->decided + 1 : 1; member && seq <= member->proposed;
             seq++) {
            if (!agree_decision_of(member, seq) && !check_decided(group, i, seq)) {
                return false;
            }
        }
    }
    return true;
}
