/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitions of the daemons, and the quorum of recovery: each side considers the other failed, by
 * silence, each member at its own time, while messages from before are still in flight. The other
 * scenarios of recover have a perfect detector, and so no partition.
 */
#include "sim/sim.h"

#include "base/assert.h"
#include "base/status.h"
#include "proto/recover/recover.h"
#include "sim/mutants.h"

RZ_SIM_PROTOCOL(recover, RZ_PROTOCOL_RECOVER);

#define MEMBERS_MAX 16
#define VIEW 9

enum {
    HEARSAY = 1, /* each member may hear, too, that it is held for failed itself */
    ASKS = 2     /* the members ask before they report, and are told what others report */
};
#define MUTATIONS(mutations) ((uint64_t)(mutations) << 32)

struct record {
    uint32_t one_side;            /* bit set of the members on the side of member 0 */
    uint8_t stopped[MEMBERS_MAX]; /* 1: told to stop */
};

static bool wants(const struct rz_sim *sim, uint64_t what)
{
    return rz_sim_scenario(sim)->parameter & what;
}

static const void *config(struct rz_sim *sim, rz_id member)
{
    static struct rz_recover_config made;
    static const uint32_t placement[1] = {0};
    static uint32_t slots[MEMBERS_MAX];
    (void)member;
    for (rz_id d = 0; d < MEMBERS_MAX; d++) {
        slots[d] = 1;
    }
    made = (struct rz_recover_config){
        .n_daemons = rz_sim_members(sim),
        .n_ranks = 1,
        .n_slots = 1,
        .view = VIEW,
        .tie_breaker = RZ_ID_NONE,
        .placement = placement,
        .slots = slots,
        .mutations = (uint32_t)(rz_sim_scenario(sim)->parameter >> 32),
    };
    return &made;
}

static bool same_side(const struct record *record, rz_id a, rz_id b)
{
    return (record->one_side >> a & 1) == (record->one_side >> b & 1);
}

static void start(struct rz_sim *sim)
{
    struct record *record = rz_sim_record(sim);
    uint32_t n = rz_sim_members(sim);
    record->one_side = 1 | (uint32_t)rz_sim_random(sim, UINT64_C(1) << (n - 1)) << 1;
    if (record->one_side == (UINT32_C(1) << n) - 1) {
        record->one_side = 1;
    }
    for (rz_id a = 0; a < n; a++) {
        for (rz_id b = 0; b < n; b++) {
            const struct rz_sim_call suspect = {.call = RZ_RECOVER_SUSPECT, .arg = {b, true}};
            if (same_side(record, a, b)) {
                continue;
            }
            if (wants(sim, ASKS)) {
                rz_sim_call(sim, a, &suspect);
            } else {
                rz_sim_tell(sim, a, b);
            }
        }
        if (wants(sim, HEARSAY) && rz_sim_random(sim, 4) > 0) {
            rz_sim_tell(sim, a, a);
        }
    }
}

/* A partition gives no proof; the end of a stopping daemon does, on its own side. */
static uint64_t failure_arg(struct rz_sim *sim, rz_id observer, rz_id failed)
{
    const struct record *record = rz_sim_record(sim);
    return record->stopped[failed] && same_side(record, observer, failed);
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    struct record *record = rz_sim_record(sim);
    for (rz_id other = 0; notice->what == RZ_RECOVER_REPORT && other < rz_sim_members(sim);
         other++) {
        rz_sim_tell(sim, other, (rz_id)notice->arg[0]);
    }
    if (notice->what != RZ_RECOVER_STOP) {
        return;
    }
    record->stopped[member] = 1;
    for (rz_id other = 0; other < rz_sim_members(sim); other++) {
        if (other != member && same_side(record, other, member)) {
            rz_sim_tell(sim, other, member);
        }
    }
    rz_sim_halt(sim, member);
}

/* The side with the quorum: more than half, or half with member 0. */
static bool is_winner(struct rz_sim *sim, rz_id member)
{
    const struct record *record = rz_sim_record(sim);
    uint32_t n = rz_sim_members(sim);
    uint32_t first = (uint32_t)__builtin_popcount(record->one_side);
    return same_side(record, 0, member) == (2 * first >= n);
}

