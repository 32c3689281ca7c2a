/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenarios of gossip: failures before and during a run, news from a detector instead of silence, a
 * lossy network, and mutants that must be caught. */
#include "sim/sim.h"

#include "proto/gossip/gossip.h"
#include "proto/gossip/gossip_check.h"
#include "sim/mutants.h"

RZ_SIM_PROTOCOL(gossip, RZ_PROTOCOL_GOSSIP);

#define MEMBERS_MAX RZ_GOSSIP_WATCHED_MAX
#define VIEW 5

/* Packed into struct rz_sim_scenario.parameter: kind | flags | mutations. */
enum {
    KIND = 3,
    TOLD = 4,       /* silence reports no failure */
    LOSSY = 8,      /* answers may be lost, and mass with them: no count need become correct */
    DEAF = 16,      /* the last member gets no message: it has another view */
    HASTY = 32,     /* calls return as early as the rules allow */
    TINY = 64,      /* time in ticks, few cycles */
    UNSURE = 128,   /* no property that holds only with high probability */
    PUBLISHED = 256 /* algorithm 3 without restarts: failures before the run only */
};
#define MUTATION(mutation) ((uint64_t)(mutation) << 16)

/* Memory of the hosts. */
struct record {
    struct rz_gossip_watched watched[MEMBERS_MAX]; /* for the checker */
    uint64_t agreed[MEMBERS_MAX];                  /* members whose call returned */
    uint64_t succeeded;                            /* members whose call returned with success */
};

static bool wants(const struct rz_sim *sim, uint64_t what)
{
    return rz_sim_scenario(sim)->parameter & what;
}

static enum rz_gossip_kind kind_of(const struct rz_sim *sim)
{
    return (enum rz_gossip_kind)(rz_sim_scenario(sim)->parameter & KIND);
}

/*
 * A failure that no ping finds is missed: a property checked in every run must not depend on it. In
 * c cycles a member is not pinged by any other with probability about exp(-c) (exp(-c / 2) if half
 * have crashed): by default, with 12 members and c = 12, one of 100,000 runs missed one. With 40 it
 * does not happen. Mutants return early, and test_gossip_odds has the rate of the default.
 */
#define INITIAL 40

static const void *config(struct rz_sim *sim, rz_id member)
{
    static struct rz_gossip_config made;
    made = (struct rz_gossip_config){
        .n_members = rz_sim_members(sim),
        .view = VIEW + (wants(sim, DEAF) && member == rz_sim_members(sim) - 1),
        .kind = kind_of(sim),
        .cycle = 100 * RZ_MILLISECOND,
        .timeout = 50 * RZ_MILLISECOND,
        .start_spread = 100 * RZ_MILLISECOND,
        .cycles_max = 120,
        .initial = wants(sim, HASTY) ? 0 : INITIAL,
        .before_only = wants(sim, PUBLISHED),
        .report = !wants(sim, TOLD),
        .mutations = (uint32_t)(rz_sim_scenario(sim)->parameter >> 16),
    };
    if (wants(sim, TINY)) {
        made.cycle = 4;
        made.timeout = 3;
        made.start_spread = 0;
        made.cycles_max = 4;
    }
    return &made;
}

static void start(struct rz_sim *sim)
{
    struct rz_sim_call call = {.call = RZ_GOSSIP_BEGIN};
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        if (wants(sim, TINY)) {
            rz_sim_call_now(sim, id, &call);
        } else {
            rz_sim_call(sim, id, &call);
        }
    }
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    struct record *record = rz_sim_record(sim);
    if (notice->what != RZ_GOSSIP_RETURNED) {
        return;
    }
    for (uint32_t i = 0; i < notice->n_items; i++) {
        record->agreed[member] |= UINT64_C(1) << notice->items[i];
    }
    record->succeeded |= notice->arg[0] << member;
}

static bool safety(struct rz_sim *sim)
{
    const struct rz_check_group *group = rz_sim_group(sim);
    struct record *record = rz_sim_record(sim);
    if (!rz_gossip_check_accurate(group) || !rz_gossip_check_monotone(group, record->watched)) {
        return false;
    }
    if (kind_of(sim) == RZ_GOSSIP_MATRIX) {
        return rz_gossip_check_consensus(group);
    }
    if (kind_of(sim) == RZ_GOSSIP_SUM && !wants(sim, LOSSY) &&
        !rz_gossip_check_mass_bounded(group)) {
        return false;
    }
    return kind_of(sim) == RZ_GOSSIP_LIST || wants(sim, UNSURE) ||
           (rz_gossip_check_consensus(group) && rz_gossip_check_commits(group));
}

/* Each call returned with success, and with all crashed members. */
static bool check_returned(struct rz_sim *sim)
{
    const struct record *record = rz_sim_record(sim);
    uint64_t crashed = 0;
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        crashed |= (uint64_t)!rz_sim_alive(sim, id) << id;
    }
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        if (!rz_sim_alive(sim, id)) {
            continue;
        }
        if (!(record->succeeded >> id & 1)) {
            return rz_sim_say(sim, "the call of %u did not return with success", id);
        }
        if (record->agreed[id] != crashed) {
            return rz_sim_say(sim, "S4-6: %u returned set %llx, crashed have %llx", id,
                              (unsigned long long)record->agreed[id], (unsigned long long)crashed);
        }
    }
    return true;
}

