/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenarios of SWIM: crashes, members that leave, lost and duplicated messages, pauses, partitions,
 * short suspicions, final failures; and mutants. */
#include "sim/sim.h"

#include "base/assert.h"
#include "proto/swim/swim.h"
#include "proto/swim/swim_check.h"
#include "sim/mutants.h"

RZ_SIM_PROTOCOL(swim, RZ_PROTOCOL_SWIM);

#define VIEW 9
#define PERIOD (100 * RZ_MILLISECOND)
#define MEMBERS_MAX 64

/* Features of a scenario (parameter), besides mutations. */
enum {
    LEAVES = 1,
    ACCURATE = 2,
    HASTY = 4,
    FINAL = 8,
    CLEARED = 16,
    PLAIN = 32,
    SMALL = 64,
    UNENDING = 128
};
#define MUTATION(name) ((uint64_t)RZ_SWIM_##name << 16)

static bool wants(const struct rz_sim *sim, uint64_t what)
{
    return rz_sim_scenario(sim)->parameter & what;
}

/* Worlds for exhaustive mode: a period is four ticks, a transfer takes none or one, so that an
 * answer may be just too late. */
static void in_ticks(struct rz_swim_config *made)
{
    made->probe_interval = 4;
    made->probe_timeout = 2;
    made->indirect_checks = 1;
    made->suspicion_mult = 1;
    made->retransmit_mult = 1;
    made->gossip_interval = 2;
    made->gossip_nodes = 1;
    made->gossip_to_failed = 8;
    made->push_pull_interval = 0;
}

/* Suspicions and full state exchanges shorter than usual, so that a run of some seconds has many.
 */
static const void *config(struct rz_sim *sim, rz_id member)
{
    static struct rz_swim_config made;
    (void)member;
    made = rz_swim_config_scaled(PERIOD, rz_sim_members(sim));
    made.view = VIEW;
    made.suspicion_max_mult = 3;
    made.push_pull_interval = 4 * PERIOD;
    made.awareness_max = 2;
    made.records_max = 1;
    made.final = wants(sim, FINAL);
    made.mutations = (uint32_t)(rz_sim_scenario(sim)->parameter >> 16);
    if (wants(sim, HASTY)) {
        made.suspicion_mult = 1;
        made.updates_max = 2;
    }
    if (wants(sim, PLAIN)) {
        made.lifeguard = 0;
    }
    if (wants(sim, SMALL)) {
        in_ticks(&made);
    }
    return &made;
}

static void start(struct rz_sim *sim)
{
    struct rz_sim_call call = {.call = RZ_SWIM_LEAVE};
    for (rz_id id = 0; id < rz_sim_members(sim) && wants(sim, LEAVES); id += 3) {
        rz_sim_call(sim, id, &call);
    }
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    rz_id about = (rz_id)notice->arg[0];
    if (notice->what == RZ_SWIM_FENCED) {
        rz_assert(wants(sim, FINAL));
        rz_sim_halt(sim, member);
    } else if (notice->what == RZ_SWIM_TOLD_LEFT && about == member) {
        rz_sim_halt(sim, member);
    }
}

static bool safety(struct rz_sim *sim)
{
    const struct rz_check_group *group = rz_sim_group(sim);
    return rz_swim_check_safety(group, wants(sim, FINAL), rz_sim_record(sim)) &&
           (!wants(sim, ACCURATE) || rz_swim_check_accurate(group));
}

static bool liveness(struct rz_sim *sim)
{
    const struct rz_check_group *group = rz_sim_group(sim);
    if (wants(sim, UNENDING)) {
        return true;
    }
    return rz_swim_check_complete(group) && (!wants(sim, FINAL) || rz_swim_check_parted(group)) &&
           (!wants(sim, CLEARED | ACCURATE) ||
            (rz_swim_check_cleared(group) && rz_swim_check_agreed(group)));
}

