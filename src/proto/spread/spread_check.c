/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of reliable broadcast: no invented item, and no lost one. */
#include "proto/spread/spread_check.h"

#include "base/idset.h"
#include "proto/spread/spread.h"

#include <string.h>

bool rz_spread_check_no_invention(const struct rz_check_group *group, const uint64_t *broadcast,
                                  uint32_t n)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id]) {
            continue;
        }
        uint32_t n_known;
        const uint64_t *known = rz_spread_known(group->state[id], &n_known);
        if (rz_items_subset(known, n_known, broadcast, n)) {
            continue;
        }
        return rz_check_say(group, "%u knows an item that no member broadcast", id);
    }
    return true;
}

bool rz_spread_check_delivered(const struct rz_check_group *group, const uint8_t *delivered)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id]) {
            continue;
        }
        uint32_t n_known;
        rz_spread_known(group->state[id], &n_known);
        if (n_known == delivered[id]) {
            continue;
        }
        return rz_check_say(group, "%u knows %u items and told its host %u", id, n_known,
                            delivered[id]);
    }
    return true;
}

bool rz_spread_check_all_know(const struct rz_check_group *group)
{
    const uint64_t *first = NULL;
    uint32_t n_first = 0;
    rz_id first_id = RZ_ID_NONE;
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id]) {
            continue;
        }
        uint32_t n_known;
        const uint64_t *known = rz_spread_known(group->state[id], &n_known);
        if (!first) {
            first = known;
            n_first = n_known;
            first_id = id;
        } else if (n_known != n_first || memcmp(known, first, n_known * sizeof(*known)) != 0) {
            return rz_check_say(group, "%u knows %u items, %u knows %u (or others)", first_id,
                                n_first, id, n_known);
        }
    }
    return true;
}
