/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithm 3 with failures before the first cycle only (before_only): all members hold weight from
 * the start, and exchange it whether or not they know the failure. The PING of each member in the
 * cycle is stored in its slot of halves; the target's answer replaces it.
 */
#include "scale/sum.h"

#include "proto/gossip/gossip.h"

#include <stdlib.h>

#define AHEAD 16 /* prefetch distance, in slots of halves */
#define MILLION 1000000

__extension__ typedef unsigned __int128 wide_t;

/* Halves in flight; the list, of one failed member or none, is a mark on the weight. */
struct halves {
    uint64_t detected, consensus, weight;
};
#define KNOWS (UINT64_C(1) << 63)     /* its list is not empty */
#define NO_ANSWER (UINT64_C(1) << 62) /* the ping will time out */
#define WEIGHT (NO_ANSWER - 1) /* 2^30 members together have less, because one is not alive */
#define NONE UINT64_MAX        /* no ping */

struct rz_scale_sum {
    struct rz_scale_rules rules;
    struct rz_scale_crew *crew;
    struct rz_scale_post *post;
    uint64_t cycle;
    rz_id observer; /* the least living member: its estimates are reported */
    struct rz_scale_sum_member *members;
    struct halves *halves;
    struct rz_scale_tally tally[RZ_SCALE_CREW_MAX];
};

/* ---- one member ---- */

/* Takes the smaller half out. */
static inline uint64_t halve(uint64_t *value)
{
    uint64_t half = *value / 2;
    *value -= half;
    return half;
}

static inline struct halves halve_all(struct rz_scale_sum_member *member)
{
    uint64_t list = member->phase > 0 ? KNOWS : 0;
    return (struct halves){halve(&member->detected), halve(&member->consensus),
                           halve(&member->weight) | list};
}

static void learn(const struct rz_scale_sum *sum, struct rz_scale_sum_member *member)
{
    member->phase = 1;
    member->since = (uint16_t)sum->cycle;
    member->detected = RZ_GOSSIP_ONE;
}

static inline void absorb(struct rz_scale_sum_member *member, const struct halves *halves)
{
    member->detected += halves->detected;
    member->consensus += halves->consensus;
    member->weight += halves->weight & WEIGHT;
}

/* |s/w - m| <= eps m, with m living members and w > 0 in shares of m. */
static bool within_tolerance(const struct rz_scale_rules *rules, uint64_t mass, uint64_t weight)
{
    uint64_t off = mass > weight ? mass - weight : weight - mass;
    return weight > 0 && (wide_t)off * MILLION <= (wide_t)weight * rules->tolerance_ppm;
}

static void assess(const struct rz_scale_sum *sum, struct rz_scale_sum_member *member,
                   struct rz_scale_tally *tally)
{
    const struct rz_scale_rules *rules = &sum->rules;
    uint64_t mass = member->phase == 1 ? member->detected : member->consensus;
    member->count = within_tolerance(rules, mass, member->weight) ? member->count + 1 : 0;
    if (member->count < rules->window ||
        (member->phase == 1 && sum->cycle - member->since < rules->least)) {
        return;
    }
    if (member->phase == 1) {
        member->consensus += RZ_GOSSIP_ONE;
    }
    tally->new_consensus += member->phase == 1;
    tally->new_committed += member->phase == 2;
    member->phase++;
    member->count = 0;
}

static bool awake(const struct rz_scale_sum_member *member)
{
    return !member->returned || (member->phase > 0 && member->phase < 3);
}

/* The answer to p's ping, or at the timeout its own halves, by which it learns of the failure. */
static void settle(const struct rz_scale_sum *sum, rz_id p)
{
    struct rz_scale_sum_member *member = &sum->members[p];
    const struct halves *halves = &sum->halves[p];
    if (halves->weight == NONE) {
        return;
    }
    if (member->phase == 0 && halves->weight & (KNOWS | NO_ANSWER)) {
        learn(sum, member);
    }
    absorb(member, halves);
}