static const char *message_name(uint8_t type)
{
    static const char *const names[] = {"PING",   "ACK",  "PING_REQUEST", "NACK",
                                        "GOSSIP", "PULL", "PUSH"};
    return type < RZ_SWIM_MESSAGE_COUNT ? names[type] : NULL;
}

static const char *call_name(uint32_t call)
{
    return call == RZ_SWIM_LEAVE ? "LEAVE" : NULL;
}

static const char *notice_name(uint32_t what)
{
    static const char *const names[] = {"ALIVE", "SUSPECT", "FAILED", "LEFT", "FENCED"};
    return what <= RZ_SWIM_FENCED ? names[what] : NULL;
}

#define CALLBACKS                                                                                  \
    .protocol = &rz_protocol_swim, .config = config, .start = start, .notified = notified,         \
    .safety = safety, .liveness = liveness, .message_name = message_name, .call_name = call_name,  \
    .notice_name = notice_name

/* A round trip takes 30 ms at most, a ping waits for 50: no answer is late. */
#define COMMON                                                                                     \
    CALLBACKS, .members_max = MEMBERS_MAX, .record_bytes = 8 * RZ_SWIM_CHECK_WORDS(MEMBERS_MAX),   \
               .latency_min = 100 * RZ_MICROSECOND, .latency_max = 15 * RZ_MILLISECOND,            \
               .timer_slack = 5 * RZ_MILLISECOND, .crash_until = RZ_SECOND,                        \
               .horizon = 7 * RZ_SECOND

/* A link may take longer than a ping waits, a member may pause longer than a suspicion. */
#define FAULTY                                                                                     \
    COMMON, .faults = {.until = 2 * RZ_SECOND,                                                     \
                       .loss = 250,                                                                \
                       .duplication = 100,                                                         \
                       .pauses = 3,                                                                \
                       .pause_max = RZ_SECOND,                                                     \
                       .slow = 60 * RZ_MILLISECOND}

/* A loaded machine: members do not run for seconds, many times, longer than any suspicion lasts; no
 * message is lost. */
#define LATE                                                                                       \
    CALLBACKS, .members_max = MEMBERS_MAX, .record_bytes = 8 * RZ_SWIM_CHECK_WORDS(MEMBERS_MAX),   \
               .latency_min = 100 * RZ_MICROSECOND, .latency_max = 15 * RZ_MILLISECOND,            \
               .timer_slack = 5 * RZ_MILLISECOND, .crash_until = 4 * RZ_SECOND,                    \
               .horizon = 20 * RZ_SECOND,                                                          \
               .faults = {.until = 8 * RZ_SECOND, .pauses = 12, .pause_max = 3 * RZ_SECOND}

#define TICKS                                                                                      \
    CALLBACKS, .members_max = 4, .record_bytes = 8 * RZ_SWIM_CHECK_WORDS(4), .tick = 1,            \
               .crash_until = 4

#define MUTANT(mutation, what) FAULTY, .parameter = MUTATION(mutation) | (what)

