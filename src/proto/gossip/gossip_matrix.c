/* SPDX-License-Identifier: BSD-3-Clause */
/* Algorithm 1 of Katti et al.: the matrix of detections, which member has detected which. */
#include "proto/gossip/gossip_state.h"

#include "proto/mutation.h"

static const uint64_t *row_of(const struct rz_gossip *gossip, const uint64_t *matrix, rz_id id)
{
    return matrix + (size_t)id * gossip->row_words;
}

static bool bit_of(const uint64_t *row, rz_id id)
{
    return row[id / 64] >> id % 64 & 1;
}

bool rz_gossip_detected_by(const struct rz_gossip *gossip, rz_id by, rz_id failed)
{
    return gossip->config.kind == RZ_GOSSIP_MATRIX &&
           bit_of(row_of(gossip, gossip->words, by), failed);
}

void rz_gossip_matrix_detect(struct rz_gossip *gossip, rz_id failed)
{
    gossip->words[(size_t)gossip->self * gossip->row_words + failed / 64] |= UINT64_C(1)
                                                                             << failed % 64;
}

bool rz_gossip_matrix_valid(const struct rz_gossip *gossip, const struct rz_message *message)
{
    return message->n_items == (uint64_t)gossip->config.n_members * gossip->row_words;
}

/* The bits that a word of the sender's row adds to the own row; bits beyond the last member do not
 * count. */
static uint64_t news_in(const struct rz_gossip *gossip, const struct rz_message *message,
                        const uint64_t *items, uint32_t word)
{
    uint64_t own = row_of(gossip, gossip->words, gossip->self)[word];
    uint64_t news = row_of(gossip, items, message->from)[word] & ~own;
    uint32_t n = gossip->config.n_members;
    if (word == n / 64) {
        news &= (UINT64_C(1) << n % 64) - 1;
    }
    return RZ_MUTATED(gossip->config.mutations, RZ_GOSSIP_NO_INDIRECT) ? 0 : news;
}

uint32_t rz_gossip_matrix_unknown(const struct rz_gossip *gossip, const struct rz_message *message,
                                  const uint64_t *items)
{
    uint32_t unknown = 0;
    for (uint32_t word = 0; word < gossip->row_words; word++) {
        unknown += (uint32_t)__builtin_popcountll(news_in(gossip, message, items, word));
    }
    return unknown;
}

void rz_gossip_matrix_merge(struct rz_gossip *gossip, const struct rz_message *message,
                            const uint64_t *items)
{
    for (uint32_t word = 0; word < gossip->row_words; word++) {
        uint64_t news = news_in(gossip, message, items, word);
        for (; news != 0; news &= news - 1) {
            rz_gossip_learn(gossip, 64 * word + (uint32_t)__builtin_ctzll(news), RZ_GOSSIP_HEARD);
        }
    }
    size_t n = message->n_items;
    for (size_t i = 0; i < n; i++) {
        gossip->words[i] |= items[i];
    }
}

struct rz_gossip_payload rz_gossip_matrix_payload(const struct rz_gossip *gossip)
{
    return (struct rz_gossip_payload){.items = gossip->words,
                                      .n_items = gossip->config.n_members * gossip->row_words};
}

/* Whether each member has detected `failed`, or has failed itself. */
static bool all_detected(const struct rz_gossip *gossip, rz_id failed)
{
    uint32_t n = gossip->config.n_members;
    rz_id assess = gossip->self;
    if (RZ_MUTATED(gossip->config.mutations, RZ_GOSSIP_OTHER_ROW)) {
        assess = (assess + 1) % n;
    }
    const uint64_t *down = row_of(gossip, gossip->words, assess);
    for (rz_id id = 0; id < n; id++) {
        if (!bit_of(down, id) && !bit_of(row_of(gossip, gossip->words, id), failed)) {
            return false;
        }
    }
    return true;
}

void rz_gossip_matrix_assess(struct rz_gossip *gossip)
{
    struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    const uint64_t *ids = rz_gossip_ids(gossip);
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        if (entries[i].phase == 1 && all_detected(gossip, (rz_id)ids[i])) {
            rz_gossip_promote(gossip, &entries[i], 2);
        }
    }
}