static void end_cycle(const struct rz_scale_sum *sum, struct rz_scale_sum_member *member,
                      struct rz_scale_tally *tally)
{
    if (!awake(member)) {
        return;
    }
    if (member->phase > 0 && member->phase < 3) {
        assess(sum, member, tally);
    }
    bool unsettled = member->phase > 0 && member->phase < 3;
    if (!unsettled && sum->cycle >= sum->rules.initial) {
        member->returned = true;
    }
    if (sum->cycle >= sum->rules.cycles_max) {
        member->returned = true;
    }
}

/* ---- the part of a thread in a cycle ---- */

/* The message of p in the next cycle. */
static void begin_cycle(const struct rz_scale_sum *sum, rz_id p, struct rz_scale_tally *tally)
{
    struct rz_scale_sum_member *member = &sum->members[p];
    bool over = sum->cycle >= sum->rules.cycles_max;
    bool alone = member->phase > 0 && sum->rules.n_members == 2;
    bool pings = !over && awake(member);
    sum->halves[p] = pings && !alone ? halve_all(member) : (struct halves){.weight = NONE};
    tally->awake += pings;
}

static rz_id draw_again(const struct rz_scale_sum *sum, rz_id p, rz_id q)
{
    const struct rz_scale_rules *rules = &sum->rules;
    if (!(sum->halves[p].weight & KNOWS)) {
        sum->halves[p].weight |= NO_ANSWER;
        return RZ_ID_NONE;
    }
    for (uint32_t attempt = 1; q == rules->failed[0]; attempt++) {
        q = rz_gossip_target(rz_mix(rules->stem, p), rules->n_members, p, sum->cycle, attempt);
    }
    return q;
}

static void draw(void *user, uint32_t self, rz_id first, rz_id end, rz_id *to)
{
    struct rz_scale_sum *sum = user;
    uint64_t stem = sum->rules.stem, cycle = sum->cycle, pings = 0, replies = 0;
    uint32_t n = sum->rules.n_members;
    rz_id failed = sum->rules.failed[0];
    for (rz_id p = first; p < end; p++) {
        to[p - first] = rz_gossip_target(rz_mix(stem, p), n, p, cycle, 0);
    }
    for (rz_id p = first; p < end; p++) {
        if (sum->halves[p].weight == NONE) {
            to[p - first] = RZ_ID_NONE;
            continue;
        }
        if (to[p - first] == failed) {
            to[p - first] = draw_again(sum, p, failed);
        }
        pings++;
        replies += to[p - first] != RZ_ID_NONE;
    }
    sum->tally[self].pings += pings;
    sum->tally[self].replies += replies;
}

/* The halves for the answer are taken before the sender's are added. */
static void deliver(void *user, struct rz_scale_message *send_descs, uint32_t count)
{
    struct rz_scale_sum *sum = user;
    struct rz_scale_sum_member *members = sum->members;
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            __builtin_prefetch(&members[send_descs[i + AHEAD].to], 1);
        }
        struct rz_scale_sum_member *member = &members[send_descs[i].to];
        struct halves *halves = &sum->halves[send_descs[i].from], ping = *halves;
        if (ping.weight & KNOWS && member->phase == 0) {
            learn(sum, member);
        }
        *halves = halve_all(member);
        absorb(member, &ping);
    }
}

static const struct rz_scale_route route = {draw, deliver, NULL};

static double estimate(const struct rz_scale_sum *sum, const struct rz_scale_sum_member *member,
                       uint64_t mass)
{
    if (member->phase == 0 || member->weight == 0) {
        return 0;
    }
    return (double)mass / (double)member->weight * sum->rules.n_living;
}

