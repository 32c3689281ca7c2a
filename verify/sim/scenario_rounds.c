/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement by rounds under every schedule, and mutants that must be caught. */
#include "proto/rounds/rounds_check.h"
#include "sim/sim.h"
#include "sim/mutants.h"

RZ_SIM_PROTOCOL(rounds, RZ_PROTOCOL_ROUNDS);

#define VIEW 7

struct record {
    struct rz_rounds_watched watched[RZ_ROUNDS_MEMBERS_MAX];
};

static const void *config_of(struct rz_sim *sim, rz_id member)
{
    static struct rz_rounds_config config;
    (void)member;
    config = (struct rz_rounds_config){.n_members = rz_sim_members(sim),
                                       .view = VIEW,
                                       .mutations = (uint32_t)rz_sim_scenario(sim)->parameter};
    return &config;
}

static uint64_t proposal_of(rz_id member)
{
    return ~(UINT64_C(1) << member);
}

static void start(struct rz_sim *sim)
{
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        struct rz_sim_call call = {.call = RZ_ROUNDS_PROPOSE, .arg = {proposal_of(member)}};
        rz_sim_call(sim, member, &call);
    }
}

static bool safety(struct rz_sim *sim)
{
    struct record *record = rz_sim_record(sim);
    return rz_rounds_check(rz_sim_group(sim), record->watched, proposal_of);
}

static bool liveness(struct rz_sim *sim)
{
    return rz_rounds_check_liveness(rz_sim_group(sim));
}

static const char *message_name(uint8_t type)
{
    return type == 0 ? "ESTIMATE" : "DECISION";
}

static const char *call_name(uint32_t call)
{
    return call == RZ_ROUNDS_PROPOSE ? "PROPOSE" : "?";
}

static const char *notice_name(uint32_t what)
{
    return what == RZ_ROUNDS_DECIDED ? "DECIDED" : "?";
}

#define COMMON(mutations)                                                                          \
    .protocol = &rz_protocol_rounds, .members_max = RZ_ROUNDS_MEMBERS_MAX,                         \
    .parameter = (mutations), .record_bytes = sizeof(struct record),                               \
    .detector = RZ_SIM_DETECTOR_PERFECT, .fenced = (mutations) != RZ_ROUNDS_NO_FENCE,              \
    .config = config_of, .start = start, .safety = safety, .liveness = liveness,                   \
    .message_name = message_name, .call_name = call_name, .notice_name = notice_name

#define MUTANT(mutation, without, n, f)                                                            \
    {                                                                                              \
        COMMON(mutation), .name = "mutant-" without, .summary = without ": must be caught",        \
                          .members = n, .crashes = f, .violation_expected = true                   \
    }

const struct rz_sim_scenario rz_rounds_scenarios[] = {
    {.name = "one", .summary = "one agreement", .members = 6, .crashes = 3, COMMON(0)},
    {.name = "tiny",
     .summary = "one agreement in a world to be explored whole",
     .members = 3,
     .crashes = 2,
     COMMON(0)},
    MUTANT(RZ_ROUNDS_ONE_EARLY, "one-round-early", 3, 2),
    MUTANT(RZ_ROUNDS_NO_FENCE, "no-fence", 4, 2),
    MUTANT(RZ_ROUNDS_NO_TELLING, "no-telling", 3, 1),
    MUTANT(RZ_ROUNDS_OWN_EYES, "own-eyes", 5, 4),
};
const size_t rz_rounds_scenarios_count = sizeof(rz_rounds_scenarios) / sizeof(*rz_rounds_scenarios);
