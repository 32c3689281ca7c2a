/* SPDX-License-Identifier: BSD-3-Clause */
/* Consensus over channels that lose, repeat and reorder messages, with leaders that are doubted in
 * error. */
#include "sim/sim.h"

#include "base/assert.h"
#include "proto/paxos/paxos.h"
#include "proto/paxos/paxos_check.h"
#include "sim/mutants.h"

RZ_SIM_PROTOCOL(paxos, RZ_PROTOCOL_PAXOS);

#define MEMBERS_MAX 64
#define VIEW 9
#define INSTANCES 2
#define INSTANCE_FIRST 70
#define RETRY 150
#define DOUBTS_MAX 3
#define DOUBTS_MANY 12

/* Features of a scenario (parameter), besides mutations. */
enum { VOTES = 0x100, TINY = 0x200, HASTY = 0x400, VIEWS = 0x800, ONE = 0x1000 };

struct record {
    struct rz_paxos_seen seen[INSTANCES];
    struct rz_paxos_seen later[INSTANCES]; /* in the second view (VIEWS) */
    uint64_t would[INSTANCES];             /* bit set of the hosts that would vote yes */
};

static uint64_t parameter_of(struct rz_sim *sim)
{
    return rz_sim_scenario(sim)->parameter;
}

static const void *config_of(struct rz_sim *sim, rz_id member)
{
    static struct rz_paxos_config config;
    (void)member;
    config = (struct rz_paxos_config){
        .n_members = rz_sim_members(sim),
        .view = VIEW,
        .retry = parameter_of(sim) & HASTY ? 20 : RETRY,
        .instances_max = 1, /* too few: growing is part of every run */
        .votes = parameter_of(sim) & VOTES,
        .mutations = (uint32_t)(parameter_of(sim) & 0xFF),
    };
    return &config;
}

static uint64_t instances_of(struct rz_sim *sim)
{
    return parameter_of(sim) & TINY ? 1 : INSTANCES;
}

static void propose(struct rz_sim *sim, rz_id member)
{
    for (uint64_t i = 0; i < instances_of(sim); i++) {
        struct rz_sim_call call = {.call = RZ_PAXOS_PROPOSE,
                                   .arg = {INSTANCE_FIRST + i, 100 + member}};
        rz_sim_call(sim, member, &call);
    }
}

static void doubt(struct rz_sim *sim, rz_id member, uint64_t set)
{
    struct rz_sim_call call = {.call = RZ_PAXOS_DOUBT, .items = &set, .n_items = 1};
    rz_sim_call(sim, member, &call);
}

/* Two ballots: member 1 takes over while member 0 is active. */
static void start_tiny(struct rz_sim *sim)
{
    propose(sim, 0);
    propose(sim, 1);
    doubt(sim, 1, 1);
}

/* Each member, at its own time, changes to a view without member 0, and proposes again. */
static void change_view(struct rz_sim *sim, rz_id member)
{
    uint64_t members = ((UINT64_C(1) << (rz_sim_members(sim) - 1)) - 1) << 1;
    struct rz_sim_call call = {
        .call = RZ_PAXOS_VIEW, .arg = {VIEW + 1}, .items = &members, .n_items = 1};
    rz_sim_call(sim, member, &call);
    propose(sim, member);
}

/* Every host doubts arbitrary members for a while, the last time none. */
static void start(struct rz_sim *sim)
{
    struct record *record = rz_sim_record(sim);
    uint32_t n = rz_sim_members(sim);
    for (uint64_t i = 0; i < INSTANCES; i++) {
        record->seen[i].number = record->later[i].number = INSTANCE_FIRST + i;
        uint64_t odds = rz_sim_random(sim, 5);
        for (rz_id id = 0; id < n; id++) {
            record->would[i] |= (uint64_t)(rz_sim_random(sim, 4) < odds) << id;
        }
    }
    if (parameter_of(sim) & TINY) {
        start_tiny(sim);
        return;
    }
    for (rz_id id = 0; id < n; id++) {
        if (id == 0 || !(parameter_of(sim) & ONE)) {
            propose(sim, id);
        }
        uint64_t most = parameter_of(sim) & HASTY ? DOUBTS_MANY : DOUBTS_MAX;
        uint64_t doubts = rz_sim_random(sim, most + 1);
        for (uint64_t k = 0; k < doubts; k++) {
            doubt(sim, id, rz_sim_random(sim, UINT64_C(1) << (n < 4 ? n : 4)));
        }
        if (parameter_of(sim) & VIEWS) {
            change_view(sim, id);
        }
        doubt(sim, id, 0);
    }
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    struct record *record = rz_sim_record(sim);
    uint64_t i = notice->arg[0] - INSTANCE_FIRST;
    rz_assert(i < INSTANCES);
    if (notice->what == RZ_PAXOS_DECIDED) {
        bool later = rz_paxos_view(rz_sim_state(sim, member)) != VIEW;
        rz_assert(rz_paxos_check_told(
            rz_sim_group(sim), later ? &record->later[i] : &record->seen[i], notice->arg[1]));
        return;
    }
    uint64_t yes = record->would[i] >> member & 1;
    record->seen[i].yes |= yes << member;
    struct rz_sim_call call = {.call = RZ_PAXOS_VOTE, .arg = {notice->arg[0], yes}};
    rz_sim_call(sim, member, &call);
}

