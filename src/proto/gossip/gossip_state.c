/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a gossip member: its arrays, and the entries of members known failed. */
#include "proto/gossip/gossip_state.h"

#include "base/assert.h"
#include "base/idset.h"

#include <string.h>

#define ENTRY_WORDS (sizeof(struct rz_gossip_entry) / sizeof(uint64_t))
#define SUM_WORDS 3 /* payload of one failed member: id, s1, s2 */

static size_t matrix_words(enum rz_gossip_kind kind, uint32_t n)
{
    return kind == RZ_GOSSIP_MATRIX ? (size_t)n * ((n + 63) / 64) : 0;
}

static size_t words_each(enum rz_gossip_kind kind)
{
    return 2 + ENTRY_WORDS + (kind == RZ_GOSSIP_SUM ? (size_t)2 * SUM_WORDS : 0);
}

size_t rz_gossip_bytes(enum rz_gossip_kind kind, uint32_t n_members, uint32_t max)
{
    return sizeof(struct rz_gossip) +
           (matrix_words(kind, n_members) + max * words_each(kind)) * sizeof(uint64_t);
}

/* The array that follows `before` words for each failed member. */
static uint64_t *array_of(const struct rz_gossip *gossip, size_t before)
{
    const uint64_t *words = gossip->words +
                            matrix_words(gossip->config.kind, gossip->config.n_members) +
                            before * gossip->max;
    return (uint64_t *)(uintptr_t)words;
}

uint64_t *rz_gossip_ids(const struct rz_gossip *gossip)
{
    return array_of(gossip, 0);
}

uint64_t *rz_gossip_scratch(const struct rz_gossip *gossip)
{
    return array_of(gossip, 1);
}

struct rz_gossip_entry *rz_gossip_entries(const struct rz_gossip *gossip)
{
    return (struct rz_gossip_entry *)array_of(gossip, 2);
}

uint64_t *rz_gossip_lent_items(const struct rz_gossip *gossip)
{
    return array_of(gossip, 2 + ENTRY_WORDS);
}

uint64_t *rz_gossip_reply_items(const struct rz_gossip *gossip)
{
    return array_of(gossip, 2 + ENTRY_WORDS + SUM_WORDS);
}

void rz_gossip_grow(struct rz_gossip *gossip, size_t bytes)
{
    enum rz_gossip_kind kind = gossip->config.kind;
    uint32_t n = gossip->config.n_members, old = gossip->max;
    size_t fixed = rz_gossip_bytes(kind, n, 0);
    uint32_t max = (uint32_t)((bytes - fixed) / (words_each(kind) * sizeof(uint64_t)));
    rz_assert(max >= old);
    struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    uint64_t *lent = rz_gossip_lent_items(gossip);
    size_t n_lent = gossip->lent ? (size_t)SUM_WORDS * gossip->n_lent : 0;
    gossip->max = max;
    /* All arrays move to higher addresses: the last one first. */
    if (kind == RZ_GOSSIP_SUM) {
        memmove(rz_gossip_lent_items(gossip), lent, n_lent * sizeof(*lent));
        memset(rz_gossip_lent_items(gossip) + n_lent, 0,
               ((size_t)2 * SUM_WORDS * max - n_lent) * sizeof(*lent));
    }
    memmove(rz_gossip_entries(gossip), entries, gossip->n_failed * sizeof(*entries));
    memset(rz_gossip_ids(gossip) + gossip->n_failed, 0,
           (2 * (size_t)max - gossip->n_failed) * sizeof(uint64_t));
    memset(rz_gossip_entries(gossip) + gossip->n_failed, 0,
           (max - gossip->n_failed) * sizeof(*entries));
}

bool rz_gossip_has_room(const struct rz_gossip *gossip, uint32_t more, struct rz_actions *out)
{
    uint32_t used = gossip->n_failed;
    if (more <= gossip->max - used) {
        return true;
    }
    uint32_t max = 2 * gossip->max;
    out->need = rz_gossip_bytes(gossip->config.kind, gossip->config.n_members,
                                max - used >= more ? max : used + more);
    return false;
}

bool rz_gossip_knows(const struct rz_gossip *gossip, uint64_t id)
{
    return rz_items_contain(rz_gossip_ids(gossip), gossip->n_failed, id);
}

bool rz_gossip_learn(struct rz_gossip *gossip, uint64_t id, enum rz_gossip_how how)
{
    uint32_t n = gossip->n_failed;
    uint32_t at = rz_items_lower_bound(rz_gossip_ids(gossip), n, id);
    if (!rz_items_insert(rz_gossip_ids(gossip), &gossip->n_failed, gossip->max, id)) {
        return false;
    }
    struct rz_gossip_entry *entry = rz_gossip_entries(gossip) + at;
    memmove(entry + 1, entry, (n - at) * sizeof(*entry));
    *entry = (struct rz_gossip_entry){.sum = {RZ_GOSSIP_ONE}, .phase = 1, .how = (uint8_t)how};
    gossip->n_unsettled++;
    gossip->since = gossip->cycle;
    if (gossip->config.kind == RZ_GOSSIP_MATRIX) {
        rz_gossip_matrix_detect(gossip, (rz_id)id);
    }
    return true;
}

uint8_t rz_gossip_last_phase(const struct rz_gossip *gossip)
{
    return gossip->config.kind == RZ_GOSSIP_SUM ? 3 : 2;
}

void rz_gossip_promote(struct rz_gossip *gossip, struct rz_gossip_entry *entry, uint8_t phase)
{
    rz_assert(entry->phase + 1 == phase && phase <= rz_gossip_last_phase(gossip));
    entry->phase = phase;
    entry->count = 0;
    if (phase == rz_gossip_last_phase(gossip)) {
        gossip->n_unsettled--;
    }
}

bool rz_gossip_items_valid(const struct rz_gossip *gossip, const uint64_t *items, uint32_t n_items,
                           uint32_t stride)
{
    if (n_items % stride != 0) {
        return false;
    }
    for (uint32_t i = 0; i < n_items; i += stride) {
        if (items[i] >= gossip->config.n_members || (i > 0 && items[i] <= items[i - stride])) {
            return false;
        }
    }
    return true;
}

uint32_t rz_gossip_items_unknown(const struct rz_gossip *gossip, const uint64_t *items,
                                 uint32_t n_items, uint32_t stride)
{
    uint32_t unknown = 0;
    for (uint32_t i = 0; i < n_items; i += stride) {
        unknown += !rz_gossip_knows(gossip, items[i]);
    }
    return unknown;
}

bool rz_gossip_items_same(const struct rz_gossip *gossip, const uint64_t *items, uint32_t n_items,
                          uint32_t stride)
{
    if (n_items != stride * gossip->n_failed) {
        return false;
    }
    const uint64_t *ids = rz_gossip_ids(gossip);
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        if (items[i * stride] != ids[i]) {
            return false;
        }
    }
    return true;
}
