/* SPDX-License-Identifier: BSD-3-Clause */
/* Algorithm 2 of Katti et al.: an initial phase that is long enough with high probability, then
 * consensus by a count of consecutive messages that list the failure. */
#include "proto/gossip/gossip_state.h"

#include "base/idset.h"

/* The message that brings a new id leaves its count at 0. */
static void count_message(struct rz_gossip *gossip, const uint64_t *items, uint32_t n_items)
{
    struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    const uint64_t *ids = rz_gossip_ids(gossip);
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        if (entries[i].phase == 1) {
            entries[i].count = rz_items_contain(items, n_items, ids[i]) ? entries[i].count + 1 : 0;
        }
    }
}

void rz_gossip_list_merge(struct rz_gossip *gossip, const uint64_t *items, uint32_t n_items)
{
    if (gossip->cycle > gossip->config.initial) {
        count_message(gossip, items, n_items);
    }
    for (uint32_t i = 0; i < n_items; i++) {
        rz_gossip_learn(gossip, items[i], RZ_GOSSIP_HEARD);
    }
}

struct rz_gossip_payload rz_gossip_list_payload(const struct rz_gossip *gossip)
{
    return (struct rz_gossip_payload){.items = rz_gossip_ids(gossip), .n_items = gossip->n_failed};
}

void rz_gossip_list_assess(struct rz_gossip *gossip)
{
    struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        if (entries[i].phase == 1 && entries[i].count >= gossip->config.window) {
            rz_gossip_promote(gossip, &entries[i], 2);
        }
    }
}