static void turn_part(void *user, uint32_t self)
{
    struct rz_scale_sum *sum = user;
    struct rz_scale_part part = rz_scale_crew_part(sum->crew, self, sum->rules.n_members);
    struct rz_scale_tally tally = sum->tally[self];
    for (uint64_t p = part.first; p < part.end; p++) {
        struct rz_scale_sum_member *member = &sum->members[p];
        if (p == sum->rules.failed[0]) {
            sum->halves[p].weight = NONE;
            continue;
        }
        if (sum->cycle > 0) {
            settle(sum, (rz_id)p);
            if (p == sum->observer) {
                tally.estimate_detected = estimate(sum, member, member->detected);
                tally.estimate_consensus = estimate(sum, member, member->consensus);
            }
            end_cycle(sum, member, &tally);
        } else {
            member->weight = RZ_GOSSIP_ONE;
        }
        begin_cycle(sum, (rz_id)p, &tally);
        tally.detected += member->phase >= 1;
        tally.consensus += member->phase >= 2;
        tally.committed += member->phase == 3;
    }
    sum->tally[self] = tally;
}

static void cycle_part(void *user, uint32_t self)
{
    struct rz_scale_sum *sum = user;
    rz_scale_post_carry(sum->post, self, &route, sum);
    rz_scale_crew_meet(sum->crew);
    turn_part(sum, self);
}

/* ---- the whole ---- */

static uint64_t members_bytes(const struct rz_scale_sum *sum)
{
    return sum->rules.n_members * sizeof(struct rz_scale_sum_member);
}

static uint64_t halves_bytes(const struct rz_scale_sum *sum)
{
    return sum->rules.n_members * sizeof(struct halves);
}

static void sum_destroy(void *model)
{
    struct rz_scale_sum *sum = model;
    rz_scale_table_destroy(sum->members, members_bytes(sum));
    rz_scale_table_destroy(sum->halves, halves_bytes(sum));
    if (sum->post) {
        rz_scale_post_destroy(sum->post);
    }
    free(sum);
}

static void sum_up(struct rz_scale_sum *sum, struct rz_scale_tally *tally)
{
    *tally = (struct rz_scale_tally){0};
    for (uint32_t i = 0; i < rz_scale_crew_size(sum->crew); i++) {
        rz_scale_tally_add(tally, &sum->tally[i]);
        sum->tally[i] = (struct rz_scale_tally){0};
    }
}

static void *sum_create(const struct rz_scale_rules *rules, struct rz_scale_crew *crew)
{
    struct rz_scale_sum *sum = calloc(1, sizeof(*sum));
    if (!sum) {
        return NULL;
    }
    sum->rules = *rules;
    sum->crew = crew;
    sum->observer = rules->failed[0] == 0;
    sum->post = rz_scale_post_create(crew, rules->n_members);
    sum->members = rz_scale_table_create(members_bytes(sum));
    sum->halves = rz_scale_table_create(halves_bytes(sum));
    if (!sum->post || !sum->members || !sum->halves) {
        sum_destroy(sum);
        return NULL;
    }
    struct rz_scale_tally nothing;
    rz_scale_crew_do(crew, turn_part, sum);
    sum_up(sum, &nothing);
    return sum;
}

static bool sum_cycle(void *model, struct rz_scale_tally *tally)
{
    struct rz_scale_sum *sum = model;
    sum->cycle++;
    rz_scale_crew_do(sum->crew, cycle_part, sum);
    sum_up(sum, tally);
    return true;
}

static uint64_t sum_bytes(const void *model)
{
    const struct rz_scale_sum *sum = model;
    return sizeof(*sum) + rz_scale_post_bytes(sum->post) + members_bytes(sum) + halves_bytes(sum);
}

const struct rz_scale_model rz_scale_sum_model = {sum_create, sum_destroy, sum_cycle, sum_bytes};

struct rz_scale_sum_member rz_scale_sum_member(const struct rz_scale_sum *sum, rz_id p)
{
    return sum->members[p];
}
