/* SPDX-License-Identifier: BSD-3-Clause */
/* The dynamic group under loss, partitions, pauses and failures. The decisions on rejoins and the
 * agreement on views, which other components make, are taken here at once from all states. */
#include "sim/sim.h"

#include "base/assert.h"
#include "proto/diagnose/diagnose.h"
#include "proto/diagnose/diagnose_check.h"
#include "sim/mutants.h"

RZ_SIM_PROTOCOL(diagnose, RZ_PROTOCOL_DIAGNOSE);

#define MEMBERS_MAX RZ_DIAGNOSE_CHECK_MAX
#define VIEW 6
#define ZETA 5
#define ZETA_SMALL 1

/* Features of a scenario (parameter), besides mutations. */
enum {
    SMALL = 0x100,
    BY_HOST = 0x200,
    MULTIPLY = 0x400,
    HEALTH = 0x800,
    CUBE = 0x1000,
    DEAF = 0x2000 /* answers to member 0 are late in HEALTH_MAX of its intervals */
};

#define HEALTH_MAX 3
#define DEAF_FROM 5 /* interval */

struct record {
    struct rz_diagnose_seen seen;
    uint64_t round; /* of the last agreed view */
};

static uint64_t parameter_of(struct rz_sim *sim)
{
    return rz_sim_scenario(sim)->parameter;
}

/* In small worlds time is counted in ticks: a transfer takes none or one, a test is late by one; in
 * a cube one or two, and a test of more than two is late. */
static const void *config_of(struct rz_sim *sim, rz_id member)
{
    static struct rz_diagnose_config config;
    (void)member;
    config = (struct rz_diagnose_config){
        .n_members = rz_sim_members(sim),
        .view = VIEW,
        .interval = 1000,
        .threshold_first = 600,
        .threshold_max = 3000,
        .mode = parameter_of(sim) & MULTIPLY ? RZ_DIAGNOSE_MULTIPLY : RZ_DIAGNOSE_ADD,
        .factor = parameter_of(sim) & MULTIPLY ? 2500 : 200,
        .zeta = ZETA,
        .patience = 4,
        .health_max = parameter_of(sim) & HEALTH ? HEALTH_MAX : 0,
        .assignment = parameter_of(sim) & CUBE ? RZ_DIAGNOSE_CUBE : RZ_DIAGNOSE_FULL,
        .by_host = parameter_of(sim) & BY_HOST,
        .report = true,
        .mutations = (uint32_t)(parameter_of(sim) & 0xFF),
    };
    if (parameter_of(sim) & SMALL) {
        config.interval = 3;
        config.threshold_first = config.threshold_max = 1;
        config.zeta = ZETA_SMALL;
        config.factor = 0;
    }
    if (parameter_of(sim) & SMALL && parameter_of(sim) & CUBE) {
        config.interval = 4;
        config.threshold_first = config.threshold_max = 2;
        config.zeta = ZETA; /* the hosts of two members share no decisions */
    }
    if (parameter_of(sim) & DEAF) {
        config.threshold_max = config.interval;
    }
    return &config;
}

static void start(struct rz_sim *sim)
{
    struct record *record = rz_sim_record(sim);
    record->seen.health_max = parameter_of(sim) & HEALTH ? HEALTH_MAX : 0;
}

/* The joined counters of the living members of the group as known to `member`. */
static void join(struct rz_sim *sim, rz_id member, uint32_t *joined)
{
    static uint64_t items[MEMBERS_MAX][MEMBERS_MAX];
    struct rz_diagnose_list lists[MEMBERS_MAX];
    struct record *record = rz_sim_record(sim);
    uint32_t n = rz_sim_members(sim), n_lists = 0;
    for (rz_id id = 0; id < n; id++) {
        const struct rz_diagnose *state = rz_sim_state(sim, id);
        if (!state || !rz_diagnose_has(rz_sim_state(sim, member), id)) {
            continue;
        }
        struct rz_diagnose_list *list = &lists[n_lists];
        *list = (struct rz_diagnose_list){.from = id, .items = items[n_lists]};
        for (rz_id k = 0; k < n; k++) {
            if (rz_diagnose_counter(state, k) > 0) {
                items[n_lists][list->n_items++] =
                    RZ_DIAGNOSE_ITEM(k, rz_diagnose_counter(state, k));
            }
        }
        n_lists++;
    }
    rz_diagnose_join(n, n_lists, lists, joined);
    /* A first member that is recommended although it considers itself non-recommended is so by this
     * agreement. */
    rz_id first = lists[0].from;
    if (joined[first] == rz_diagnose_counter(rz_sim_state(sim, first), first) + 1 &&
        joined[first] % 2 == 0) {
        record->seen.readmitted[first] |= UINT64_C(1) << joined[first] / 2 % 64;
    }
}

