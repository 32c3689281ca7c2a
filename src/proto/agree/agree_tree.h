/*
 * The tree of one agreement, never stored. Its shape is a function of the members that are left
 * (agree_shape.c); the failed processes are skipped (agree_tree.c): a living member hangs below its
 * nearest living ancestor, or below the root when it has none; the root is the living member with
 * the smallest id. So the parent depends only on the set of failed, not on the order in which they
 * were found (ERA, SC'15; docs/protocols/agree.md).
 *
 * Shapes, over the members not in base, in the order of their ids:
 *   binary    position m below (m - 1) / 2;
 *   bin/star  the first member of each node stands for it; these are a binary tree, and the others
 *             of a node hang below its first;
 *   bin/bin   the same, but the members of a node are a binary tree, too.
 * A node is per_node consecutive ids; one with no member left is left out. A member's children are
 * first those of its node, then the other nodes', as in the source.
 */
#ifndef RZ_PROTO_AGREE_TREE_H
#define RZ_PROTO_AGREE_TREE_H

#include "proto/agree/agree.h"

/* Both lists are sorted; members of base may also be in failed. */
struct rz_agree_tree_view {
    uint32_t n_members;
    enum rz_agree_tree kind;
    uint32_t per_node; /* 0: 1; binary does not ask */
    const rz_id *base; /* left out of the positions: the same list at all members */
    uint32_t n_base;
    const rz_id *failed; /* known failed at this member */
    uint32_t n_failed;
};

/* A walk over the children of one living member; begin with {.member = id}. */
struct rz_agree_walk {
    rz_id member;
    rz_id at;       /* the walk's place in the unbroken tree */
    uint32_t stage; /* 0: not begun; 1: below the member; 2: below the first, whose orphans hang
                       below the root; 3: done */
};

/* The living member below which id hangs, or id itself when it is the root. id: any member not in
 * base. */
rz_id rz_agree_tree_parent(const struct rz_agree_tree_view *tree, rz_id id);

/* The next child of walk->member, or RZ_ID_NONE; each child comes once. The walk costs what it
 * gives and the failed it passes, not the members, nor all the failed processes. */
rz_id rz_agree_tree_next_child(const struct rz_agree_tree_view *tree, struct rz_agree_walk *walk);

/* --- the unbroken tree; ids must not be in base (agree_shape.c) --- */

/* The member that all others descend from; RZ_ID_NONE: nobody is left. */
rz_id rz_agree_shape_first(const struct rz_agree_tree_view *tree);
/* The parent, or RZ_ID_NONE for the first. */
rz_id rz_agree_shape_above(const struct rz_agree_tree_view *tree, rz_id id);
/* The k-th child, k = 0, 1, ..., or RZ_ID_NONE. */
rz_id rz_agree_shape_below(const struct rz_agree_tree_view *tree, rz_id id, uint32_t k);
/* Which child of its parent id is. */
uint32_t rz_agree_shape_side(const struct rz_agree_tree_view *tree, rz_id id);
/* How many children id has; how many anybody can have. */
uint32_t rz_agree_shape_degree(const struct rz_agree_tree_view *tree, rz_id id);
uint32_t rz_agree_shape_degree_max(enum rz_agree_tree kind, uint32_t per_node);
/* The member at a position among those not in base; position < n_members - n_base. */
rz_id rz_agree_shape_member(const struct rz_agree_tree_view *tree, uint32_t position);

/* --- sorted lists of ids --- */

/* Where id stands in the sorted list, or would be inserted. */
uint32_t rz_agree_ids_lower_bound(const rz_id *ids, uint32_t n, rz_id id);

bool rz_agree_ids_contain(const rz_id *ids, uint32_t n, rz_id id);

#endif
