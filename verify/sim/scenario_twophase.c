/* SPDX-License-Identifier: BSD-3-Clause */
/* The two-phase commit under every schedule, and mutants that must be caught. */
#include "proto/twophase/twophase_check.h"
#include "sim/sim.h"
#include "sim/mutants.h"

RZ_SIM_PROTOCOL(twophase, RZ_PROTOCOL_TWOPHASE);

#define MEMBERS_MAX 64
#define VIEW 7

/* Packed into struct rz_sim_scenario.parameter. */
#define PARAMETER(mutations, operations) ((mutations) | (operations) << 8)
#define EXTREMES (1 << 16)

struct record {
    uint8_t queued[MEMBERS_MAX]; /* votes handed to each member so far */
};

static uint64_t operations_of(struct rz_sim *sim)
{
    return rz_sim_scenario(sim)->parameter >> 8 & 0xFF;
}

static const void *config_of(struct rz_sim *sim, rz_id member)
{
    static struct rz_twophase_config config;
    (void)member;
    config = (struct rz_twophase_config){
        .n_members = rz_sim_members(sim),
        .view = VIEW,
        .extremes = (rz_sim_scenario(sim)->parameter & EXTREMES) != 0,
        .mutations = (uint32_t)(rz_sim_scenario(sim)->parameter & 0xFF)};
    return &config;
}

static uint64_t proposal_of(rz_id member, uint64_t seq)
{
    return ~(UINT64_C(1) << (member + seq) % 64);
}

static void propose_next(struct rz_sim *sim, rz_id member)
{
    struct record *record = rz_sim_record(sim);
    if (record->queued[member] == operations_of(sim)) {
        return;
    }
    uint64_t vote = proposal_of(member, ++record->queued[member]);
    struct rz_sim_call call = {.call = RZ_TWOPHASE_PROPOSE, .arg = {vote, vote, vote}};
    rz_sim_call(sim, member, &call);
}

static void start(struct rz_sim *sim)
{
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        propose_next(sim, member);
    }
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    if (notice->what == RZ_TWOPHASE_DECIDED) {
        propose_next(sim, member);
    }
}

static bool safety(struct rz_sim *sim)
{
    return rz_twophase_check(rz_sim_group(sim), proposal_of);
}

static bool liveness(struct rz_sim *sim)
{
    if (!rz_twophase_check_liveness(rz_sim_group(sim))) {
        return false;
    }
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        const struct rz_twophase *twophase = rz_sim_state(sim, member);
        if (twophase && rz_twophase_decided(twophase) != operations_of(sim)) {
            return rz_sim_say(sim, "T-5: %u has decided %llu operations", member,
                              (unsigned long long)rz_twophase_decided(twophase));
        }
    }
    return true;
}

static const char *message_name(uint8_t type)
{
    static const char *const names[] = {"VOTE", "DECISION", "QUERY", "GATHER", "ABORT", "ASK"};
    return type < sizeof(names) / sizeof(*names) ? names[type] : "?";
}

static const char *call_name(uint32_t call)
{
    return call == RZ_TWOPHASE_PROPOSE ? "PROPOSE" : "?";
}

static const char *notice_name(uint32_t what)
{
    return what == RZ_TWOPHASE_DECIDED ? "DECIDED" : "?";
}

#define COMMON(mutations, operations)                                                              \
    .protocol = &rz_protocol_twophase, .members_max = MEMBERS_MAX,                                 \
    .parameter = PARAMETER(mutations, operations), .record_bytes = sizeof(struct record),          \
    .detector = RZ_SIM_DETECTOR_PERFECT, .fenced = (mutations) != RZ_TWOPHASE_NO_FENCE,            \
    .config = config_of, .start = start, .notified = notified, .safety = safety,                   \
    .liveness = liveness, .message_name = message_name, .call_name = call_name,                    \
    .notice_name = notice_name

#define MUTANT(mutation, without, n, f)                                                            \
    {                                                                                              \
        COMMON(mutation, 1), .name = "mutant-" without, .summary = without ": must be caught",     \
                             .members = n, .crashes = f, .violation_expected = true                \
    }

const struct rz_sim_scenario rz_twophase_scenarios[] = {
    {.name = "one", .summary = "one operation", .members = 7, .crashes = 3, COMMON(0, 1)},
    {.name = "row",
     .summary = "several operations, one after the other",
     .members = 6,
     .crashes = 3,
     COMMON(0, 4)},
    {.name = "extremes",
     .summary = "several operations with minimum and maximum",
     .members = 6,
     .crashes = 3,
     COMMON(EXTREMES, 3)},
    {.name = "tiny",
     .summary = "one operation in a world to be explored whole",
     .members = 4,
     .crashes = 2,
     COMMON(0, 1)},
    {.name = "tiny-row",
     .summary = "two operations in a world to be explored whole",
     .members = 3,
     .crashes = 1,
     COMMON(0, 2)},
    MUTANT(RZ_TWOPHASE_COMMIT_EARLY, "committing-early", 4, 0),
    MUTANT(RZ_TWOPHASE_NO_FENCE, "no-fence", 5, 2),
    MUTANT(RZ_TWOPHASE_OLD_DECISION, "old-decision", 4, 2),
    MUTANT(RZ_TWOPHASE_NO_TERMINATION, "no-termination", 4, 2),
    MUTANT(RZ_TWOPHASE_NO_QUERY, "no-query", 4, 2),
    MUTANT(RZ_TWOPHASE_NO_ASKERS, "no-askers", 8, 1),
    MUTANT(RZ_TWOPHASE_NO_SERVE_VOTERS, "not-serving-voters", 4, 2),
};
const size_t rz_twophase_scenarios_count =
    sizeof(rz_twophase_scenarios) / sizeof(*rz_twophase_scenarios);
