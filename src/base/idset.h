/* Sorted sets of 64-bit items in memory of the caller: they grow with failures, not with members.
 */
#ifndef RZ_BASE_IDSET_H
#define RZ_BASE_IDSET_H

#include <rhizome/types.h>

/* Where item stands in the n sorted items, or where it would be inserted. */
uint32_t rz_items_lower_bound(const uint64_t *items, uint32_t n, uint64_t item);

/* Whether item is one of the n sorted items. */
bool rz_items_contain(const uint64_t *items, uint32_t n, uint64_t item);

/* Insert item into *n sorted items with room for max; true when it was new. Asserts that it fits.
 */
bool rz_items_insert(uint64_t *items, uint32_t *n, uint32_t max, uint64_t item);

/* Remove item; true when it was there. */
bool rz_items_remove(uint64_t *items, uint32_t *n, uint64_t item);

/* Whether all of a (sorted) are in b (sorted). */
bool rz_items_subset(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b);

#endif
