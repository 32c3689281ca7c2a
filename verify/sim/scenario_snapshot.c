/* SPDX-License-Identifier: BSD-3-Clause */
/* Snapshots of a program under every schedule, and mutants that must be caught. */
#include "proto/snapshot/snapshot_check.h"
#include "sim/sim.h"
#include "sim/snapshot_node.h"

RZ_PROTOCOL_CALLED(snapshot_node, RZ_PROTOCOL_SNAPSHOT, "snapshot");

#define VIEW 7
#define ATTEMPTS_MAX 4
#define REASON_FIRST 40

/* Packed into struct rz_sim_scenario.parameter. */
#define PARAMETER(mutations, attempts, sends, hops)                                                \
    ((uint64_t)(mutations) | (uint64_t)(attempts) << 16 | (uint64_t)(sends) << 20 |                \
     (uint64_t)(hops) << 24)
#define LAZY (UINT64_C(1) << 32)      /* hosts call LOCAL some time later */
#define DRAWN (UINT64_C(1) << 33)     /* messages are drawn; else each member sends to the next */
#define REFUSALS (UINT64_C(1) << 34)  /* drawn; else of the first attempt, by the last member */
#define CUT_ALONE (UINT64_C(1) << 35) /* of the properties S8-4 alone is checked */

enum refusal { NONE, AT_START, IN_WAVES, AT_SAVE, REFUSAL_COUNT };

struct record {
    uint8_t refusal[ATTEMPTS_MAX][RZ_SNAPSHOT_NODES_MAX]; /* what will happen: enum refusal */
    uint8_t saved[RZ_SNAPSHOT_NODES_MAX]; /* the last attempt saved, also by failed members */
};

static uint64_t field(const struct rz_sim *sim, unsigned shift, unsigned bits)
{
    return rz_sim_scenario(sim)->parameter >> shift & ((UINT64_C(1) << bits) - 1);
}

static uint32_t attempts_of(const struct rz_sim *sim)
{
    return (uint32_t)field(sim, 16, 4);
}

static bool flagged(const struct rz_sim *sim, uint64_t flag)
{
    return (rz_sim_scenario(sim)->parameter & flag) != 0;
}

static const struct rz_snapshot_node *node_of(const struct rz_sim *sim, rz_id member)
{
    return rz_sim_state(sim, member);
}

static const void *config_of(struct rz_sim *sim, rz_id member)
{
    static struct rz_snapshot_config config;
    (void)member;
    config = (struct rz_snapshot_config){
        .n_members = rz_sim_members(sim), .view = VIEW, .mutations = (uint32_t)field(sim, 0, 16)};
    return &config;
}

/* ---- hosts ---- */

static void call_later(struct rz_sim *sim, rz_id member, enum rz_snapshot_node_call call,
                       uint64_t first, uint64_t second)
{
    rz_sim_call(sim, member,
                &(struct rz_sim_call){.call = call, .arg = {first, second}, .unordered = true});
}

/* The reason that a member has for this refusal in this attempt, or 0. */
static uint64_t reason_of(struct rz_sim *sim, rz_id member, uint32_t attempt, enum refusal refusal)
{
    const struct record *record = rz_sim_record(sim);
    return record->refusal[attempt - 1][member] == refusal ? REASON_FIRST + member : 0;
}

static void draw_refusals(struct rz_sim *sim)
{
    struct record *record = rz_sim_record(sim);
    uint32_t n = rz_sim_members(sim);
    for (uint32_t attempt = 0; attempt < attempts_of(sim); attempt++) {
        bool any = rz_sim_random(sim, 2);
        for (rz_id member = 0; member < n; member++) {
            bool one = rz_sim_random(sim, n) < 2;
            uint64_t refusal = rz_sim_random(sim, REFUSAL_COUNT);
            record->refusal[attempt][member] = any && one ? (uint8_t)refusal : NONE;
        }
    }
}