static bool safety(struct rz_sim *sim)
{
    struct record *record = rz_sim_record(sim);
    const struct rz_check_group *group = rz_sim_group(sim);
    uint32_t n = rz_sim_members(sim);
    for (uint64_t i = 0; i < instances_of(sim); i++) {
        struct rz_paxos_seen *seen = &record->seen[i];
        if (!rz_paxos_check_one_value(group, seen) || !rz_paxos_check_acceptors(group, seen)) {
            return false;
        }
        if (parameter_of(sim) & VOTES && !rz_paxos_check_majority(group, seen, n)) {
            return false;
        }
        bool proposed = parameter_of(sim) & VOTES ? seen->value <= 1
                                                  : seen->value >= 100 && seen->value < 100 + n;
        if (seen->decided && !proposed) {
            return rz_sim_say(sim, "a value that no member proposed was decided");
        }
    }
    return true;
}

/* A living majority has decided if its members agree that no living member is doubted. */
static bool liveness(struct rz_sim *sim)
{
    const struct rz_check_group *group = rz_sim_group(sim);
    uint32_t n = rz_sim_members(sim), living = 0;
    for (rz_id id = 0; id < n; id++) {
        living += rz_sim_alive(sim, id);
    }
    for (uint64_t i = 0; i < INSTANCES && living > n / 2; i++) {
        if (!rz_paxos_check_known(group, INSTANCE_FIRST + i)) {
            return false;
        }
        for (rz_id id = 0; id < n && !(parameter_of(sim) & ONE); id++) {
            if (rz_sim_alive(sim, id) && !rz_paxos_knows(group->state[id], INSTANCE_FIRST + i)) {
                return rz_sim_say(sim, "%u never heard of what it proposed", id);
            }
        }
    }
    return true;
}

/* Decisions are reported to hosts, and checked there; the states know the last view alone. */
static bool safety_of_views(struct rz_sim *sim)
{
    struct record *record = rz_sim_record(sim);
    for (uint64_t i = 0; i < INSTANCES; i++) {
        if (record->later[i].decided && record->later[i].value == 100) {
            return rz_sim_say(sim, "0 is not in the second view, but its value was decided there");
        }
    }
    return true;
}

static bool liveness_of_views(struct rz_sim *sim)
{
    uint32_t n = rz_sim_members(sim), living = 0;
    for (rz_id id = 1; id < n; id++) {
        living += rz_sim_alive(sim, id);
    }
    for (rz_id id = 1; id < n && living > (n - 1) / 2; id++) {
        for (uint64_t i = 0; i < INSTANCES; i++) {
            if (rz_sim_alive(sim, id) &&
                !rz_paxos_decision(rz_sim_state(sim, id), INSTANCE_FIRST + i, NULL)) {
                return rz_sim_say(sim, "%u has decided nothing in the second view", id);
            }
        }
    }
    return true;
}

static const char *message_name(uint8_t type)
{
    static const char *const names[] = {"REQUEST",  "PREPARE", "PROMISE", "ACCEPT",
                                        "ACCEPTED", "REFUSED", "TOLD"};
    return type < sizeof(names) / sizeof(*names) ? names[type] : NULL;
}

static const char *call_name(uint32_t call)
{
    static const char *const names[] = {"PROPOSE", "VOTE", "DOUBT", "VIEW"};
    return call < sizeof(names) / sizeof(*names) ? names[call] : NULL;
}

static const char *notice_name(uint32_t what)
{
    static const char *const names[] = {"DECIDED", "ASKED"};
    return what < sizeof(names) / sizeof(*names) ? names[what] : NULL;
}

