/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of the tree in which hosts are started. */
#include "remote/tree.h"

#include "base/assert.h"

uint32_t rz_tree_groups(uint32_t n, uint32_t fan_out)
{
    return n < fan_out ? n : fan_out;
}

void rz_tree_group(uint32_t n, uint32_t fan_out, uint32_t i, uint32_t *first, uint32_t *count)
{
    uint32_t groups = rz_tree_groups(n, fan_out);
    rz_assert(i < groups);
    uint32_t size = n / groups, larger = n % groups; /* so many groups have one host more */
    *first = i * size + (i < larger ? i : larger);
    *count = size + (i < larger);
}

/* Of the hosts from..from+n-1, which `by` starts. Its depth is that of the tree. */
static void set_parents(uint32_t from, uint32_t n, uint32_t fan_out, uint32_t by, uint32_t *parent)
{
    for (uint32_t i = 0; i < rz_tree_groups(n, fan_out); i++) {
        uint32_t first, count;
        rz_tree_group(n, fan_out, i, &first, &count);
        parent[from + first] = by;
        set_parents(from + first + 1, count - 1, fan_out, from + first, parent);
    }
}

void rz_tree_parents(uint32_t n, uint32_t fan_out, uint32_t *parent)
{
    rz_assert(fan_out > 0);
    set_parents(0, n, fan_out, RZ_ID_NONE, parent);
}
