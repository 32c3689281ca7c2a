/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenarios of reliable broadcast: the broadcasts, and what must be known at the end. */
#include "sim/sim.h"

#include "base/assert.h"
#include "base/idset.h"
#include "proto/spread/spread.h"
#include "proto/spread/spread_check.h"
#include "sim/mutants.h"

#include <string.h>

RZ_SIM_PROTOCOL(spread, RZ_PROTOCOL_SPREAD);

#define MEMBERS_MAX 256
#define VIEW 7

/* The broadcasts of a scenario, whether members defer sends outside the tree, and their mutations
 * (parameter). */
enum { ONE, MANY, LATE };
#define PARAMETER(what, mutations) ((what) | (mutations) << 8)

/* The delay, if time has no unit: most messages are faster, some are not. In small worlds time is
 * counted in ticks. */
enum { LATE_BY = 200, LATE_BY_TICKS = 1 };

static bool wants(const struct rz_sim *sim, uint64_t what)
{
    return rz_sim_scenario(sim)->parameter & what;
}

/* Memory of the hosts: the number of items delivered to each. The items themselves are a function
 * of the scenario. */
struct record {
    uint8_t delivered[MEMBERS_MAX];
};

static const void *config(struct rz_sim *sim, rz_id member)
{
    static struct rz_spread_config made;
    rz_time late_by = rz_sim_scenario(sim)->tick > 0 ? LATE_BY_TICKS : LATE_BY;
    (void)member;
    made = (struct rz_spread_config){.n_members = rz_sim_members(sim),
                                     .view = VIEW,
                                     .items_max = 1,
                                     .redundant_after = wants(sim, LATE) ? late_by : 0,
                                     .mutations = (uint32_t)(rz_sim_scenario(sim)->parameter >> 8)};
    return &made;
}

static void broadcast(struct rz_sim *sim, rz_id member, const uint64_t *items, uint32_t n)
{
    struct rz_sim_call call = {.call = RZ_SPREAD_BROADCAST, .items = items, .n_items = n};
    rz_sim_call(sim, member % rz_sim_members(sim), &call);
}

/* Two items by one call, out of order; one item by two members. */
static void start(struct rz_sim *sim)
{
    static const uint64_t first[] = {100}, second[] = {102, 101}, again[] = {100, 103};
    broadcast(sim, 0, first, 1);
    if (!wants(sim, MANY)) {
        return;
    }
    broadcast(sim, 5, second, 2);
    broadcast(sim, 9, again, 2);
}

static bool broadcast_item(uint64_t item)
{
    return item >= 100 && item < 104;
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    struct record *record = rz_sim_record(sim);
    rz_assert(notice->what == RZ_SPREAD_DELIVER && notice->n_items > 0);
    for (uint32_t i = 0; i < notice->n_items; i++) {
        rz_assert(broadcast_item(notice->items[i]));
    }
    record->delivered[member] = (uint8_t)(record->delivered[member] + notice->n_items);
}

static bool safety(struct rz_sim *sim)
{
    static const uint64_t all[] = {100, 101, 102, 103};
    const struct rz_check_group *group = rz_sim_group(sim);
    const struct record *record = rz_sim_record(sim);
    return rz_spread_check_no_invention(group, all, 4) &&
           rz_spread_check_delivered(group, record->delivered);
}

static bool liveness(struct rz_sim *sim)
{
    return rz_spread_check_all_know(rz_sim_group(sim));
}

static const char *message_name(uint8_t type)
{
    return type == RZ_SPREAD_NEWS ? "NEWS" : NULL;
}

static const char *call_name(uint32_t call)
{
    return call == RZ_SPREAD_BROADCAST ? "BROADCAST" : NULL;
}

static const char *notice_name(uint32_t what)
{
    return what == RZ_SPREAD_DELIVER ? "DELIVER" : NULL;
}

/* Known items stay known: a message without new items will never have any. */
static bool message_void(struct rz_sim *sim, rz_id member, const struct rz_message *message,
                         const uint64_t *items)
{
    const void *state = rz_sim_state(sim, member);
    for (uint32_t i = 0; i < message->n_items; i++) {
        if (!rz_spread_knows(state, items[i])) {
            return false;
        }
    }
    return true;
}

/* The origin determines the order of the destinations. */
static void simplify(struct rz_message *message)
{
    message->origin = 0;
}

#define COMMON                                                                                     \
    .protocol = &rz_protocol_spread, .members_max = MEMBERS_MAX,                                   \
    .record_bytes = sizeof(struct record), .config = config, .start = start, .notified = notified, \
    .safety = safety, .liveness = liveness, .message_name = message_name, .call_name = call_name,  \
    .notice_name = notice_name

