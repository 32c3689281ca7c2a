/* SPDX-License-Identifier: BSD-3-Clause */
/* The repaired tree: the original one without the failed members. */
#include "proto/agree/agree_tree.h"

static bool alive(const struct rz_agree_tree_view *tree, rz_id id)
{
    return !rz_agree_ids_contain(tree->failed, tree->n_failed, id);
}

static rz_id living_ancestor(const struct rz_agree_tree_view *tree, rz_id id)
{
    while ((id = rz_agree_shape_above(tree, id)) != RZ_ID_NONE && !alive(tree, id)) {
        ;
    }
    return id;
}

static rz_id root_of(const struct rz_agree_tree_view *tree)
{
    uint32_t n_positions = tree->n_members - tree->n_base;
    for (uint32_t position = 0; position < n_positions; position++) {
        rz_id id = rz_agree_shape_member(tree, position);
        if (alive(tree, id)) {
            return id;
        }
    }
    return RZ_ID_NONE;
}

rz_id rz_agree_tree_parent(const struct rz_agree_tree_view *tree, rz_id id)
{
    rz_id ancestor = living_ancestor(tree, id);
    return ancestor != RZ_ID_NONE ? ancestor : root_of(tree);
}

/* The next member below start in pre-order; subtrees of living members are skipped. */
static rz_id next_below(const struct rz_agree_tree_view *tree, rz_id start, rz_id at)
{
    rz_id next = RZ_ID_NONE;
    if (at == start || !alive(tree, at)) {
        next = rz_agree_shape_below(tree, at, 0);
    }
    while (next == RZ_ID_NONE && at != start) {
        rz_id above = rz_agree_shape_above(tree, at);
        next = rz_agree_shape_below(tree, above, rz_agree_shape_side(tree, at) + 1);
        at = above;
    }
    return next;
}

/* The root also has all members without a living ancestor as children: they are below the first
 * member, with only failed ones between. */
static bool adopts_orphans(const struct rz_agree_tree_view *tree, rz_id member, rz_id first)
{
    return member != first && living_ancestor(tree, member) == RZ_ID_NONE &&
           root_of(tree) == member;
}

rz_id rz_agree_tree_next_child(const struct rz_agree_tree_view *tree, struct rz_agree_walk *walk)
{
    rz_id first = rz_agree_shape_first(tree);
    if (walk->stage == 0) {
        walk->at = walk->member;
        walk->stage = 1;
    }
    while (walk->stage < 3) {
        rz_id next = next_below(tree, walk->stage == 1 ? walk->member : first, walk->at);
        if (next != RZ_ID_NONE) {
            walk->at = next;
            if (next != walk->member && alive(tree, next)) {
                return next;
            }
        } else if (walk->stage == 1 && adopts_orphans(tree, walk->member, first)) {
            walk->at = first;
            walk->stage = 2;
        } else {
            walk->stage = 3;
        }
    }
    return RZ_ID_NONE;
}
