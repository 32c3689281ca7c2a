/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenarios of the heartbeat ring: with and without news of failures from elsewhere, with members
 * that leave. */
#include "sim/sim.h"

#include "base/assert.h"
#include "proto/ring/ring.h"
#include "proto/ring/ring_check.h"
#include "sim/mutants.h"

RZ_SIM_PROTOCOL(ring, RZ_PROTOCOL_RING);

#define MEMBERS_MAX 256
#define VIEW 3

/* With LATE: bounds of the lateness of timers and of pauses. */
#define LATE_MAX (2 * RZ_SECOND)

/* Features of a scenario, and the mutations of its members (parameter). */
enum {
    NEWS = 1,
    LEAVES = 2,
    BOUNDED = 4,
    SMALL = 8,
    IMPATIENT = 16,
    TICKS_2 = 32,
    TICKS_3 = 64,
    ERRORS = 128,   /* members are suspected in error, and must stop */
    CALM = 256,     /* no member fails: a leaving member is not suspected */
    LATE = 512,     /* members run up to LATE_MAX late, and report it */
    UNEVEN = 1024,  /* every second member sends heartbeats three times as often */
    PHASES = 2048,  /* members start within the first period, each at its own date */
    NO_SLACK = 4096 /* with PHASES: none for those that start later than their observer */
};
#define MUTATIONS(mutations) ((uint64_t)(mutations) << 32)

struct small_record {
    bool suspected;
};

struct record {
    rz_time failed_at[MEMBERS_MAX];
};

static bool wants(const struct rz_sim *sim, uint64_t what)
{
    return rz_sim_scenario(sim)->parameter & what;
}

/* In small worlds time is counted in ticks: one period is two of them, a transfer takes none or
 * one. */
static const void *config(struct rz_sim *sim, rz_id member)
{
    static struct rz_ring_config made;
    made = (struct rz_ring_config){.n_members = rz_sim_members(sim),
                                   .view = VIEW,
                                   .hb_period = 100 * RZ_MILLISECOND,
                                   .hb_timeout = 300 * RZ_MILLISECOND,
                                   .start_slack = 100 * RZ_MILLISECOND,
                                   .mutations = (uint32_t)(rz_sim_scenario(sim)->parameter >> 32)};
    if (wants(sim, LATE)) {
        made.lateness_max = 10 * RZ_SECOND;
    }
    if (wants(sim, UNEVEN) && member % 2 == 1) {
        made.hb_period /= 3;
    }
    if (wants(sim, SMALL)) {
        made.hb_period = 2;
        made.hb_timeout = wants(sim, IMPATIENT) ? 3 : 4;
        made.start_slack = wants(sim, PHASES) && !wants(sim, NO_SLACK) ? made.hb_period : 0;
    }
    if (wants(sim, TICKS_2 | TICKS_3)) {
        made.hb_period = 1;
        made.hb_timeout = wants(sim, TICKS_2) ? 2 : 3;
        made.start_slack = 1;
    }
    return &made;
}

/* In small worlds by turns, so that neighbours are out of phase. */
static rz_time starts(struct rz_sim *sim, rz_id member)
{
    const struct rz_ring_config *ring = config(sim, member);
    if (!wants(sim, PHASES)) {
        return 0;
    }
    return wants(sim, SMALL) ? member % ring->hb_period : rz_sim_random(sim, ring->hb_period);
}

static void start(struct rz_sim *sim)
{
    struct rz_sim_call call = {.call = RZ_RING_LEAVE};
    for (rz_id id = 0; id < rz_sim_members(sim) && wants(sim, LEAVES); id += 3) {
        rz_sim_call(sim, id, &call);
    }
    const struct rz_sim_call late = {.call = RZ_RING_LATENESS, .arg = {LATE_MAX}};
    for (rz_id id = 0; id < rz_sim_members(sim) && wants(sim, LATE); id++) {
        rz_sim_call_now(sim, id, &late);
    }
}

static void tell_all(struct rz_sim *sim, rz_id failed)
{
    for (rz_id id = 0; id < rz_sim_members(sim) && wants(sim, NEWS); id++) {
        rz_sim_tell(sim, id, failed);
    }
}

static void failed(struct rz_sim *sim, rz_id member)
{
    if (wants(sim, SMALL)) {
        return;
    }
    struct record *record = rz_sim_record(sim);
    record->failed_at[member] = rz_sim_now(sim);
}