static bool check_mass(struct rz_sim *sim)
{
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        if (rz_sim_alive(sim, id)) {
            return rz_gossip_check_mass_whole(rz_sim_group(sim), id);
        }
    }
    return true;
}

static bool liveness(struct rz_sim *sim)
{
    if (kind_of(sim) == RZ_GOSSIP_SUM && !wants(sim, LOSSY) && !check_mass(sim)) {
        return false;
    }
    if (kind_of(sim) == RZ_GOSSIP_MATRIX && !rz_gossip_check_rows(rz_sim_group(sim))) {
        return false;
    }
    if (wants(sim, DEAF | TINY)) {
        return true;
    }
    if (wants(sim, LOSSY)) {
        return rz_gossip_check_agreed(rz_sim_group(sim), 1);
    }
    return check_returned(sim) &&
           rz_gossip_check_agreed(rz_sim_group(sim), kind_of(sim) == RZ_GOSSIP_SUM ? 3 : 2);
}

static const char *message_name(uint8_t type)
{
    static const char *const names[] = {"PING", "REPLY"};
    return type < 2 ? names[type] : NULL;
}

static const char *call_name(uint32_t call)
{
    return call == RZ_GOSSIP_BEGIN ? "BEGIN" : NULL;
}

static const char *notice_name(uint32_t what)
{
    static const char *const names[] = {"DETECTED", "CONSENSUS", "COMMITTED", "RETURNED"};
    return what < 4 ? names[what] : NULL;
}

#define COMMON                                                                                     \
    .protocol = &rz_protocol_gossip, .members_max = MEMBERS_MAX,                                   \
    .record_bytes = sizeof(struct record), .config = config, .start = start, .notified = notified, \
    .safety = safety, .liveness = liveness, .message_name = message_name, .call_name = call_name,  \
    .notice_name = notice_name

/* Two transfers of 20 ms at most, each timer 2 ms late: answers arrive before the timeout of 50 ms.
 */
#define REAL_TIME                                                                                  \
    COMMON, .latency_min = 100 * RZ_MICROSECOND, .latency_max = 20 * RZ_MILLISECOND,               \
            .timer_slack = 2 * RZ_MILLISECOND, .horizon = 20 * RZ_SECOND

/* A member crashes in its first step: here that is certainly BEGIN, and not an answer to a PING,
 * because calls are made within the same times as messages. */
#define BEFORE_CYCLES                                                                              \
    COMMON, .latency_min = 11 * RZ_MILLISECOND, .latency_max = 20 * RZ_MILLISECOND,                \
            .timer_slack = 2 * RZ_MILLISECOND, .horizon = 20 * RZ_SECOND, .crash_until = 1

#define BEFORE REAL_TIME, .crash_until = 1
#define DURING REAL_TIME, .crash_until = RZ_SECOND
#define TICKS COMMON, .latency_max = 1, .tick = 1, .horizon = 24, .crash_until = 13