/* Whether a is alive and has decided, with a quorum, to continue without b. */
static bool goes_on_without(struct rz_sim *sim, rz_id a, rz_id b)
{
    return rz_sim_alive(sim, a) && rz_recover_daemon_agreed_failed(rz_sim_state(sim, a), b);
}

/* At the end. A decision in which members of both sides took part may be taken on both sides,
 * differently: the next one still counts the members that it considers silent, and stops one side.
 */
static bool one_side_at_most(struct rz_sim *sim)
{
    for (rz_id a = 0; a < rz_sim_members(sim); a++) {
        for (rz_id b = 0; b < a; b++) {
            if (goes_on_without(sim, a, b) && goes_on_without(sim, b, a)) {
                return rz_sim_say(sim, "%u and %u go on, each without the other", b, a);
            }
        }
    }
    return true;
}

/* Of two daemons the one that breaks the tie continues, and the other one stops. Of more nothing is
 * required: a failure known to one side before the cut may cost the other its quorum, and news that
 * are not spread here would end waiting members (docs/protocols/recover.md, "Partitions"). */
static bool liveness(struct rz_sim *sim)
{
    const struct record *record = rz_sim_record(sim);
    for (rz_id member = 0; member < 2 && rz_sim_members(sim) == 2; member++) {
        if (record->stopped[member] == is_winner(sim, member)) {
            return rz_sim_say(sim, "%u %s", member,
                              record->stopped[member] ? "stops, though its side has the quorum"
                                                      : "goes on, though its side has no quorum");
        }
    }
    return one_side_at_most(sim);
}

static const char *message_name(uint8_t type)
{
    static const char *const names[] = {"UP",
                                        "DOWN",
                                        "REQUEST",
                                        [RZ_RECOVER_DOUBT] = "DOUBT",
                                        [RZ_RECOVER_ASK] = "ASK",
                                        [RZ_RECOVER_HERE] = "HERE"};
    return type < sizeof(names) / sizeof(*names) ? names[type] : NULL;
}

static const char *notice_name(uint32_t what)
{
    static const char *const names[] = {"EPOCH",     "PHASE",  "FAILURES", "STOP",
                                        "REQUESTED", "SPAWNS", "ASKING",   "REPORT"};
    return what < sizeof(names) / sizeof(*names) ? names[what] : NULL;
}

#define COMMON                                                                                     \
    .protocol = &rz_protocol_recover, .members_max = MEMBERS_MAX, .fenced = true,                  \
    .record_bytes = sizeof(struct record), .config = config, .start = start, .notified = notified, \
    .failure_arg = failure_arg, .liveness = liveness, .message_name = message_name,                \
    .notice_name = notice_name

#define MUTANT(mutation, what, n, parameters)                                                      \
    {                                                                                              \
        COMMON, .name = "mutant-" what, .summary = what ": must be caught", .members = n,          \
                .violation_expected = true, .parameter = MUTATIONS(mutation) | (parameters)        \
    }

const struct rz_sim_scenario rz_recover_parted_scenarios[] = {
    {.name = "parted",
     .summary =
         "the members part in two while messages are on their way: never do both sides go on",
     .members = 5,
     COMMON},
    {.name = "parted-two",
     .summary = "each of two holds the other for failed, and hears that it is: one goes on",
     .members = 2,
     .parameter = HEARSAY,
     COMMON},
    {.name = "parted-asking",
     .summary = "the members ask each other before they report, across the cut, too",
     .members = 5,
     .parameter = ASKS,
     COMMON},
    MUTANT(RZ_RECOVER_OBEY_ANY, "obey-any", 2, HEARSAY),
    MUTANT(RZ_RECOVER_ANY_HALF, "any-half", 4, 0),
    MUTANT(RZ_RECOVER_NO_ELECTORATE, "no-electorate", 5, 0),
};
const size_t rz_recover_parted_scenarios_count =
    sizeof(rz_recover_parted_scenarios) / sizeof(*rz_recover_parted_scenarios);
