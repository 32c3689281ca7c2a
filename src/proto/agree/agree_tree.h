/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of one agreement, never stored. Its shape is a function of the remaining members
 * (agree_shape.c); failed members are skipped (agree_tree.c): a living member hangs below its
 * nearest living ancestor, or below the root if it has none; the root is the living member with the
 * smallest id. So the parent depends only on the set of failed members, not on the order of their
 * detection (ERA, SC'15; docs/protocols/agree.md).
 *
 * Shapes, over the members not in base, in the order of their ids:
 *   binary    position m below (m - 1) / 2;
 *   bin/star  the first member of each node stands for it; these are a binary tree, and the others
 *             of a node hang below its first;
 *   bin/bin   the same, but the members of a node are a binary tree, too.
 * A node is per_node consecutive ids; a node without a remaining member is left out. The children
 * of a member are first those of its node, then those of other nodes, as in the source.
 */
#ifndef RZ_PROTO_AGREE_TREE_H
#define RZ_PROTO_AGREE_TREE_H

#include "proto/agree/agree.h"

/* Both lists are sorted; members of base may also be in failed. */
struct rz_agree_tree_view {
    uint32_t n_members;
    enum rz_agree_tree kind;
    uint32_t per_node; /* 0: 1; binary does not use it */
    const rz_id *base; /* not in the tree: the same list at all members */
    uint32_t n_base;
    const rz_id *failed; /* known failed at this member */
    uint32_t n_failed;
};

/* A walk over the children of one living member; start with {.member = id}. */
struct rz_agree_walk {
    rz_id member;
    rz_id at;       /* the walk's position in the original tree */
    uint32_t stage; /* 0: not started; 1: below the member; 2: below the first member, whose orphans
                       hang below the root; 3: done */
};

/* The living parent of id, or id itself if it is the root. id: any member not in base. */
rz_id rz_agree_tree_parent(const struct rz_agree_tree_view *tree, rz_id id);

/* The next child of walk->member, or RZ_ID_NONE; each child is returned once. The time of a walk
 * grows with the children it returns and the failed members it passes, not with all members or all
 * failures. */
rz_id rz_agree_tree_next_child(const struct rz_agree_tree_view *tree, struct rz_agree_walk *walk);

/* ---- the original tree; ids must not be in base (agree_shape.c) ---- */

/* The root of the original tree; RZ_ID_NONE: no member is left. */
rz_id rz_agree_shape_first(const struct rz_agree_tree_view *tree);
/* The parent, or RZ_ID_NONE for the root. */
rz_id rz_agree_shape_above(const struct rz_agree_tree_view *tree, rz_id id);
/* The k-th child, k = 0, 1, ..., or RZ_ID_NONE. */
rz_id rz_agree_shape_below(const struct rz_agree_tree_view *tree, rz_id id, uint32_t k);
/* The index of id among the children of its parent. */
uint32_t rz_agree_shape_side(const struct rz_agree_tree_view *tree, rz_id id);
/* The number of children of id; the most that any member can have. */
uint32_t rz_agree_shape_degree(const struct rz_agree_tree_view *tree, rz_id id);
uint32_t rz_agree_shape_degree_max(enum rz_agree_tree kind, uint32_t per_node);
/* The member at a position among those not in base; position < n_members - n_base. */
rz_id rz_agree_shape_member(const struct rz_agree_tree_view *tree, uint32_t position);

/* ---- sorted lists of ids ---- */

/* The index of id in the sorted list, or the index to insert it at. */
uint32_t rz_agree_ids_lower_bound(const rz_id *ids, uint32_t n, rz_id id);

bool rz_agree_ids_contain(const rz_id *ids, uint32_t n, rz_id id);

#endif