static void agree_on_view(struct rz_sim *sim, rz_id member)
{
    struct record *record = rz_sim_record(sim);
    uint32_t n = rz_sim_members(sim), n_items = 0, joined[MEMBERS_MAX];
    uint64_t items[MEMBERS_MAX], in = 0;
    if (record->round + 1 >= RZ_DIAGNOSE_CHECK_ROUNDS) {
        return;
    }
    join(sim, member, joined);
    for (rz_id k = 0; k < n; k++) {
        in |= (uint64_t)(joined[k] % 2 == 0) << k;
        if (joined[k] > 0) {
            items[n_items++] = RZ_DIAGNOSE_ITEM(k, joined[k]);
        }
    }
    struct rz_sim_call call = {.call = RZ_DIAGNOSE_VIEW,
                               .arg = {++record->round},
                               .items = items,
                               .n_items = n_items,
                               .unordered = true};
    record->seen.view[record->round] = in; /* S6-2: an even counter */
    for (rz_id id = 0; id < n; id++) {
        rz_sim_call(sim, id, &call);
    }
}

/* The votes of the group as known to `member`. */
static void decide_on_rejoin(struct rz_sim *sim, rz_id member, rz_id k, uint32_t counter)
{
    struct record *record = rz_sim_record(sim);
    const struct rz_diagnose *asker = rz_sim_state(sim, member);
    uint32_t yes = 0;
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        const struct rz_diagnose *state = rz_sim_state(sim, id);
        if (state && rz_diagnose_has(asker, id)) {
            yes += rz_diagnose_would_readmit(state, k, counter);
        }
    }
    if (2 * yes <= rz_diagnose_group_size(asker)) {
        return;
    }
    record->seen.readmitted[k] |= UINT64_C(1) << (counter + 1) / 2 % 64;
    struct rz_sim_call call = {.call = RZ_DIAGNOSE_READMIT, .arg = {k, counter}, .unordered = true};
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        if (rz_diagnose_has(asker, id)) {
            rz_sim_call(sim, id, &call);
        }
    }
    agree_on_view(sim, member);
}

/* Too late for any threshold: it never arrives. */
static bool is_too_late(struct rz_sim *sim, rz_id tester, uint64_t test)
{
    return parameter_of(sim) & DEAF && tester == 0 && test >= DEAF_FROM &&
           test < DEAF_FROM + HEALTH_MAX;
}

static void answer(struct rz_sim *sim, rz_id member, const uint64_t task[4])
{
    struct rz_sim_call call = {
        .call = RZ_DIAGNOSE_ANSWER, .arg = {task[0], task[1], task[2]}, .unordered = true};
    if (!is_too_late(sim, (rz_id)task[0], task[1])) {
        rz_sim_call(sim, member, &call);
    }
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    struct record *record = rz_sim_record(sim);
    const struct rz_check_group *group = rz_sim_group(sim);
    const struct rz_diagnose_config *config = config_of(sim, member);
    rz_id k = (rz_id)notice->arg[0];
    if (notice->what == RZ_DIAGNOSE_TESTED) {
        rz_assert(rz_diagnose_check_diagnosis(group, &record->seen, member, notice->arg));
    } else if (notice->what == RZ_DIAGNOSE_WANT_REJOIN) {
        rz_assert(rz_diagnose_check_want(group, &record->seen, member, k, config->zeta));
        decide_on_rejoin(sim, member, k, (uint32_t)notice->arg[1]);
    } else if (notice->what == RZ_DIAGNOSE_ALONE) {
        record->seen.readmitted[k] |= UINT64_C(1) << notice->arg[1] / 2 % 64;
    } else if (notice->what == RZ_DIAGNOSE_TASK) {
        answer(sim, member, notice->arg);
    } else if (notice->what == RZ_DIAGNOSE_DOUBT) {
        rz_assert(rz_diagnose_check_doubt(group, &record->seen, member, notice->arg));
    }
}

/* If one tester alone is slow, all members stay recommended. */
static bool none_is_excluded(struct rz_sim *sim)
{
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        for (rz_id k = 0; k < rz_sim_members(sim) && rz_sim_alive(sim, id); k++) {
            if (rz_diagnose_counter(rz_sim_state(sim, id), k) > 0) {
                return rz_sim_say(sim, "S6-7: by the word of %u, %u is out: 0 alone is slow", id,
                                  k);
            }
        }
    }
    return true;
}

static bool safety(struct rz_sim *sim)
{
    struct record *record = rz_sim_record(sim);
    return rz_diagnose_check_safety(rz_sim_group(sim), &record->seen) &&
           (!(parameter_of(sim) & DEAF) || none_is_excluded(sim));
}

static bool liveness(struct rz_sim *sim)
{
    return rz_diagnose_check_settled(rz_sim_group(sim)) &&
           rz_diagnose_check_tested(rz_sim_group(sim));
}

static const char *message_name(uint8_t type)
{
    static const char *const names[] = {"TEST", "REPLY", "EVENTS"};
    return type < sizeof(names) / sizeof(*names) ? names[type] : NULL;
}

static const char *call_name(uint32_t call)
{
    static const char *const names[] = {"READMIT", "ANSWER", "VIEW"};
    return call < sizeof(names) / sizeof(*names) ? names[call] : NULL;
}