/* At most f failures delay one detection by f(f+1) timeouts, and f times the slack (SC'16: T_stab
 * without the broadcasts). */
static void check_latency(struct rz_sim *sim, rz_id failed)
{
    const struct record *record = rz_sim_record(sim);
    const struct rz_sim_scenario *scenario = rz_sim_scenario(sim);
    const struct rz_ring_config *ring = config(sim, 0);
    uint64_t f = scenario->crashes;
    rz_time slack = scenario->latency_max + scenario->timer_slack;
    rz_time took = rz_sim_now(sim) - record->failed_at[failed];
    rz_assert(took + scenario->latency_max >= ring->hb_timeout - ring->hb_period);
    rz_time timeout = ring->hb_timeout + (wants(sim, LATE) ? 2 * LATE_MAX : 0);
    /* where the first timeout has to do with it */
    rz_time first = ring->start_slack + (wants(sim, PHASES) ? ring->hb_period : 0);
    rz_assert(took <= f * (f + 1) * timeout + f * slack + first);
    if (f == 1) {
        rz_assert(took <= timeout + first + slack);
    }
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    rz_id about = (rz_id)notice->arg[0];
    switch (notice->what) {
    case RZ_RING_SUSPECT:
        rz_assert(!wants(sim, CALM));
        if (wants(sim, BOUNDED)) {
            check_latency(sim, about);
        }
        tell_all(sim, about);
        break;
    case RZ_RING_LEFT:
        if (about == member) {
            rz_sim_halt(sim, member);
        } else {
            tell_all(sim, about);
        }
        break;
    default:
        rz_assert(wants(sim, ERRORS));
        rz_sim_halt(sim, member);
    }
}

static bool safety(struct rz_sim *sim)
{
    const struct rz_check_group *group = rz_sim_group(sim);
    return (wants(sim, ERRORS) || rz_ring_check_accurate(group)) && rz_ring_check_safety(group);
}

static bool liveness(struct rz_sim *sim)
{
    const struct rz_check_group *group = rz_sim_group(sim);
    return rz_ring_check_accurate(group) && rz_ring_check_stable(group) &&
           (!wants(sim, NEWS) || rz_ring_check_complete(group));
}

static const char *message_name(uint8_t type)
{
    static const char *const names[] = {"HEARTBEAT", "REQUEST", "QUIT"};
    return type < 3 ? names[type] : NULL;
}

static const char *call_name(uint32_t call)
{
    static const char *const names[] = {"LEAVE", "LATENESS"};
    return call < 2 ? names[call] : NULL;
}

static const char *notice_name(uint32_t what)
{
    static const char *const names[] = {"SUSPECT", "LEFT", "FENCED"};
    return what < 3 ? names[what] : NULL;
}

#define COMMON                                                                                     \
    .protocol = &rz_protocol_ring, .members_max = MEMBERS_MAX, .config = config, .starts = starts, \
    .start = start, .notified = notified, .failed = failed, .safety = safety,                      \
    .liveness = liveness, .message_name = message_name, .call_name = call_name,                    \
    .notice_name = notice_name

/* Period 100 ms + slack 10 ms + spread of transfers 20 ms < timeout 300 ms: no member is suspected
 * in error. */
#define REAL_TIME                                                                                  \
    COMMON, .record_bytes = sizeof(struct record), .latency_min = 100 * RZ_MICROSECOND,            \
            .latency_max = 20 * RZ_MILLISECOND, .timer_slack = 10 * RZ_MILLISECOND,                \
            .crash_until = 2 * RZ_SECOND, .horizon = 10 * RZ_SECOND

/* Timers are up to LATE_MAX late; reported lateness halves in ten seconds and counts twice, so it
 * suffices until the horizon. */
#define LATE_TIME(slack)                                                                           \
    COMMON, .record_bytes = sizeof(struct record), .latency_min = 100 * RZ_MICROSECOND,            \
            .latency_max = 20 * RZ_MILLISECOND, .timer_slack = (slack),                            \
            .crash_until = 3 * RZ_SECOND, .horizon = 30 * RZ_SECOND

#define TICKS COMMON, .record_bytes = sizeof(struct small_record), .latency_max = 1, .tick = 1

/* The smallest worlds: period 1, timeout 2 if a transfer takes 1, and 3 if it takes 1 or 2. Members
 * act in turns: no message arrives within the tick of its send, and the host only spreads the news,
 * which takes a tick at least. */
