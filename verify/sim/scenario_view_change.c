/* SPDX-License-Identifier: BSD-3-Clause */
/* Computing rounds: processes arrive, change their counters, fail and leave; daemons fail with
 * their processes. */
#include "sim/sim.h"

#include "base/assert.h"
#include "proto/diagnose/diagnose.h"
#include "proto/view_change/view_change.h"
#include "proto/view_change/view_change_check.h"
#include "sim/mutants.h"

RZ_SIM_PROTOCOL(view_change, RZ_PROTOCOL_VIEW_CHANGE);

#define MEMBERS_MAX 8
#define PER_MEMBER 2
#define PROCESSES_MAX (PER_MEMBER * MEMBERS_MAX)
#define GROUPS_MAX 2
#define GROUP_FIRST 70
#define VIEW 5
#define ROUNDS 5           /* a process leaves after at most this many rounds */
#define CHANGES 2          /* changes of the counters while a process waits, at most */
#define DOUBTS UINT32_C(4) /* one in so many arrivals reports another process */

/* Features of a scenario (parameter), besides mutations. */
enum { TINY = 0x100, STEADY = 0x200, SPARE = 0x400 };

/* A process as its host sees it. Its rank is its slot; its daemon is rank % members. */
struct process {
    uint64_t progress;
    uint8_t told;   /* the latest round reported to it */
    uint8_t leaves; /* it leaves when this round, or a later one, is reported to it */
    bool left, doomed;
    uint8_t counters[PROCESSES_MAX];
};

struct record {
    struct rz_view_change_seen seen[GROUPS_MAX];
    uint8_t told[GROUPS_MAX][MEMBERS_MAX]; /* the latest round reported to a daemon */
    struct process processes[GROUPS_MAX][PROCESSES_MAX];
};

static uint64_t parameter_of(struct rz_sim *sim)
{
    return rz_sim_scenario(sim)->parameter;
}

static bool is_tiny(struct rz_sim *sim)
{
    return parameter_of(sim) & TINY;
}

static uint32_t groups_of(struct rz_sim *sim)
{
    return is_tiny(sim) ? 1 : GROUPS_MAX;
}

/* With SPARE the last daemon has none. */
static uint32_t processes_of(struct rz_sim *sim)
{
    uint32_t n = rz_sim_members(sim);
    return is_tiny(sim) ? n - (parameter_of(sim) & SPARE ? 1 : 0) : PER_MEMBER * n;
}

static const void *config_of(struct rz_sim *sim, rz_id member)
{
    static struct rz_view_change_config config;
    (void)member;
    config = (struct rz_view_change_config){.n_members = rz_sim_members(sim),
                                            .view = VIEW,
                                            .n_slots = processes_of(sim),
                                            .mutations = (uint32_t)(parameter_of(sim) & 0xFF)};
    return &config;
}

/* ---- actions of processes ---- */

static void arrive(struct rz_sim *sim, uint32_t g, uint32_t rank)
{
    struct record *record = rz_sim_record(sim);
    const struct process *p = &record->processes[g][rank];
    uint64_t items[2 * PROCESSES_MAX];
    uint32_t n = processes_of(sim), n_items = n;
    for (uint32_t i = 0; i < n; i++) {
        items[i] = RZ_VIEW_CHANGE_PROCESS(i, 1);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (p->counters[i] > 0) {
            items[n_items++] = RZ_DIAGNOSE_ITEM(i, p->counters[i]);
        }
    }
    struct rz_sim_call call = {
        .call = RZ_VIEW_CHANGE_ARRIVE,
        .arg = {GROUP_FIRST + g, p->told, (uint64_t)rank << 32 | n, p->progress},
        .items = items,
        .n_items = n_items};
    rz_sim_call(sim, rank % rz_sim_members(sim), &call);
}

static void change_mind(struct rz_sim *sim, uint32_t g, uint32_t rank)
{
    struct record *record = rz_sim_record(sim);
    record->processes[g][rank].counters[rz_sim_random(sim, processes_of(sim))]++;
}

