/*
 * The tree of one agreement, never stored: a binary tree over the positions of the members that are
 * left, where the dead are skipped (ERA, SC'15; repair as in ALGORITHMS 3.5: the parent of a member
 * depends only on the set of dead, not on the order in which they were found).
 *
 *   position of a member = its rank among the members not in base; parent of m is (m-1)/2, children
 * 2m+1 and 2m+2; a living member hangs below its nearest living ancestor, or below the root when it
 * has none; the root is the living member with the smallest position.
 */
#ifndef RZ_PROTO_AGREE_TREE_H
#define RZ_PROTO_AGREE_TREE_H

#include <rhizome/types.h>

/* Both lists are sorted; members of base may also be in dead. */
struct rz_agree_tree_view {
    uint32_t n_members;
    const rz_id *base; /* left out of the positions: the same list at all members */
    uint32_t n_base;
    const rz_id *dead; /* known dead at this member */
    uint32_t n_dead;
};

/* A walk over the children of one living member; begin with {.member = id}. */
struct rz_agree_walk {
    rz_id member;
    uint32_t source; /* 0: the member's own children; i + 1: those of dead[i], where the member
                        adopts them */
    uint32_t side;
};

/* The living member below which id hangs, or id itself when it is the root. id: any member not in
 * base. */
rz_id rz_agree_tree_parent(const struct rz_agree_tree_view *tree, rz_id id);

/* The next child of walk->member, or RZ_ID_NONE; each child comes once, in no order that matters.
 */
rz_id rz_agree_tree_next_child(const struct rz_agree_tree_view *tree, struct rz_agree_walk *walk);

/* Where id stands in the sorted list, or would be inserted. */
uint32_t rz_agree_ids_lower_bound(const rz_id *ids, uint32_t n, rz_id id);

bool rz_agree_ids_contain(const rz_id *ids, uint32_t n, rz_id id);

#endif