static void start_program(struct rz_sim *sim, rz_id member)
{
    uint32_t n = rz_sim_members(sim);
    bool drawn = flagged(sim, DRAWN);
    uint64_t sends = drawn ? rz_sim_random(sim, field(sim, 20, 4) + 1) : field(sim, 20, 4);
    for (uint64_t i = 0; i < sends && n > 1; i++) {
        uint64_t away = 1 + (drawn ? rz_sim_random(sim, n - 1) : i % (n - 1));
        uint64_t hops = drawn ? rz_sim_random(sim, field(sim, 24, 4) + 1) : field(sim, 24, 4);
        call_later(sim, member, RZ_SNAPSHOT_NODE_SEND, (member + away) % n, hops);
    }
}

static void start(struct rz_sim *sim)
{
    struct record *record = rz_sim_record(sim);
    uint32_t n = rz_sim_members(sim);
    if (flagged(sim, REFUSALS) && flagged(sim, DRAWN)) {
        draw_refusals(sim);
    } else if (flagged(sim, REFUSALS)) {
        record->refusal[0][n - 1] = AT_START;
    }
    for (rz_id member = 0; member < n; member++) {
        start_program(sim, member);
        call_later(sim, member, RZ_SNAPSHOT_NODE_START, reason_of(sim, member, 1, AT_START), 0);
    }
}

static void host_ended(struct rz_sim *sim, rz_id member, uint32_t attempt)
{
    if (attempt < attempts_of(sim)) {
        call_later(sim, member, RZ_SNAPSHOT_NODE_START,
                   reason_of(sim, member, attempt + 1, AT_START), 0);
    }
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    uint32_t attempt = rz_snapshot_attempt(rz_snapshot_node_core(node_of(sim, member)));
    struct rz_sim_call local = {.call = RZ_SNAPSHOT_NODE_LOCAL, .unordered = true};
    switch (notice->what) {
    case RZ_SNAPSHOT_QUIET:
        call_later(sim, member, RZ_SNAPSHOT_NODE_SAVE, attempt,
                   reason_of(sim, member, attempt, AT_SAVE));
        break;
    case RZ_SNAPSHOT_ENDED:
        host_ended(sim, member, (uint32_t)notice->arg[0]);
        break;
    case RZ_SNAPSHOT_NODE_LOCAL_DUE:
        local.arg[0] = reason_of(sim, member, attempt, IN_WAVES);
        if (flagged(sim, LAZY)) {
            rz_sim_call(sim, member, &local);
        } else {
            rz_sim_call_now(sim, member, &local);
        }
        break;
    case RZ_SNAPSHOT_NODE_HAS_SAVED:
        ((struct record *)rz_sim_record(sim))->saved[member] = (uint8_t)notice->arg[0];
        break;
    case RZ_SNAPSHOT_NODE_WORKS:
        call_later(sim, member, RZ_SNAPSHOT_NODE_WORKED, notice->arg[0], notice->arg[1]);
        break;
    default:
        break;
    }
}

/* ---- properties ---- */

/* Whether the plan of refusals has this outcome. Those at the start are all known in the first
 * wave. Later ones end an attempt as well, but not each of them is waited for. */
static bool is_planned(struct rz_sim *sim, uint32_t attempt, struct rz_snapshot_end end)
{
    for (enum refusal refusal = AT_START; refusal < REFUSAL_COUNT; refusal++) {
        for (rz_id member = 0; member < rz_sim_members(sim); member++) {
            uint64_t reason = reason_of(sim, member, attempt, refusal);
            if (reason == 0) {
                continue;
            }
            return refusal == IN_WAVES
                       ? end.reason != 0 &&
                             end.reason == reason_of(sim, end.member, attempt, refusal)
                       : end.member == member && end.reason == reason;
        }
    }
    return end.reason == 0;
}