const struct rz_sim_scenario rz_swim_scenarios[] = {
    {.name = "crash",
     .summary = "members fail; no living member is ever suspected",
     .members = 6,
     .crashes = 3,
     .parameter = ACCURATE,
     COMMON},
    {.name = "leave",
     .summary = "every third member leaves while others fail",
     .members = 6,
     .crashes = 2,
     .parameter = LEAVES | ACCURATE,
     COMMON},
    {.name = "faulty",
     .summary = "loss, duplication, pauses, slow links: living members are cleared in the end",
     .members = 6,
     .crashes = 2,
     .parameter = CLEARED,
     FAULTY},
    {.name = "plain",
     .summary = "the same without Lifeguard",
     .members = 6,
     .crashes = 2,
     .parameter = CLEARED | PLAIN,
     FAULTY},
    {.name = "hasty",
     .summary = "the same with short suspicions and small packets",
     .members = 6,
     .crashes = 2,
     .parameter = CLEARED | HASTY,
     FAULTY},
    {.name = "final",
     .summary = "failure is final, a member declared failed stops",
     .members = 6,
     .crashes = 1,
     .parameter = HASTY | FINAL,
     FAULTY},
    {.name = "parted",
     .summary = "the network parts: the failed processes have failed on either side",
     .members = 6,
     .crashes = 2,
     .parameter = 0,
     COMMON,
     .faults = {.until = 2 * RZ_SECOND, .loss = 100, .partitions = 2}},
    {.name = "late",
     .summary = "members run up to three seconds late, again and again: living members are cleared",
     .members = 6,
     .crashes = 2,
     .parameter = CLEARED,
     LATE},
    {.name = "late-final",
     .summary = "the same where failure is final: a member declared failed stops",
     .members = 6,
     .crashes = 1,
     .parameter = HASTY | FINAL,
     LATE},
    {.name = "tiny",
     .summary = "a failure in a world to be explored whole",
     .members = 2,
     .crashes = 1,
     .parameter = SMALL | ACCURATE,
     TICKS,
     .latency_max = 1,
     .horizon = 20},
    {.name = "tiny-leave",
     .summary = "one leaves, one fails, in a world to be explored whole",
     .members = 2,
     .crashes = 1,
     .parameter = SMALL | ACCURATE | LEAVES,
     TICKS,
     .latency_max = 1,
     .horizon = 20},
    {.name = "tiny-slow",
     .summary = "answers may be late, suspicions are refuted, in a world to be explored whole",
     .members = 2,
     .parameter = SMALL | UNENDING,
     TICKS,
     .latency_max = 3,
     .horizon = 16},
    {.name = "tiny-three",
     .summary = "three members and a failure for a short while, to be explored whole",
     .members = 3,
     .crashes = 1,
     .parameter = SMALL | ACCURATE | UNENDING,
     TICKS,
     .latency_max = 1,
     .horizon = 9},
    {.name = "mutant-timer",
     .summary = "a refuted suspicion keeps its timer",
     .members = 6,
     .violation_expected = true,
     MUTANT(KEEP_TIMER, CLEARED)},
    {.name = "mutant-tie",
     .summary = "alive wins over suspect of the same incarnation",
     .members = 6,
     .violation_expected = true,
     MUTANT(TIE_ALIVE, CLEARED)},
    {.name = "mutant-first",
     .summary = "newer evidence does not bring the failed back",
     .members = 6,
     .violation_expected = true,
     MUTANT(FIRST_COMES, CLEARED | HASTY)},
    {.name = "mutant-forge",
     .summary = "observers raise the incarnation of the reported",
     .members = 6,
     .violation_expected = true,
     MUTANT(FORGE, CLEARED)},
    {.name = "mutant-self",
     .summary = "members believe what is said of themselves",
     .members = 6,
     .violation_expected = true,
     MUTANT(SELF_SUSPECT, CLEARED)},
    {.name = "mutant-endless",
     .summary = "news are sent on without limit",
     .members = 6,
     .violation_expected = true,
     MUTANT(ENDLESS, CLEARED)},
    {.name = "mutant-mute",
     .summary = "no member refutes",
     .members = 6,
     .violation_expected = true,
     MUTANT(MUTE, CLEARED)},
    {.name = "mutant-mute-late",
     .summary = "no member refutes, where members only run late",
     .members = 6,
     .violation_expected = true,
     LATE,
     .parameter = MUTATION(MUTE) | CLEARED},
    {.name = "mutant-patient",
     .summary = "suspicions never end",
     .members = 6,
     .crashes = 2,
     .violation_expected = true,
     MUTANT(NO_TIMER, 0)},
};
const size_t rz_swim_scenarios_count = sizeof(rz_swim_scenarios) / sizeof(*rz_swim_scenarios);
