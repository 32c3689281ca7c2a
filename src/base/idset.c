/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorted sets of items: binary search, insertion, removal. */
#include "base/idset.h"

#include "base/assert.h"

#include <string.h>

uint32_t rz_items_lower_bound(const uint64_t *items, uint32_t n, uint64_t item)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (items[middle] < item) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool rz_items_contain(const uint64_t *items, uint32_t n, uint64_t item)
{
    uint32_t at = rz_items_lower_bound(items, n, item);
    return at < n && items[at] == item;
}

bool rz_items_insert(uint64_t *items, uint32_t *n, uint32_t max, uint64_t item)
{
    uint32_t at = rz_items_lower_bound(items, *n, item);
    if (at < *n && items[at] == item) {
        return false;
    }
    rz_assert(*n < max);
    memmove(items + at + 1, items + at, (*n - at) * sizeof(*items));
    items[at] = item;
    (*n)++;
    return true;
}

bool rz_items_remove(uint64_t *items, uint32_t *n, uint64_t item)
{
    uint32_t at = rz_items_lower_bound(items, *n, item);
    if (at >= *n || items[at] != item) {
        return false;
    }
    memmove(items + at, items + at + 1, (*n - at - 1) * sizeof(*items));
    (*n)--;
    return true;
}

bool rz_items_subset(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b)
{
    for (uint32_t i = 0; i < n_a; i++) {
        if (!rz_items_contain(b, n_b, a[i])) {
            return false;
        }
    }
    return true;
}