static const char *notice_name(uint32_t what)
{
    static const char *const names[] = {"WANT_REJOIN", "CHANGED", "ALONE",
                                        "TASK",        "TESTED",  "DOUBT"};
    return what < sizeof(names) / sizeof(*names) ? names[what] : NULL;
}

#define COMMON                                                                                     \
    .protocol = &rz_protocol_diagnose, .members_max = MEMBERS_MAX,                                 \
    .record_bytes = sizeof(struct record), .config = config_of, .start = start,                    \
    .notified = notified, .safety = safety, .message_name = message_name, .call_name = call_name,  \
    .notice_name = notice_name

/* A round trip of at most 130 < 200, the factor: on a good network no answer is late. */
#define TIMED                                                                                      \
    COMMON, .latency_min = 1, .latency_max = 60, .timer_slack = 10, .crash_until = 8000,           \
            .horizon = 60000, .liveness = liveness

#define FAULTS                                                                                     \
    .faults = {.until = 10000,                                                                     \
               .loss = 300,                                                                        \
               .duplication = 300,                                                                 \
               .partitions = 2,                                                                    \
               .partition_max = 4000,                                                              \
               .pauses = 2,                                                                        \
               .pause_max = 3000,                                                                  \
               .slow = 500}

#define MUTANT(mutation, without, what)                                                            \
    {                                                                                              \
        TIMED, FAULTS, .name = "mutant-" without, .summary = what ": must be caught",              \
                       .members = 4, .crashes = 0, .parameter = mutation,                          \
                       .violation_expected = true                                                  \
    }

const struct rz_sim_scenario rz_diagnose_scenarios[] = {
    {.name = "group",
     .summary = "removals and rejoins under loss, partitions, pauses and failures",
     .members = 4,
     .crashes = 2,
     FAULTS,
     TIMED},
    {.name = "hosts",
     .summary = "as group; the hosts do the tests' task, thresholds by multiplication",
     .members = 5,
     .crashes = 1,
     .parameter = BY_HOST | MULTIPLY,
     FAULTS,
     TIMED},
    {.name = "tiny",
     .summary = "three intervals, late and lost answers, in a world to be explored whole",
     .members = 2,
     .parameter = SMALL,
     COMMON,
     .latency_max = 1,
     .tick = 1,
     .horizon = 8},
    {.name = "health",
     .summary = "as group, with local health",
     .members = 5,
     .crashes = 2,
     .parameter = HEALTH,
     FAULTS,
     TIMED},
    {.name = "slow-tester",
     .summary = "one tester is slow for as long as local health forgives: no member is excluded",
     .members = 5,
     .parameter = HEALTH | BY_HOST | DEAF,
     TIMED},
    {.name = "last-one",
     .summary = "with local health, all others fail, and the last one finds it out",
     .members = 5,
     .crashes = 4,
     .parameter = HEALTH,
     TIMED},
    {.name = "cube",
     .summary = "as group; members are tested by the first of their clusters",
     .members = 6,
     .crashes = 2,
     .parameter = CUBE,
     FAULTS,
     TIMED},
    {.name = "cube-health",
     .summary = "as cube, with local health, and most may fail",
     .members = 8,
     .crashes = 6,
     .parameter = CUBE | HEALTH,
     FAULTS,
     TIMED},
    {.name = "tiny-cube",
     .summary = "as tiny, tested by the first of clusters, two intervals",
     .members = 3,
     .parameter = SMALL | CUBE,
     COMMON,
     .latency_min = 1,
     .latency_max = 2,
     .tick = 1,
     .horizon = 6,
     .claims = {.turns = true}},
    MUTANT(RZ_DIAGNOSE_INCREMENT, "maximum", "each message about an event counts as one"),
    MUTANT(RZ_DIAGNOSE_UPDATE_FIRST, "order", "the threshold is adapted before the result"),
    MUTANT(RZ_DIAGNOSE_KEEP_OKRUN, "reset", "a rejoin leaves the run of good tests"),
    {.name = "mutant-overruled",
     .summary = "no doubt is ever overruled: must be caught",
     .members = 4,
     .crashes = 3,
     .parameter = HEALTH | RZ_DIAGNOSE_DOUBT_ALWAYS,
     .violation_expected = true,
     TIMED},
    {.name = "mutant-health",
     .summary = "slow-tester without local health: must be caught",
     .members = 5,
     .parameter = BY_HOST | DEAF,
     .violation_expected = true,
     TIMED},
    {.name = "mutant-successor",
     .summary = "no member stands in for the first of a cluster: must be caught",
     .members = 4,
     .crashes = 3,
     .parameter = CUBE | RZ_DIAGNOSE_FIRST_ONLY,
     .violation_expected = true,
     TIMED},
};
const size_t rz_diagnose_scenarios_count =
    sizeof(rz_diagnose_scenarios) / sizeof(*rz_diagnose_scenarios);
