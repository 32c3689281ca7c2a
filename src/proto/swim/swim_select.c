/* SPDX-License-Identifier: BSD-3-Clause */
/* Random members: to probe, to ask for help, to send news to. */
#include "proto/swim/swim_state.h"

#define DRAWS_MAX 16

static bool may_get_gossip(const struct rz_swim *swim, const struct rz_swim_record *record,
                           rz_time now)
{
    return record->state < RZ_SWIM_FAILED ||
           (record->state == RZ_SWIM_FAILED &&
            now - record->changed_at < swim->config.gossip_to_failed);
}

static bool eligible(const struct rz_swim *swim, rz_id id, rz_id except, bool helpers, rz_time now)
{
    if (id == swim->self || id == except) {
        return false;
    }
    for (uint32_t i = 0; i < swim->n_to; i++) {
        if (swim->to[i] == id) {
            return false;
        }
    }
    const struct rz_swim_record *record = swim->n_records > 0 ? rz_swim_find(swim, id) : NULL;
    if (!record) {
        return true;
    }
    return helpers ? record->state == RZ_SWIM_ALIVE : may_get_gossip(swim, record, now);
}

/* A few draws; if these fail (few members are eligible), the first eligible one from a random
 * position on: small groups must not be without helpers. */
static rz_id draw_one(struct rz_swim *swim, rz_id except, bool helpers, rz_time now)
{
    uint32_t n = swim->config.n_members;
    for (uint32_t i = 0; i < DRAWS_MAX; i++) {
        rz_id id = (rz_id)rz_random_below(&swim->random, n);
        if (eligible(swim, id, except, helpers, now)) {
            return id;
        }
    }
    rz_id first = (rz_id)rz_random_below(&swim->random, n);
    for (uint32_t i = 0; i < n; i++) {
        rz_id id = (rz_id)(((uint64_t)first + i) % n);
        if (eligible(swim, id, except, helpers, now)) {
            return id;
        }
    }
    return RZ_ID_NONE;
}

void rz_swim_draw(struct rz_swim *swim, uint32_t count, rz_id except, bool helpers, rz_time now)
{
    while (count-- > 0) {
        rz_id id = draw_one(swim, except, helpers, now);
        if (id == RZ_ID_NONE) {
            return;
        }
        swim->to[swim->n_to++] = id;
    }
}

rz_id rz_swim_next_target(struct rz_swim *swim)
{
    uint32_t n = swim->config.n_members;
    if (swim->n_gone >= n - 1) {
        return RZ_ID_NONE;
    }
    for (uint32_t i = 0; i < 2 * (uint64_t)n; i++) {
        if (swim->cursor == n) {
            swim->cursor = 0;
            swim->key = rz_random_next(&swim->random);
        }
        rz_id id = rz_swim_order(swim->key, n, swim->cursor++);
        if (id != swim->self && !rz_swim_is_gone(swim, id)) {
            return id;
        }
    }
    return RZ_ID_NONE;
}
