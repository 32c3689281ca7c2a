/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithm 3 of Katti et al.: symmetric push-sum counts the members that have detected a failure
 * and those that have reached consensus on it. Fixed point: halving loses nothing, so the mass of
 * all members and messages is constant to the last bit, and every machine finds the same.
 *
 * An instance of the count is a set of members that take mass from each other. As published
 * (before_only) there is one, in which each member has a weight of ONE. Otherwise it is the members
 * that know the same failures, and its least member has the whole weight: a member that learns of
 * another failure restarts.
 */
#include "proto/gossip/gossip_state.h"

#include "proto/mutation.h"
#include "base/assert.h"

#define MILLION 1000000
#define STRIDE 3
#define COUNT_SHIFT 30 /* WHOLE / ONE */

__extension__ typedef unsigned __int128 wide_t;

/* The least id that is not known failed; all members of one instance find the same. */
static rz_id leader_of(const struct rz_gossip *gossip)
{
    const uint64_t *ids = rz_gossip_ids(gossip);
    rz_id leader = 0;
    while (leader < gossip->n_failed && ids[leader] == leader) {
        leader++;
    }
    return leader;
}

uint64_t rz_gossip_sum_weight(const struct rz_gossip *gossip)
{
    if (gossip->config.before_only) {
        return RZ_GOSSIP_ONE;
    }
    return gossip->self == leader_of(gossip) ? RZ_GOSSIP_WHOLE : 0;
}

uint64_t rz_gossip_whole(const struct rz_gossip *gossip)
{
    uint64_t living = gossip->config.n_members - gossip->n_failed;
    return gossip->config.before_only ? living * RZ_GOSSIP_ONE : RZ_GOSSIP_WHOLE;
}

/* Whether mass that arrived with this list may be added. */
static bool of_instance(const struct rz_gossip *gossip, const uint64_t *items, uint32_t n_items,
                        uint32_t stride)
{
    return gossip->config.before_only || rz_gossip_items_same(gossip, items, n_items, stride);
}

bool rz_gossip_same_instance(const struct rz_gossip *a, const struct rz_gossip *b)
{
    return of_instance(a, rz_gossip_ids(b), b->n_failed, 1);
}

void rz_gossip_sum_grown(struct rz_gossip *gossip)
{
    if (gossip->config.before_only) {
        return;
    }
    struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    gossip->weight = rz_gossip_sum_weight(gossip);
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        entries[i].sum[0] = RZ_GOSSIP_ONE;
        entries[i].sum[1] = entries[i].phase > 1 ? RZ_GOSSIP_ONE : 0;
        entries[i].count = 0;
    }
    gossip->lent = false;
}

/* Takes the smaller half out. */
static uint64_t halve(uint64_t *value)
{
    uint64_t half = *value / 2;
    *value -= half;
    return half;
}

struct rz_gossip_payload rz_gossip_sum_halve(struct rz_gossip *gossip, uint64_t *items)
{
    struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    const uint64_t *ids = rz_gossip_ids(gossip);
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        items[STRIDE * i] = ids[i];
        items[STRIDE * i + 1] = halve(&entries[i].sum[0]);
        items[STRIDE * i + 2] = halve(&entries[i].sum[1]);
    }
    return (struct rz_gossip_payload){
        .items = items, .n_items = STRIDE * gossip->n_failed, .word = halve(&gossip->weight)};
}

struct rz_gossip_payload rz_gossip_sum_nothing(const struct rz_gossip *gossip, uint64_t *items)
{
    const uint64_t *ids = rz_gossip_ids(gossip);
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        items[STRIDE * i] = ids[i];
        items[STRIDE * i + 1] = items[STRIDE * i + 2] = 0;
    }
    return (struct rz_gossip_payload){.items = items, .n_items = STRIDE * gossip->n_failed};
}

struct rz_gossip_payload rz_gossip_sum_lend(struct rz_gossip *gossip)
{
    struct rz_gossip_payload payload = rz_gossip_sum_halve(gossip, rz_gossip_lent_items(gossip));
    gossip->weight_lent = payload.word;
    gossip->n_lent = gossip->n_failed;
    gossip->lent = true;
    return payload;
}

/* Failures that the items do not name got no mass. Both lists are sorted. */
static void add(struct rz_gossip *gossip, uint64_t weight, const uint64_t *items, uint32_t n_items)
{
    struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    const uint64_t *ids = rz_gossip_ids(gossip);
    bool by_place = RZ_MUTATED(gossip->config.mutations, RZ_GOSSIP_BY_PLACE);
    gossip->weight += weight;
    for (uint32_t i = 0, at = 0; i < gossip->n_failed && at < n_items; i++) {
        if (ids[i] != items[at] && !by_place) {
            continue;
        }
        entries[i].sum[0] += items[at + 1];
        entries[i].sum[1] += items[at + 2];
        at += STRIDE;
    }
}

void rz_gossip_sum_take_back(struct rz_gossip *gossip)
{
    if (gossip->lent && !RZ_MUTATED(gossip->config.mutations, RZ_GOSSIP_LOSE_HALF)) {
        add(gossip, gossip->weight_lent, rz_gossip_lent_items(gossip), STRIDE * gossip->n_lent);
    }
    gossip->lent = false;
}

void rz_gossip_sum_absorb(struct rz_gossip *gossip, uint64_t weight, const uint64_t *items,
                          uint32_t n_items)
{
    if (of_instance(gossip, items, n_items, STRIDE)) {
        add(gossip, weight, items, n_items);
    }
}

/* |s/w - m| <= eps m, with m living members, w > 0 as a share of the whole weight. If the whole
 * weight is m, m cancels. */
static bool within_tolerance(const struct rz_gossip *gossip, uint64_t sum)
{
    bool before_only = gossip->config.before_only;
    uint32_t living = gossip->config.n_members - gossip->n_failed;
    wide_t count = before_only ? sum : (wide_t)sum << COUNT_SHIFT;
    wide_t wanted = before_only ? gossip->weight : (wide_t)gossip->weight * living;
    wide_t off = count > wanted ? count - wanted : wanted - count;
    return gossip->weight > 0 && off * MILLION <= wanted * gossip->config.tolerance_ppm;
}

static void assess_entry(struct rz_gossip *gossip, struct rz_gossip_entry *entry)
{
    bool naive = RZ_MUTATED(gossip->config.mutations, RZ_GOSSIP_NAIVE_DIAGNOSIS);
    uint32_t window = naive ? 1 : gossip->config.window;
    uint32_t least = naive || entry->phase > 1 ? 0 : gossip->least;
    entry->count = within_tolerance(gossip, entry->sum[entry->phase - 1]) ? entry->count + 1 : 0;
    if (entry->count < window || gossip->cycle - gossip->since < least) {
        return;
    }
    if (entry->phase == 1) {
        entry->sum[1] += RZ_GOSSIP_ONE;
    }
    rz_gossip_promote(gossip, entry, entry->phase + 1);
}

void rz_gossip_sum_assess(struct rz_gossip *gossip)
{
    struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        if (entries[i].phase < 3) {
            assess_entry(gossip, &entries[i]);
        }
    }
}

struct rz_gossip_mass rz_gossip_mass(const struct rz_gossip *gossip, rz_id failed)
{
    const struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    const uint64_t *ids = rz_gossip_ids(gossip);
    struct rz_gossip_mass mass = {.weight = gossip->weight};
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        if (ids[i] == failed) {
            mass = (struct rz_gossip_mass){gossip->weight, entries[i].sum[0], entries[i].sum[1]};
        }
    }
    return mass;
}