static bool check_end(struct rz_sim *sim, rz_id member)
{
    const struct record *record = rz_sim_record(sim);
    const struct rz_snapshot *core = rz_snapshot_node_core(node_of(sim, member));
    uint32_t ended = rz_snapshot_attempt(core) - 1;
    if (ended == 0) {
        return true;
    }
    struct rz_snapshot_end end = rz_snapshot_end(core);
    if (!is_planned(sim, ended, end)) {
        return rz_sim_say(sim, "S8-2: %u ended attempt %u with reason %u of %u", member, ended,
                          end.reason, end.member);
    }
    for (rz_id other = 0; end.reason == 0 && other < rz_sim_members(sim); other++) {
        if (record->saved[other] < ended) {
            return rz_sim_say(sim, "S8-1: %u took attempt %u for whole, which %u has not saved",
                              member, ended, other);
        }
    }
    return true;
}

static bool safety(struct rz_sim *sim)
{
    static const void *cores[RZ_SNAPSHOT_NODES_MAX];
    static struct rz_snapshot_program now[RZ_SNAPSHOT_NODES_MAX], image[RZ_SNAPSHOT_NODES_MAX];
    struct rz_check_group group = *rz_sim_group(sim);
    for (rz_id member = 0; member < group.n_members; member++) {
        const struct rz_snapshot_node *node = node_of(sim, member);
        cores[member] = node ? rz_snapshot_node_core(node) : NULL;
        image[member] = now[member] = (struct rz_snapshot_program){0};
        if (!node) {
            continue;
        }
        now[member] = (struct rz_snapshot_program){
            .busy = node->working > 0, .sent = node->now.sent, .delivered = node->now.delivered};
        image[member] = (struct rz_snapshot_program){.attempt = node->image_of,
                                                     .sent = node->image.sent,
                                                     .delivered = node->image.delivered};
    }
    group.state = cores;
    if (flagged(sim, CUT_ALONE)) {
        return rz_snapshot_check_cut(&group, image);
    }
    for (rz_id member = 0; member < group.n_members; member++) {
        if (cores[member] && !check_end(sim, member)) {
            return false;
        }
    }
    return rz_snapshot_check(&group) && rz_snapshot_check_quiet(&group, now) &&
           rz_snapshot_check_cut(&group, image);
}

static bool liveness(struct rz_sim *sim)
{
    static const void *cores[RZ_SNAPSHOT_NODES_MAX];
    struct rz_check_group group = *rz_sim_group(sim);
    for (rz_id member = 0; member < group.n_members; member++) {
        if (!rz_sim_alive(sim, member)) {
            return true; /* the epoch has ended */
        }
        cores[member] = rz_snapshot_node_core(node_of(sim, member));
    }
    group.state = cores;
    return rz_snapshot_check_liveness(&group, attempts_of(sim));
}

static const char *message_name(uint8_t type)
{
    static const char *const names[] = {"REPORT", "CHANGED", "FIXED", "WAVE", "SAVE", "END"};
    return type == RZ_SNAPSHOT_DATA                ? "DATA"
           : type < sizeof(names) / sizeof(*names) ? names[type]
                                                   : "?";
}

static const char *call_name(uint32_t call)
{
    static const char *const names[] = {"SEND", "START", "LOCAL", "WORKED", "SAVE"};
    return call < sizeof(names) / sizeof(*names) ? names[call] : "?";
}

static const char *notice_name(uint32_t what)
{
    static const char *const names[] = {"ASKED", "QUIET", "ENDED"};
    return what == RZ_SNAPSHOT_NODE_LOCAL_DUE      ? "LOCAL_DUE"
           : what == RZ_SNAPSHOT_NODE_HAS_SAVED    ? "HAS_SAVED"
           : what == RZ_SNAPSHOT_NODE_WORKS        ? "WORKS"
           : what < sizeof(names) / sizeof(*names) ? names[what]
                                                   : "?";
}

#define COMMON                                                                                     \
    .protocol = &rz_protocol_snapshot_node, .members_max = RZ_SNAPSHOT_NODES_MAX,                  \
    .record_bytes = sizeof(struct record), .detector = RZ_SIM_DETECTOR_PERFECT,                    \
    .config = config_of, .start = start, .notified = notified, .safety = safety,                   \
    .liveness = liveness, .message_name = message_name, .call_name = call_name,                    \
    .notice_name = notice_name

