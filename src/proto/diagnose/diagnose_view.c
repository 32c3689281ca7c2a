/* SPDX-License-Identifier: BSD-3-Clause */
/* The view of a computing round, from the lists of the members that have arrived. */
#include "proto/diagnose/diagnose_private.h"

#include "base/assert.h"

#include <string.h>

bool rz_diagnose_are_counters(uint32_t n_members, const uint64_t *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (items[i] >> 32 >= n_members || (uint32_t)items[i] > RZ_DIAGNOSE_COUNTER_MAX ||
            (i > 0 && items[i] >> 32 <= items[i - 1] >> 32)) {
            return false;
        }
    }
    return true;
}

static void raise_to(uint32_t *counter, uint32_t to)
{
    *counter = to > *counter ? to : *counter;
}

/* The sender's own counter comes first: with it, a readmission that an earlier list has missed
 * cancels that list's report, and a member that considers itself non-recommended does not count for
 * others. */
void rz_diagnose_join(uint32_t n_members, uint32_t n_lists, const struct rz_diagnose_list *lists,
                      uint32_t *counters)
{
    bool any = false;
    rz_assert(n_lists > 0);
    memset(counters, 0, n_members * sizeof(*counters));
    for (uint32_t l = 0; l < n_lists; l++) {
        const struct rz_diagnose_list *list = &lists[l];
        rz_assert(list->from < n_members && (l == 0 || list->from > lists[l - 1].from));
        rz_assert(rz_diagnose_are_counters(n_members, list->items, list->n_items));
        raise_to(&counters[list->from], rz_diagnose_listed(list->items, list->n_items, list->from));
        if (counters[list->from] % 2 == 1) {
            continue;
        }
        any = true;
        for (uint32_t i = 0; i < list->n_items; i++) {
            raise_to(&counters[list->items[i] >> 32], (uint32_t)list->items[i]);
        }
    }
    if (!any) {
        counters[lists[0].from]++;
    }
}