/* Arrives, perhaps with changed counters, and perhaps again with others. */
static void arrive_often(struct rz_sim *sim, uint32_t g, uint32_t rank)
{
    uint64_t changes = 0;
    if (!is_tiny(sim) && !(parameter_of(sim) & STEADY)) {
        if (rz_sim_random(sim, DOUBTS) == 0) {
            change_mind(sim, g, rank);
        }
        changes = rz_sim_random(sim, CHANGES + 1);
    }
    arrive(sim, g, rank);
    for (uint64_t i = 0; i < changes; i++) {
        change_mind(sim, g, rank);
        arrive(sim, g, rank);
    }
}

static void process_fails(struct rz_sim *sim, uint32_t rank)
{
    struct record *record = rz_sim_record(sim);
    const uint64_t process = RZ_VIEW_CHANGE_PROCESS(rank, 1);
    struct rz_sim_call call = {
        .call = RZ_VIEW_CHANGE_PROCESS_FAILED, .items = &process, .n_items = 1, .unordered = true};
    if (record->processes[0][rank].doomed) {
        return;
    }
    for (uint32_t g = 0; g < GROUPS_MAX; g++) {
        record->processes[g][rank].doomed = true;
    }
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        rz_sim_call(sim, id, &call);
    }
}

static void start(struct rz_sim *sim)
{
    struct record *record = rz_sim_record(sim);
    uint32_t n = processes_of(sim);
    for (uint32_t g = 0; g < groups_of(sim); g++) {
        record->seen[g].group = GROUP_FIRST + g;
        for (uint32_t rank = 0; rank < n; rank++) {
            struct process *p = &record->processes[g][rank];
            p->leaves = is_tiny(sim) ? 1 : (uint8_t)(1 + rz_sim_random(sim, ROUNDS));
            p->progress = is_tiny(sim) ? rank : rz_sim_random(sim, 3);
            arrive_often(sim, g, rank);
        }
    }
    uint64_t failures = is_tiny(sim) ? 0 : rz_sim_random(sim, n);
    for (uint64_t i = 0; i < failures / 2; i++) {
        process_fails(sim, (uint32_t)rz_sim_random(sim, n));
    }
}

static void failed(struct rz_sim *sim, rz_id member)
{
    for (uint32_t rank = member; rank < processes_of(sim); rank += rz_sim_members(sim)) {
        process_fails(sim, rank);
    }
}

/* ---- reports to processes ---- */

static void tell(struct rz_sim *sim, uint32_t g, uint32_t rank, const struct rz_action *notice)
{
    struct record *record = rz_sim_record(sim);
    struct process *p = &record->processes[g][rank];
    if (p->left || p->told >= notice->arg[1]) {
        return;
    }
    bool in = notice->items[notice->arg[3]] >> rank & 1;
    p->told = (uint8_t)notice->arg[1];
    p->progress = notice->arg[2] + in;
    if (p->told < p->leaves) {
        arrive_often(sim, g, rank);
        return;
    }
    p->left = true;
    struct rz_sim_call call = {.call = RZ_VIEW_CHANGE_LEAVE, .arg = {GROUP_FIRST + g, rank}};
    rz_sim_call(sim, rank % rz_sim_members(sim), &call);
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    struct record *record = rz_sim_record(sim);
    uint32_t g = (uint32_t)(notice->arg[0] - GROUP_FIRST);
    rz_assert(g < groups_of(sim));
    if (notice->what == RZ_VIEW_CHANGE_REFUSED) { /* only of groups without living processes */
        rz_assert(record->processes[g][notice->arg[1]].doomed);
        return;
    }
    rz_assert(rz_view_change_check_told(rz_sim_group(sim), &record->seen[g], notice,
                                        record->told[g][member]));
    record->told[g][member] = (uint8_t)notice->arg[1];
    for (uint32_t rank = member; rank < processes_of(sim); rank += rz_sim_members(sim)) {
        tell(sim, g, rank, notice);
    }
}

/* ---- properties ---- */

static bool safety(struct rz_sim *sim)
{
    struct record *record = rz_sim_record(sim);
    const struct rz_check_group *group = rz_sim_group(sim);
    for (uint32_t g = 0; g < groups_of(sim); g++) {
        if (!rz_view_change_check_decided(group, &record->seen[g]) ||
            !rz_view_change_check_kept(group, &record->seen[g])) {
            return false;
        }
    }
    return true;
}