#define TURNS(max)                                                                                 \
    COMMON, .record_bytes = sizeof(struct small_record), .latency_min = 1, .latency_max = (max),   \
            .tick = 1, .news_max = 2, .claims = {.turns = true}

const struct rz_sim_scenario rz_ring_scenarios[] = {
    {.name = "news",
     .summary = "failures found by silence, news spread by the host",
     .members = 12,
     .crashes = 5,
     .parameter = NEWS | BOUNDED,
     REAL_TIME},
    {.name = "silent",
     .summary = "no news: the ring mends by its own timeouts alone",
     .members = 12,
     .crashes = 5,
     .parameter = BOUNDED,
     REAL_TIME},
    {.name = "single",
     .summary = "one failure: the latency of detection is within its bound",
     .members = 12,
     .crashes = 1,
     .parameter = NEWS | BOUNDED,
     REAL_TIME},
    {.name = "phases",
     .summary = "members start within a period, each at its own date",
     .members = 12,
     .crashes = 5,
     .parameter = NEWS | BOUNDED | PHASES,
     REAL_TIME},
    {.name = "leave",
     .summary = "every third member leaves while others fail",
     .members = 13,
     .crashes = 4,
     .parameter = NEWS | LEAVES,
     REAL_TIME},
    {.name = "rough",
     .summary = "messages come twice, racks of three fail",
     .members = 12,
     .crashes = 6,
     .rack = 3,
     .faults = {.until = 10 * RZ_SECOND, .duplication = 300},
     .parameter = NEWS,
     REAL_TIME},
    {.name = "leave-calm",
     .summary = "every third member leaves, none fails, none is suspected",
     .members = 12,
     .parameter = NEWS | LEAVES | CALM,
     REAL_TIME},
    {.name = "errors",
     .summary = "members stop for longer than the timeout: a member suspected in error is fenced",
     .members = 12,
     .crashes = 3,
     .parameter = NEWS | ERRORS,
     .faults = {.until = 3 * RZ_SECOND, .pauses = 4, .pause_max = RZ_SECOND},
     REAL_TIME},
    {.name = "late",
     .summary = "members run up to two seconds late and say so: no living one is suspected",
     .members = 12,
     .crashes = 3,
     .parameter = NEWS | LATE,
     LATE_TIME(LATE_MAX)},
    {.name = "late-single",
     .summary = "the same with one failure: it is found within the timeout and the lateness",
     .members = 12,
     .crashes = 1,
     .parameter = NEWS | LATE | BOUNDED,
     LATE_TIME(LATE_MAX)},
    {.name = "late-pauses",
     .summary = "members that get no processor for up to half a second at a time, and say so",
     .members = 12,
     .crashes = 2,
     .parameter = NEWS | LATE,
     .faults = {.until = 6 * RZ_SECOND, .pauses = 4, .pause_max = RZ_SECOND / 2},
     LATE_TIME(10 * RZ_MILLISECOND)},
    {.name = "uneven",
     .summary = "every second member beats three times as often: numbers of heartbeats are its own",
     .members = 12,
     .crashes = 5,
     .parameter = NEWS | UNEVEN,
     REAL_TIME},
    {.name = "tiny",
     .summary = "two failures in a world to be explored whole",
     .members = 4,
     .crashes = 2,
     .parameter = NEWS | SMALL,
     .crash_until = 4,
     .horizon = 26,
     TICKS},
    {.name = "tiny-phases",
     .summary = "two failures, every second member half a period later, to be explored whole",
     .members = 4,
     .crashes = 2,
     .parameter = NEWS | SMALL | PHASES,
     .crash_until = 5,
     .horizon = 28,
     TICKS},
    {.name = "tiny-silent",
     .summary = "two failures without news in a world to be explored whole",
     .members = 4,
     .crashes = 2,
     .parameter = SMALL,
     .crash_until = 4,
     .horizon = 26,
     TICKS},
    {.name = "tiny-leave",
     .summary = "two members leave, one fails, in a world to be explored whole",
     .members = 4,
     .crashes = 1,
     .parameter = NEWS | LEAVES | SMALL,
     .crash_until = 4,
     .horizon = 34,
     TICKS},
    {.name = "tiny-lag",
     .summary = "two failures, of which each member hears at its own time, to be explored whole",
     .members = 4,
     .crashes = 2,
     .parameter = SMALL,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     .crash_until = 4,
     .horizon = 26,
     TICKS},
    {.name = "turns",
     .summary = "three failures, period 1 and timeout 2, to be explored whole",
     .members = 6,
     .crashes = 3,
     .parameter = NEWS | SMALL | TICKS_2,
     .crash_until = 8,
     .horizon = 34,
     TURNS(1)},
    {.name = "turns-silent",
     .summary = "three failures without news, period 1 and timeout 2, to be explored whole",
     .members = 6,
     .crashes = 3,
     .parameter = SMALL | TICKS_2,
     .crash_until = 8,
     .horizon = 40,
     TURNS(1)},
    {.name = "turns-jitter",
     .summary = "two failures, period 1 and timeout 3, uneven transfers, to be explored whole",
     .members = 4,
     .crashes = 2,
     .parameter = NEWS | SMALL | TICKS_3,
     .crash_until = 6,
     .horizon = 40,
     TURNS(2)},
    {.name = "turns-leave",
     .summary = "two members leave, two fail, period 1 and timeout 2, to be explored whole",
     .members = 4,
     .crashes = 2,
     .parameter = NEWS | LEAVES | SMALL | TICKS_2,
     .crash_until = 5,
     .horizon = 34,
     TURNS(1)},
    {.name = "mutant-turns-impatient",
     .summary = "period 1 and timeout 2 where a transfer takes 1 or 2",
     .members = 4,
     .crashes = 1,
     .parameter = NEWS | SMALL | TICKS_2,
     .violation_expected = true,
     .crash_until = 6,
     .horizon = 34,
     TURNS(2)},
    {.name = "mutant-impatient",
     .summary = "a timeout that a slow heartbeat can miss",
     .members = 4,
     .crashes = 0,
     .parameter = SMALL | IMPATIENT,
     .violation_expected = true,
     .horizon = 20,
     TICKS},
    {.name = "mutant-phases-impatient",
     .summary = "no slack in the first timeout, for members that start later",
     .members = 4,
     .crashes = 0,
     .parameter = SMALL | PHASES | NO_SLACK,
     .violation_expected = true,
     .horizon = 20,
     TICKS},
    {.name = "mutant-keep-observed",
     .summary = "goes on watching one known failed",
     .members = 12,
     .crashes = 2,
     .parameter = NEWS | MUTATIONS(RZ_RING_KEEP_OBSERVED),
     .violation_expected = true,
     REAL_TIME},
    {.name = "mutant-keep-observer",
     .summary = "goes on serving one known failed",
     .members = 12,
     .crashes = 2,
     .parameter = NEWS | MUTATIONS(RZ_RING_KEEP_OBSERVER),
     .violation_expected = true,
     REAL_TIME},
    {.name = "mutant-hasty",
     .summary = "drops what members say of their lateness",
     .members = 12,
     .crashes = 0,
     .parameter = NEWS | LATE | MUTATIONS(RZ_RING_HASTY),
     .violation_expected = true,
     LATE_TIME(LATE_MAX)},
    {.name = "mutant-keep-heard",
     .summary = "counts the heartbeats of a new observed on from those of the old one",
     .members = 12,
     .crashes = 2,
     .parameter = NEWS | UNEVEN | MUTATIONS(RZ_RING_KEEP_HEARD),
     .violation_expected = true,
     REAL_TIME},
    {.name = "mutant-any-request",
     .summary = "takes a stale request",
     .members = 4,
     .crashes = 2,
     .parameter = SMALL | MUTATIONS(RZ_RING_ANY_REQUEST),
     .violation_expected = true,
     .detector = RZ_SIM_DETECTOR_PERFECT,
     .crash_until = 4,
     .horizon = 26,
     TICKS},
    {.name = "mutant-not-fenced",
     .summary = "goes on when it is held for failed: false suspicions go round the ring",
     .members = 12,
     .crashes = 0,
     .parameter = NEWS | ERRORS | MUTATIONS(RZ_RING_NOT_FENCED),
     .violation_expected = true,
     .faults = {.until = 3 * RZ_SECOND, .pauses = 4, .pause_max = RZ_SECOND},
     REAL_TIME},
    {.name = "mutant-quit-astray",
     .summary = "QUIT goes to the leaving member itself",
     .members = 12,
     .parameter = NEWS | LEAVES | CALM | MUTATIONS(RZ_RING_QUIT_ASTRAY),
     .violation_expected = true,
     REAL_TIME},
};
const size_t rz_ring_scenarios_count = sizeof(rz_ring_scenarios) / sizeof(*rz_ring_scenarios);
