/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree before repair: parents and children over the members that are left. */
#include "proto/agree/agree_tree.h"

#include "base/assert.h"

uint32_t rz_agree_ids_lower_bound(const rz_id *ids, uint32_t n, rz_id id)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ids[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool rz_agree_ids_contain(const rz_id *ids, uint32_t n, rz_id id)
{
    uint32_t at = rz_agree_ids_lower_bound(ids, n, id);
    return at < n && ids[at] == id;
}

/* The number of remaining members with smaller ids; id may also be n_members. */
static uint32_t position_outside_base(const struct rz_agree_tree_view *tree, rz_id id)
{
    return id - rz_agree_ids_lower_bound(tree->base, tree->n_base, id);
}

/* base[i] - i remaining members have a smaller id than base[i], and that number never falls with i:
 * so the member at `position` follows those members of base that at most `position` remaining
 * members precede. */
rz_id rz_agree_shape_member(const struct rz_agree_tree_view *tree, uint32_t position)
{
    uint32_t low = 0, high = tree->n_base;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tree->base[middle] - middle <= position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return position + low;
}

static uint32_t n_outside_base(const struct rz_agree_tree_view *tree)
{
    return tree->n_members - tree->n_base;
}

/* A member's node, its position among the remaining members of the node, and their number. */
struct place {
    uint32_t node, local, size;
    uint32_t start; /* the position of the node's first member */
};

static uint32_t per_node(const struct rz_agree_tree_view *tree)
{
    return tree->per_node > 0 ? tree->per_node : 1;
}

static uint32_t end_of_node(const struct rz_agree_tree_view *tree, uint32_t node)
{
    uint64_t end = ((uint64_t)node + 1) * per_node(tree);
    return end < tree->n_members ? (uint32_t)end : tree->n_members;
}

static struct place place_in(const struct rz_agree_tree_view *tree, uint32_t node)
{
    struct place place = {.node = node,
                          .start = position_outside_base(tree, node * per_node(tree))};
    place.size = position_outside_base(tree, end_of_node(tree, node)) - place.start;
    return place;
}

static struct place place_of(const struct rz_agree_tree_view *tree, rz_id id)
{
    struct place place = place_in(tree, id / per_node(tree));
    place.local = position_outside_base(tree, id) - place.start;
    return place;
}

/* The next node without a remaining member, of those in base from *i on. */
static bool next_empty(const struct rz_agree_tree_view *tree, uint32_t *i, uint32_t *node)
{
    while (*i < tree->n_base) {
        uint32_t from = *i;
        *node = tree->base[from] / per_node(tree);
        uint32_t end = end_of_node(tree, *node);
        *i = rz_agree_ids_lower_bound(tree->base, tree->n_base, end);
        if (*i - from == end - *node * per_node(tree)) {
            return true;
        }
    }
    return false;
}

/* The number of a node among those with a remaining member, and the inverse. */
static uint32_t rank_of_node(const struct rz_agree_tree_view *tree, uint32_t node)
{
    uint32_t rank = node;
    for (uint32_t i = 0, empty; next_empty(tree, &i, &empty) && empty < node;) {
        rank--;
    }
    return rank;
}

static uint64_t node_of_rank(const struct rz_agree_tree_view *tree, uint64_t rank)
{
    uint64_t node = rank;
    for (uint32_t i = 0, empty; next_empty(tree, &i, &empty) && empty <= node;) {
        node++;
    }
    return node;
}

/* The first member of the node with that number, or RZ_ID_NONE. */
static rz_id first_of_rank(const struct rz_agree_tree_view *tree, uint64_t rank)
{
    uint64_t node = node_of_rank(tree, rank);
    if (node * per_node(tree) >= tree->n_members) {
        return RZ_ID_NONE;
    }
    return rz_agree_shape_member(tree,
                                 position_outside_base(tree, (uint32_t)node * per_node(tree)));
}

static uint32_t local_degree(const struct rz_agree_tree_view *tree, const struct place *place)
{
    if (tree->kind == RZ_AGREE_BIN_STAR) {
        return place->local == 0 ? place->size - 1 : 0;
    }
    uint32_t first = 2 * place->local + 1;
    return first >= place->size ? 0 : first + 1 >= place->size ? 1 : 2;
}

rz_id rz_agree_shape_first(const struct rz_agree_tree_view *tree)
{
    return n_outside_base(tree) > 0 ? rz_agree_shape_member(tree, 0) : RZ_ID_NONE;
}

rz_id rz_agree_shape_above(const struct rz_agree_tree_view *tree, rz_id id)
{
    rz_assert(!rz_agree_ids_contain(tree->base, tree->n_base, id));
    if (tree->kind == RZ_AGREE_BINARY) {
        uint32_t position = position_outside_base(tree, id);
        return position == 0 ? RZ_ID_NONE : rz_agree_shape_member(tree, (position - 1) / 2);
    }
    struct place place = place_of(tree, id);
    if (place.local > 0) {
        uint32_t above = tree->kind == RZ_AGREE_BIN_STAR ? 0 : (place.local - 1) / 2;
        return rz_agree_shape_member(tree, place.start + above);
    }
    uint32_t rank = rank_of_node(tree, place.node);
    return rank == 0 ? RZ_ID_NONE : first_of_rank(tree, (rank - 1) / 2);
}

rz_id rz_agree_shape_below(const struct rz_agree_tree_view *tree, rz_id id, uint32_t k)
{
    if (tree->kind == RZ_AGREE_BINARY) {
        uint64_t position = 2 * (uint64_t)position_outside_base(tree, id) + 1 + k;
        return k < 2 && position < n_outside_base(tree)
                   ? rz_agree_shape_member(tree, (uint32_t)position)
                   : RZ_ID_NONE;
    }
    struct place place = place_of(tree, id);
    uint32_t local = local_degree(tree, &place);
    if (k < local) {
        uint32_t child = tree->kind == RZ_AGREE_BIN_STAR ? 1 + k : 2 * place.local + 1 + k;
        return rz_agree_shape_member(tree, place.start + child);
    }
    if (place.local > 0 || k - local >= 2) {
        return RZ_ID_NONE;
    }
    return first_of_rank(tree, 2 * (uint64_t)rank_of_node(tree, place.node) + 1 + (k - local));
}

uint32_t rz_agree_shape_side(const struct rz_agree_tree_view *tree, rz_id id)
{
    if (tree->kind == RZ_AGREE_BINARY) {
        return (position_outside_base(tree, id) + 1) % 2;
    }
    struct place place = place_of(tree, id);
    if (place.local > 0) {
        return tree->kind == RZ_AGREE_BIN_STAR ? place.local - 1 : (place.local + 1) % 2;
    }
    uint32_t rank = rank_of_node(tree, place.node);
    rz_assert(rank > 0);
    struct place above = place_in(tree, (uint32_t)node_of_rank(tree, (rank - 1) / 2));
    return local_degree(tree, &above) + (rank + 1) % 2;
}

uint32_t rz_agree_shape_degree(const struct rz_agree_tree_view *tree, rz_id id)
{
    uint32_t degree = 0;
    if (tree->kind != RZ_AGREE_BINARY) {
        struct place place = place_of(tree, id);
        degree = local_degree(tree, &place);
        if (place.local > 0) {
            return degree;
        }
    }
    while (rz_agree_shape_below(tree, id, degree) != RZ_ID_NONE) {
        degree++;
    }
    return degree;
}

uint32_t rz_agree_shape_degree_max(enum rz_agree_tree kind, uint32_t per_node)
{
    switch (kind) {
    case RZ_AGREE_BIN_STAR:
        return per_node > 0 ? per_node + 1 : 2;
    case RZ_AGREE_BIN_BIN:
        return 4;
    case RZ_AGREE_BINARY:
    case RZ_AGREE_TREE_COUNT:
        break;
    }
    return 2;
}