#define CLAIMS .claims = {.message_void = message_void, .copies_void = true, .simplify = simplify}

/* A member with deferred items learns from a message that it need not send them: no message is
 * void. */
#define LATER COMMON, .timer_slack = 100
#define TICKS COMMON, .latency_max = 1, .tick = 1, .news_max = 2, .crash_until = 4, .horizon = 16

const struct rz_sim_scenario rz_spread_scenarios[] = {
    {.name = "one",
     .summary = "one item",
     .members = 4,
     .crashes = 3,
     .parameter = ONE,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     COMMON,
     CLAIMS,
     .claims.news_first = true},
    {.name = "many",
     .summary = "four items of three members, one of them twice",
     .members = 12,
     .crashes = 11,
     .parameter = MANY,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     COMMON,
     CLAIMS},
    {.name = "rough",
     .summary = "four items; messages come twice, links are slow, members stop, racks fail",
     .members = 12,
     .crashes = 11,
     .rack = 3,
     .faults = {.until = 2000, .duplication = 300, .pauses = 4, .slow = 3000},
     .parameter = MANY,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     COMMON,
     CLAIMS},
    {.name = "undetected",
     .summary = "no member learns of failures: fewer than a member's neighbours do no harm",
     .members = 12,
     .crashes = 5,
     .parameter = MANY,
     COMMON,
     CLAIMS},
    {.name = "undetected-one",
     .summary =
         "one item, no member learns of failures: fewer than a member's neighbours do no harm",
     .members = 6,
     .crashes = 3,
     .parameter = ONE,
     COMMON,
     CLAIMS},
    {.name = "late",
     .summary = "four items, beside the tree later",
     .members = 12,
     .crashes = 11,
     .parameter = MANY | LATE,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     LATER},
    {.name = "late-rough",
     .summary =
         "beside the tree later; messages come twice, links are slow, members stop, racks fail",
     .members = 12,
     .crashes = 11,
     .rack = 3,
     .faults = {.until = 2000, .duplication = 300, .pauses = 4, .slow = 3000},
     .parameter = MANY | LATE,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     LATER},
    {.name = "late-undetected",
     .summary =
         "beside the tree later, no member learns of failures: fewer than neighbours do no harm",
     .members = 12,
     .crashes = 5,
     .parameter = MANY | LATE,
     LATER},
    {.name = "late-small",
     .summary = "one item, beside the tree a tick later",
     .members = 3,
     .crashes = 2,
     .parameter = ONE | LATE,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     TICKS},
    {.name = "mutant-undetected",
     .summary = "no member learns of failures, as many as a member's neighbours",
     .members = 6,
     .crashes = 4,
     .parameter = ONE,
     .violation_expected = true,
     COMMON,
     CLAIMS},
    {.name = "mutant-offsets",
     .summary = "distances 2^k - 1: fewer undetected failures than D(n) do harm",
     .members = 6,
     .crashes = 3,
     .parameter = PARAMETER(ONE, RZ_SPREAD_WRONG_OFFSETS),
     .violation_expected = true,
     COMMON,
     CLAIMS},
    {.name = "mutant-mark-late",
     .summary = "an item is marked known after it was sent on",
     .members = 6,
     .crashes = 2,
     .parameter = PARAMETER(ONE, RZ_SPREAD_MARK_LATE),
     .violation_expected = true,
     COMMON,
     CLAIMS},
    {.name = "mutant-equal-sets",
     .summary = "a message that is part of what is known is taken for new",
     .members = 6,
     .crashes = 2,
     .parameter = PARAMETER(MANY, RZ_SPREAD_EQUAL_SETS),
     .violation_expected = true,
     COMMON,
     CLAIMS},
    {.name = "mutant-open-ring",
     .summary = "the ring is not closed over the failed",
     .members = 6,
     .crashes = 4,
     .parameter = PARAMETER(ONE, RZ_SPREAD_OPEN_RING),
     .detector = RZ_SIM_DETECTOR_PERFECT,
     .violation_expected = true,
     COMMON,
     CLAIMS},
    {.name = "mutant-tree-only",
     .summary = "what was put off is never sent",
     .members = 6,
     .crashes = 2,
     .parameter = PARAMETER(ONE | LATE, RZ_SPREAD_TREE_ONLY),
     .detector = RZ_SIM_DETECTOR_PERFECT,
     .violation_expected = true,
     LATER},
};
const size_t rz_spread_scenarios_count = sizeof(rz_spread_scenarios) / sizeof(*rz_spread_scenarios);