#define COMMON COMMON_OF(safety)
#define COMMON_OF(check)                                                                           \
    .protocol = &rz_protocol_paxos, .members_max = MEMBERS_MAX,                                    \
    .record_bytes = sizeof(struct record), .config = config_of, .start = start,                    \
    .notified = notified, .safety = check, .detector = RZ_SIM_DETECTOR_PERFECT,                    \
    .message_name = message_name, .call_name = call_name, .notice_name = notice_name

#define TIMES                                                                                      \
    .latency_min = 1, .latency_max = 60, .timer_slack = 5, .crash_until = 3000, .horizon = 30000
#define TIMED COMMON, TIMES, .liveness = liveness

#define FAULTS                                                                                     \
    .faults = {.until = 4000,                                                                      \
               .loss = 400,                                                                        \
               .duplication = 300,                                                                 \
               .partitions = 2,                                                                    \
               .partition_max = 1500,                                                              \
               .pauses = 2,                                                                        \
               .pause_max = 1500,                                                                  \
               .slow = 400}

/* Caught by safety alone: liveness is not checked. */
#define MUTANT(mutation, without, what)                                                            \
    {                                                                                              \
        COMMON, FAULTS, .name = "mutant-" without, .summary = what ": must be caught",             \
                        .members = 5, .parameter = mutation, .violation_expected = true,           \
                        .latency_min = 1, .latency_max = 60, .horizon = 30000                      \
    }

#define TINY_MUTANT(mutation, without, what)                                                       \
    {                                                                                              \
        COMMON, .name = "mutant-" without,                                                         \
                .summary = what ", in a world to be explored whole: must be caught", .members = 3, \
                .parameter = TINY | mutation, .violation_expected = true                           \
    }

const struct rz_sim_scenario rz_paxos_scenarios[] = {
    {.name = "value",
     .summary = "two instances, every member proposes, leaders doubted in error",
     .members = 5,
     .crashes = 2,
     FAULTS,
     TIMED},
    {.name = "heard",
     .summary = "one member proposes, the others only hear of it: none of them waits for ever",
     .members = 5,
     .crashes = 2,
     .parameter = ONE,
     FAULTS,
     TIMED},
    {.name = "votes",
     .summary = "two instances, decided by the votes of the hosts",
     .members = 5,
     .crashes = 2,
     .parameter = VOTES,
     FAULTS,
     TIMED},
    {.name = "hasty",
     .summary = "timers shorter than transfers, many doubts: leaders compete all the time",
     .members = 3,
     .crashes = 1,
     .parameter = HASTY,
     FAULTS,
     TIMED},
    {.name = "views",
     .summary = "members go on to a view without member 0 while decisions are under way",
     .members = 5,
     .crashes = 1,
     .parameter = VIEWS,
     FAULTS,
     COMMON_OF(safety_of_views),
     TIMES,
     .liveness = liveness_of_views},
    {.name = "calm",
     .summary = "no faults but crashes and doubts",
     .members = 7,
     .crashes = 3,
     .parameter = VOTES,
     TIMED},
    {.name = "even",
     .summary = "an even view that may part in two halves",
     .members = 4,
     .crashes = 1,
     .parameter = HASTY,
     FAULTS,
     TIMED},
    {.name = "tiny",
     .summary = "one instance, two ballots, in a world to be explored whole",
     .members = 3,
     .crashes = 1,
     .parameter = TINY,
     COMMON},
    {.name = "tiny-votes",
     .summary = "one instance, two ballots, votes, in a world to be explored whole",
     .members = 3,
     .crashes = 1,
     .parameter = TINY | VOTES,
     COMMON},
    MUTANT(RZ_PAXOS_COUNT_MESSAGES | VOTES | HASTY, "sets", "votes counted by message"),
    MUTANT(RZ_PAXOS_SELF_TWICE, "quorum", "the leader counts itself twice"),
    {COMMON, FAULTS, .name = "mutant-half",
     .summary = "half of an even view decides: must be caught", .members = 4,
     .parameter = RZ_PAXOS_HALF | HASTY, .violation_expected = true, .latency_min = 1,
     .latency_max = 60, .horizon = 30000},
    TINY_MUTANT(RZ_PAXOS_FORGET_PROMISE, "promise", "a lower ballot is accepted"),
    TINY_MUTANT(RZ_PAXOS_IGNORE_ACCEPTED, "accepted", "accepted values are ignored"),
    TINY_MUTANT(RZ_PAXOS_SELF_TWICE, "tiny-quorum", "the leader counts itself twice"),
};
const size_t rz_paxos_scenarios_count = sizeof(rz_paxos_scenarios) / sizeof(*rz_paxos_scenarios);