#define ALL_DRAWN (LAZY | DRAWN | REFUSALS)

#define MUTANT(mutation, with, n, parameters)                                                      \
    {                                                                                              \
        COMMON, .name = "mutant-" with, .summary = with ": must be caught", .members = n,          \
                .violation_expected = true, .parameter = (parameters) | (uint64_t)(mutation)       \
    }

const struct rz_sim_scenario rz_snapshot_scenarios[] = {
    {.name = "one",
     .summary = "one attempt in a program that sends at random",
     .members = 6,
     .parameter = PARAMETER(0, 1, 4, 3) | LAZY | DRAWN,
     COMMON},
    {.name = "row",
     .summary = "several attempts, some refused",
     .members = 5,
     .parameter = PARAMETER(0, 4, 4, 3) | ALL_DRAWN,
     COMMON},
    {.name = "prompt",
     .summary = "the same with hosts that answer at once",
     .members = 5,
     .parameter = PARAMETER(0, 4, 4, 3) | DRAWN | REFUSALS,
     COMMON},
    {.name = "failing",
     .summary = "members fail",
     .members = 5,
     .crashes = 2,
     .parameter = PARAMETER(0, 3, 4, 3) | ALL_DRAWN,
     COMMON},
    {.name = "tiny",
     .summary = "one attempt in a world to be explored whole",
     .members = 2,
     .parameter = PARAMETER(0, 1, 2, 1) | LAZY,
     COMMON},
    {.name = "tiny-prompt",
     .summary = "the same with hosts that answer at once",
     .members = 3,
     .parameter = PARAMETER(0, 1, 1, 1),
     COMMON},
    {.name = "tiny-row",
     .summary = "two attempts, the first one refused, to be explored whole",
     .members = 3,
     .parameter = PARAMETER(0, 2, 0, 0) | LAZY | REFUSALS,
     COMMON},
    {.name = "tiny-two",
     .summary = "two attempts to be explored whole",
     .members = 2,
     .parameter = PARAMETER(0, 2, 1, 1) | LAZY,
     COMMON},
    {.name = "tiny-lazy",
     .summary = "one attempt of three members to be explored whole",
     .members = 3,
     .parameter = PARAMETER(0, 1, 1, 1) | LAZY,
     COMMON},
    MUTANT(RZ_SNAPSHOT_ONE_WAVE, "one-wave", 3, PARAMETER(0, 1, 4, 3) | DRAWN),
    MUTANT(RZ_SNAPSHOT_ANY_BALANCE, "any-balance", 3, PARAMETER(0, 1, 2, 5) | DRAWN),
    MUTANT(RZ_SNAPSHOT_DESPITE_BUSY, "despite-busy", 3, PARAMETER(0, 1, 4, 3) | DRAWN),
    MUTANT(RZ_SNAPSHOT_OLD_NUMBERS, "old-numbers", 3, PARAMETER(0, 1, 4, 3) | DRAWN | LAZY),
    MUTANT(RZ_SNAPSHOT_NO_CHANGES, "no-changes", 3, PARAMETER(0, 1, 4, 3) | DRAWN),
    MUTANT(RZ_SNAPSHOT_NO_BARRIER, "no-barrier", 3, PARAMETER(0, 1, 4, 3) | DRAWN | CUT_ALONE),
    MUTANT(RZ_SNAPSHOT_SAVE_UNHEARD, "save-unheard", 3, PARAMETER(0, 1, 4, 3) | DRAWN | CUT_ALONE),
    MUTANT(RZ_SNAPSHOT_DEAF, "deaf", 4, PARAMETER(0, 1, 0, 0) | REFUSALS),
    MUTANT(RZ_SNAPSHOT_NO_EARLY, "no-early", 2, PARAMETER(0, 1, 0, 0)),
};
const size_t rz_snapshot_scenarios_count =
    sizeof(rz_snapshot_scenarios) / sizeof(*rz_snapshot_scenarios);
