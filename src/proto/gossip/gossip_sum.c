/*
 * Algorithm 3: symmetric push-sum counts who has detected a failure and who has reached consensus
 * on it. Fixed point: halving loses nothing, so the mass of all members and messages is constant to
 * the last bit, and every machine finds the same.
 */
#include "proto/gossip/gossip_state.h"

#include "base/assert.h"

#define MILLION 1000000
#define STRIDE 3
#define COUNT_SHIFT 30 /* WHOLE / ONE */

__extension__ typedef unsigned __int128 wide_t;

/* The least id that is not known failed; all of one instance find the same. */
static rz_id leader_of(const struct rz_gossip *gossip)
{
    const uint64_t *ids = rz_gossip_ids(gossip);
    rz_id leader = 0;
    while (leader < gossip->n_failed && ids[leader] == leader)
        leader++;
    return leader;
}

void rz_gossip_sum_restart(struct rz_gossip *gossip)
{
    struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    gossip->weight = gossip->self == leader_of(gossip) ? RZ_GOSSIP_WHOLE : 0;
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
    gossip->lent = true;
    return payload;
}

static void add(struct rz_gossip *gossip, uint64_t weight, const uint64_t *items)
{
    struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    gossip->weight += weight;
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        entries[i].sum[0] += items[STRIDE * i + 1];
        entries[i].sum[1] += items[STRIDE * i + 2];
    }
}

void rz_gossip_sum_take_back(struct rz_gossip *gossip)
{
    if (gossip->lent && !(gossip->config.mutations & RZ_GOSSIP_LOSE_HALF))
        add(gossip, gossip->weight_lent, rz_gossip_lent_items(gossip));
    gossip->lent = false;
}

void rz_gossip_sum_absorb(struct rz_gossip *gossip, uint64_t weight, const uint64_t *items,
                          uint32_t n_items)
{
    if (rz_gossip_items_same(gossip, items, n_items, STRIDE))
        add(gossip, weight, items);
}

/* |s/w - m| <= eps m, with m living members and w > 0. */
static bool within_tolerance(const struct rz_gossip *gossip, uint64_t sum)
{
    uint32_t living = gossip->config.n_members - gossip->n_failed;
    wide_t count = (wide_t)sum << COUNT_SHIFT;
    wide_t wanted = (wide_t)gossip->weight * living;
    wide_t off = count > wanted ? count - wanted : wanted - count;
    return gossip->weight > 0 && off * MILLION <= wanted * gossip->config.tolerance_ppm;
}

static void judge_entry(struct rz_gossip *gossip, struct rz_gossip_entry *entry)
{
    bool naive = gossip->config.mutations & RZ_GOSSIP_NAIVE_VERDICT;
    uint32_t window = naive ? 1 : gossip->config.window;
    uint32_t least = naive || entry->phase > 1 ? 0 : gossip->least;
    entry->count = within_tolerance(gossip, entry->sum[entry->phase - 1]) ? entry->count + 1 : 0;
    if (entry->count < window || gossip->cycle - gossip->since < least)
        return;
    if (entry->phase == 1)
        entry->sum[1] += RZ_GOSSIP_ONE;
    rz_gossip_promote(gossip, entry, entry->phase + 1);
}

void rz_gossip_sum_judge(struct rz_gossip *gossip)
{
    struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    for (uint32_t i = 0; i < gossip->n_failed; i++)
        if (entries[i].phase < 3)
            judge_entry(gossip, &entries[i]);
}

struct rz_gossip_mass rz_gossip_mass(const struct rz_gossip *gossip, rz_id failed)
{
    const struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    const uint64_t *ids = rz_gossip_ids(gossip);
    struct rz_gossip_mass mass = {.weight = gossip->weight};
    for (uint32_t i = 0; i < gossip->n_failed; i++)
        if (ids[i] == failed)
            mass = (struct rz_gossip_mass){gossip->weight, entries[i].sum[0], entries[i].sum[1]};
    return mass;
}