/* Every living process got rounds until it left; nothing is left of the groups. */
static bool liveness(struct rz_sim *sim)
{
    const struct record *record = rz_sim_record(sim);
    struct rz_view_change_look look;
    for (uint32_t g = 0; g < groups_of(sim); g++) {
        for (uint32_t rank = 0; rank < processes_of(sim); rank++) {
            const struct process *p = &record->processes[g][rank];
            if (!p->doomed && !p->left) {
                return rz_sim_say(sim, "process %u of group %u waits for ever in round %u", rank,
                                  GROUP_FIRST + g, p->told);
            }
        }
    }
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        if (rz_sim_alive(sim, id) && rz_view_change_look_at(rz_sim_state(sim, id), 0, &look)) {
            return rz_sim_say(sim, "%u keeps an empty group", id);
        }
    }
    return true;
}

static const char *message_name(uint8_t type)
{
    static const char *const names[] = {"ARRIVED", "DECIDED", "KEPT", "SETTLED"};
    return type < sizeof(names) / sizeof(*names) ? names[type] : NULL;
}

static const char *call_name(uint32_t call)
{
    static const char *const names[] = {"ARRIVE", "LEAVE", "PROCESS_FAILED"};
    return call < sizeof(names) / sizeof(*names) ? names[call] : NULL;
}

static const char *notice_name(uint32_t what)
{
    static const char *const names[] = {"ROUND", "REFUSED"};
    return what < sizeof(names) / sizeof(*names) ? names[what] : NULL;
}

#define COMMON                                                                                     \
    .protocol = &rz_protocol_view_change, .members_max = MEMBERS_MAX,                              \
    .record_bytes = sizeof(struct record), .config = config_of, .start = start,                    \
    .notified = notified, .failed = failed, .safety = safety, .fenced = true,                      \
    .detector = RZ_SIM_DETECTOR_PERFECT, .message_name = message_name, .call_name = call_name,     \
    .notice_name = notice_name

#define MUTANT(mutation, without, what)                                                            \
    {                                                                                              \
        COMMON, .name = "mutant-" without, .summary = what ": must be caught", .members = 4,       \
                .crashes = 3, .parameter = mutation, .violation_expected = true                    \
    }

const struct rz_sim_scenario rz_view_change_scenarios[] = {
    {.name = "rounds",
     .summary = "two groups; processes arrive, doubt, fail and leave; daemons fail",
     .members = 4,
     .crashes = 3,
     COMMON,
     .liveness = liveness},
    {.name = "many",
     .summary = "the same with eight daemons",
     .members = 8,
     .crashes = 6,
     COMMON,
     .liveness = liveness},
    {.name = "rough",
     .summary = "the same; messages come twice, links are slow, daemons stop for a while",
     .members = 5,
     .crashes = 3,
     .faults = {.until = 2000, .duplication = 300, .pauses = 4, .slow = 3000},
     COMMON,
     .liveness = liveness},
    {.name = "steady",
     .summary = "no process doubts another: rounds end by arrivals and failures alone",
     .members = 4,
     .crashes = 3,
     .parameter = STEADY,
     COMMON,
     .liveness = liveness},
    {.name = "tiny",
     .summary = "a process on each daemon, one round, to be explored whole",
     .members = 3,
     .crashes = 2,
     .parameter = TINY,
     COMMON,
     .liveness = liveness},
    {.name = "tiny-spare",
     .summary = "the same, and the last daemon has no process",
     .members = 3,
     .crashes = 2,
     .parameter = TINY | SPARE,
     COMMON,
     .liveness = liveness},
    MUTANT(RZ_VIEW_CHANGE_TELL_EARLY, "early", "a decision counts before all have kept it"),
    {.name = "mutant-later",
     .summary = "an earlier daemon's decision replaces a later one's, in a world to be explored "
                "whole: must be caught",
     .members = 3,
     .crashes = 1,
     .parameter = TINY | SPARE | RZ_VIEW_CHANGE_KEEP_LATER,
     .violation_expected = true,
     COMMON},
    MUTANT(RZ_VIEW_CHANGE_COUNT_ABSENT, "absent",
           "a process that did not arrive has done its part"),
};
const size_t rz_view_change_scenarios_count =
    sizeof(rz_view_change_scenarios) / sizeof(*rz_view_change_scenarios);
