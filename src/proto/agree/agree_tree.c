#include "proto/agree/agree_tree.h"

#include "base/assert.h"

uint32_t rz_agree_ids_lower_bound(const rz_id *ids, uint32_t n, rz_id id)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool rz_agree_ids_contain(const rz_id *ids, uint32_t n, rz_id id)
{
    uint32_t at = rz_agree_ids_lower_bound(ids, n, id);
    return at < n && ids[at] == id;
}

static uint32_t position_of(const struct rz_agree_tree_view *tree, rz_id id)
{
    return id - rz_agree_ids_lower_bound(tree->base, tree->n_base, id);
}

/* base[i] - i members that are left stand before base[i], and that number never falls with i: so
 * the member at a position has as many of base before it as have at most `position` members left
 * before them. */
static rz_id member_at(const struct rz_agree_tree_view *tree, uint32_t position)
{
    uint32_t low = 0, high = tree->n_base;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tree->base[middle] - middle <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return position + low;
}

static bool alive(const struct rz_agree_tree_view *tree, rz_id id)
{
    return !rz_agree_ids_contain(tree->dead, tree->n_dead, id);
}

static rz_id root_of(const struct rz_agree_tree_view *tree)
{
    uint32_t n_positions = tree->n_members - tree->n_base;
    for (uint32_t position = 0; position < n_positions; position++) {
        rz_id id = member_at(tree, position);
        if (alive(tree, id))
            return id;
    }
    return RZ_ID_NONE;
}

rz_id rz_agree_tree_parent(const struct rz_agree_tree_view *tree, rz_id id)
{
    rz_assert(!rz_agree_ids_contain(tree->base, tree->n_base, id));
    for (uint32_t position = position_of(tree, id); position > 0;) {
        position = (position - 1) / 2;
        rz_id ancestor = member_at(tree, position);
        if (alive(tree, ancestor))
            return ancestor;
    }
    return root_of(tree);
}

rz_id rz_agree_tree_next_child(const struct rz_agree_tree_view *tree, struct rz_agree_walk *walk)
{
    uint32_t n_positions = tree->n_members - tree->n_base;
    for (; walk->source <= tree->n_dead; walk->source++, walk->side = 0) {
        rz_id above = walk->source == 0 ? walk->member : tree->dead[walk->source - 1];
        if (walk->source > 0 && (rz_agree_ids_contain(tree->base, tree->n_base, above) ||
                                 rz_agree_tree_parent(tree, above) != walk->member))
            continue;
        while (walk->side < 2) {
            uint64_t position = 2 * (uint64_t)position_of(tree, above) + ++walk->side;
            rz_id id = position < n_positions ? member_at(tree, (uint32_t)position) : RZ_ID_NONE;
            if (id != RZ_ID_NONE && id != walk->member && alive(tree, id))
                return id;
        }
    }
    return RZ_ID_NONE;
}