const struct rz_sim_scenario rz_gossip_scenarios[] = {
    {.name = "matrix",
     .summary = "algorithm 1: failures before the run",
     .members = 12,
     .crashes = 4,
     .parameter = RZ_GOSSIP_MATRIX,
     BEFORE},
    {.name = "matrix-during",
     .summary = "algorithm 1: failures during the run",
     .members = 12,
     .crashes = 4,
     .parameter = RZ_GOSSIP_MATRIX,
     DURING},
    {.name = "matrix-told",
     .summary = "algorithm 1: a detector tells of failures, messages are lost and doubled",
     .members = 12,
     .crashes = 4,
     .parameter = RZ_GOSSIP_MATRIX | TOLD,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     .faults = {.until = 3 * RZ_SECOND, .loss = 100, .duplication = 50, .partitions = 2},
     DURING},
    {.name = "list",
     .summary = "algorithm 2: failures before the run",
     .members = 12,
     .crashes = 4,
     .parameter = RZ_GOSSIP_LIST,
     BEFORE},
    {.name = "list-told",
     .summary = "algorithm 2: a detector tells of failures, messages are lost and doubled",
     .members = 12,
     .crashes = 4,
     .parameter = RZ_GOSSIP_LIST | TOLD,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     .faults = {.until = RZ_SECOND, .loss = 100, .duplication = 50, .partitions = 1},
     BEFORE},
    {.name = "sum",
     .summary = "algorithm 3: failures before the run",
     .members = 12,
     .crashes = 3,
     .parameter = RZ_GOSSIP_SUM,
     BEFORE},
    {.name = "sum-before",
     .summary = "algorithm 3 as published, without restarts: failures before the run",
     .members = 12,
     .crashes = 4,
     .parameter = RZ_GOSSIP_SUM | PUBLISHED,
     BEFORE_CYCLES},
    {.name = "sum-before-told",
     .summary = "algorithm 3 as published: a detector tells of failures before the run",
     .members = 12,
     .crashes = 4,
     .parameter = RZ_GOSSIP_SUM | TOLD | PUBLISHED,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     BEFORE_CYCLES},
    {.name = "sum-during",
     .summary = "algorithm 3: failures during the run, each restarts the count",
     .members = 12,
     .crashes = 4,
     .parameter = RZ_GOSSIP_SUM,
     DURING},
    {.name = "sum-told",
     .summary = "algorithm 3: a detector tells of failures, silence reports no failure",
     .members = 12,
     .crashes = 4,
     .parameter = RZ_GOSSIP_SUM | TOLD,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     DURING},
    {.name = "sum-lossy",
     .summary = "algorithm 3: a detector tells of failures, messages are lost",
     .members = 12,
     .crashes = 3,
     .parameter = RZ_GOSSIP_SUM | TOLD | LOSSY | UNSURE,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     .faults = {.until = 500 * RZ_MILLISECOND, .loss = 20},
     DURING},
    {.name = "sum-deaf",
     .summary = "algorithm 3: a member that hears nothing keeps no other's mass",
     .members = 6,
     .crashes = 2,
     .parameter = RZ_GOSSIP_SUM | TOLD | DEAF,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     DURING},
    {.name = "tiny-sum",
     .summary = "algorithm 3: one failure, few cycles, in a world to be explored whole",
     .members = 3,
     .crashes = 1,
     .parameter = RZ_GOSSIP_SUM | TINY,
     TICKS},
    {.name = "mutant-naive",
     .summary = "algorithm 3: an estimate that is right once is believed",
     .members = 48,
     .crashes = 1,
     .parameter = RZ_GOSSIP_SUM | HASTY | MUTATION(RZ_GOSSIP_NAIVE_DIAGNOSIS),
     .violation_expected = true,
     BEFORE},
    {.name = "mutant-naive-before",
     .summary = "algorithm 3 as published: an estimate that is right once is believed",
     .members = 48,
     .crashes = 1,
     .parameter = RZ_GOSSIP_SUM | HASTY | PUBLISHED | MUTATION(RZ_GOSSIP_NAIVE_DIAGNOSIS),
     .violation_expected = true,
     BEFORE_CYCLES},
    {.name = "mutant-lose-half-before",
     .summary = "algorithm 3 as published: the half of an unanswered ping is gone",
     .members = 12,
     .crashes = 4,
     .parameter = RZ_GOSSIP_SUM | PUBLISHED | MUTATION(RZ_GOSSIP_LOSE_HALF),
     .violation_expected = true,
     BEFORE_CYCLES},
    {.name = "mutant-by-place",
     .summary = "algorithm 3 as published: halves are added by place, where lists differ",
     .members = 12,
     .crashes = 4,
     .parameter = RZ_GOSSIP_SUM | PUBLISHED | MUTATION(RZ_GOSSIP_BY_PLACE),
     .violation_expected = true,
     BEFORE_CYCLES},
    {.name = "mutant-published-during",
     .summary =
         "algorithm 3 as published: a member that fails in the run takes its mass along for good",
     .members = 12,
     .crashes = 2,
     .parameter = RZ_GOSSIP_SUM | PUBLISHED,
     .violation_expected = true,
     DURING},
    {.name = "mutant-no-indirect",
     .summary = "algorithm 1: what a sender has detected is not taken for one's own",
     .members = 12,
     .crashes = 2,
     .parameter = RZ_GOSSIP_MATRIX | HASTY | MUTATION(RZ_GOSSIP_NO_INDIRECT),
     .violation_expected = true,
     BEFORE},
    {.name = "mutant-lose-half",
     .summary = "algorithm 3: the half of an unanswered ping is gone",
     .members = 6,
     .crashes = 2,
     .parameter = RZ_GOSSIP_SUM | TOLD | DEAF | MUTATION(RZ_GOSSIP_LOSE_HALF),
     .detector = RZ_SIM_DETECTOR_PERFECT,
     .violation_expected = true,
     DURING},
    {.name = "mutant-silent",
     .summary = "algorithm 3: a member that has returned answers no more",
     .members = 12,
     .crashes = 2,
     .parameter = RZ_GOSSIP_SUM | HASTY | MUTATION(RZ_GOSSIP_FALL_SILENT),
     .violation_expected = true,
     BEFORE},
    {.name = "mutant-other-row",
     .summary = "algorithm 1: the set of living members is taken from another member's row",
     .members = 12,
     .crashes = 2,
     .parameter = RZ_GOSSIP_MATRIX | HASTY | MUTATION(RZ_GOSSIP_OTHER_ROW),
     .violation_expected = true,
     BEFORE},
    {.name = "mutant-list-during",
     .summary = "algorithm 2: failures during the run are agreed on by some and not by others",
     .members = 12,
     .crashes = 2,
     .parameter = RZ_GOSSIP_LIST | HASTY,
     .violation_expected = true,
     REAL_TIME,
     .crash_until = 1400 * RZ_MILLISECOND},
};
const size_t rz_gossip_scenarios_count = sizeof(rz_gossip_scenarios) / sizeof(*rz_gossip_scenarios);
