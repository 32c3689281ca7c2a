/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorted sets of 64-bit items in memory of the caller: they grow with failures, not with members.
 */
#ifndef RZ_BASE_IDSET_H
#define RZ_BASE_IDSET_H

#include <rhizome/types.h>

/* The index of item in the n sorted items, or the index to insert it at. */
uint32_t rz_items_lower_bound(const uint64_t *items, uint32_t n, uint64_t item);

/* Whether item is one of the n sorted items. */
bool rz_items_contain(const uint64_t *items, uint32_t n, uint64_t item);

/* Inserts item into *n sorted items of capacity max; true if it was new. Asserts that it fits. */
bool rz_items_insert(uint64_t *items, uint32_t *n, uint32_t max, uint64_t item);

/* Removes item; true if it was in the set. */
bool rz_items_remove(uint64_t *items, uint32_t *n, uint64_t item);

/* Whether all of a (sorted) are in b (sorted). */
bool rz_items_subset(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b);

#endif
