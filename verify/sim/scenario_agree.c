/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement under every schedule: hosts that propose a number of operations, and mutants that must
 * be caught. */
#include "proto/agree/agree_check.h"
#include "sim/sim.h"
#include "sim/mutants.h"

RZ_SIM_PROTOCOL(agree, RZ_PROTOCOL_AGREE);

#define MEMBERS_MAX 64
#define VIEW 7

/* Packed into struct rz_sim_scenario.parameter. */
#define PARAMETER(mutations, operations, window) ((mutations) | (operations) << 8 | (window) << 16)
#define SHAPE(tree, per_node) ((tree) << 24 | (per_node) << 26)

struct record {
    uint8_t queued[MEMBERS_MAX];       /* proposals handed to each member so far */
    struct rz_agree_watched watched[]; /* for the checker */
};
#define RECORD_BYTES(members_max, window)                                                          \
    (sizeof(struct record) + (members_max)*3 * (window) * sizeof(struct rz_agree_watched))

static uint64_t operations_of(struct rz_sim *sim)
{
    return rz_sim_scenario(sim)->parameter >> 8 & 0xFF;
}

static const void *config_of(struct rz_sim *sim, rz_id member)
{
    static struct rz_agree_config config;
    (void)member;
    config = (struct rz_agree_config){
        .n_members = rz_sim_members(sim),
        .view = VIEW,
        .in_flight_max = (uint32_t)(rz_sim_scenario(sim)->parameter >> 16 & 0xFF),
        .items_max = 2, /* too few: growing is part of every run */
        .tree = (enum rz_agree_tree)(rz_sim_scenario(sim)->parameter >> 24 & 3),
        .per_node = (uint32_t)(rz_sim_scenario(sim)->parameter >> 26 & 0x1F),
        .mutations = (uint32_t)(rz_sim_scenario(sim)->parameter & 0xFF),
    };
    return &config;
}

/* One bit, one bound and one item identify a missing proposal. */
static struct rz_agree_proposal proposal_of(rz_id member, uint64_t seq)
{
    return (struct rz_agree_proposal){
        .and = ~(UINT64_C(1) << member % 64),
        .min = 1000 * seq + (member * 7 + seq * 3) % 100,
        .max = 1000 * seq + (member * 5 + seq * 11) % 100,
        .item = 1000 * seq + member,
    };
}

static void propose_next(struct rz_sim *sim, rz_id member)
{
    struct record *record = rz_sim_record(sim);
    if (record->queued[member] == operations_of(sim)) {
        return;
    }
    struct rz_agree_proposal proposal = proposal_of(member, ++record->queued[member]);
    struct rz_sim_call call = {.call = RZ_AGREE_PROPOSE,
                               .arg = {proposal.and, proposal.min, proposal.max},
                               .items = &proposal.item,
                               .n_items = 1};
    rz_sim_call(sim, member, &call);
}

/* Each member keeps in_flight_max proposals in progress until its operations are used up. */
static void start(struct rz_sim *sim)
{
    const struct rz_agree_config *config = config_of(sim, 0);
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        for (uint32_t i = 0; i < config->in_flight_max; i++) {
            propose_next(sim, member);
        }
    }
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    if (notice->what == RZ_AGREE_DECIDED) {
        propose_next(sim, member);
    }
}

/* A decision of a member is available to the hosts of all others as a cached decision, to each at
 * any later time, even to those that know of the member's failure, which a real host must not
 * allow. */
static void notified_and_cached(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    struct rz_message message;
    if (notice->what == RZ_AGREE_DECIDED) {
        const uint64_t *items =
            rz_agree_cached(rz_sim_state(sim, member), notice->arg[0], &message);
        for (rz_id other = 0; items && other < rz_sim_members(sim); other++) {
            struct rz_sim_call call = {.call = RZ_AGREE_TAKE,
                                       .arg = {member, notice->arg[0], message.word[0]},
                                       .items = items,
                                       .n_items = message.n_items,
                                       .unordered = true};
            if (other != member) {
                rz_sim_call(sim, other, &call);
            }
        }
    }
    notified(sim, member, notice);
}

/* Hosts that propose only when a failure is reported, or when another member has begun: as in a
 * recovery. */
static void notified_of_news(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    const struct record *record = rz_sim_record(sim);
    if (notice->what == RZ_AGREE_REQUESTED && record->queued[member] < notice->arg[0]) {
        propose_next(sim, member);
    }
}

static void failed(struct rz_sim *sim, rz_id failed)
{
    const struct record *record = rz_sim_record(sim);
    (void)failed;
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        if (rz_sim_alive(sim, member) && record->queued[member] == 0) {
            propose_next(sim, member);
        }
    }
}

static bool safety(struct rz_sim *sim)
{
    struct record *record = rz_sim_record(sim);
    const struct rz_check_group *group = rz_sim_group(sim);
    return rz_agree_check_agreement(group) && rz_agree_check_participation(group, proposal_of) &&
           rz_agree_check_trees(group) && rz_agree_check_progress(group, record->watched);
}

static bool liveness(struct rz_sim *sim)
{
    const struct rz_check_group *group = rz_sim_group(sim);
    return rz_agree_check_liveness(group);
}

/* Liveness, if all have called: no operation is left undecided. */
static bool all_done(struct rz_sim *sim)
{
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        const struct rz_agree *agree = rz_sim_state(sim, member);
        if (agree && !liveness(sim)) {
            return false;
        }
        if (agree && rz_agree_decided(agree) != operations_of(sim)) {
            return rz_sim_say(sim, "L3-1: %u has decided %llu operations", member,
                              (unsigned long long)rz_agree_decided(agree));
        }
    }
    return true;
}

static const char *message_name(uint8_t type)
{
    static const char *const names[] = {"UP", "DOWN", "REQUEST"};
    return type < sizeof(names) / sizeof(*names) ? names[type] : "?";
}

static const char *call_name(uint32_t call)
{
    return call == RZ_AGREE_PROPOSE ? "PROPOSE" : call == RZ_AGREE_TAKE ? "TAKE" : "?";
}

static const char *notice_name(uint32_t what)
{
    return what == RZ_AGREE_DECIDED ? "DECIDED" : "REQUESTED";
}

#define COMMON(most, window)                                                                       \
    .protocol = &rz_protocol_agree, .members_max = most,                                           \
    .record_bytes = RECORD_BYTES(most, window), .detector = RZ_SIM_DETECTOR_PERFECT,               \
    .config = config_of, .safety = safety, .message_name = message_name, .call_name = call_name,   \
    .notice_name = notice_name

#define PROPOSING_IN(shape, most, operations, window)                                              \
    COMMON(most, window), .fenced = true, .parameter = PARAMETER(0, operations, window) | (shape), \
                          .start = start, .notified = notified, .liveness = all_done
#define PROPOSING(most, operations, window) PROPOSING_IN(0, most, operations, window)

#define MUTANT(mutation, without, n, operations, window)                                           \
    {                                                                                              \
        COMMON(8, window), .name = "mutant-" without, .summary = "no " without ": must be caught", \
                           .members = n, .crashes = 1,                                             \
                           .parameter = PARAMETER(mutation, operations, window), .start = start,   \
                           .notified = notified, .liveness = all_done, .violation_expected = true, \
                           .fenced = mutation != RZ_AGREE_NO_FENCE                                 \
    }

const struct rz_sim_scenario rz_agree_scenarios[] = {
    {.name = "one",
     .summary = "one operation",
     .members = 7,
     .crashes = 3,
     PROPOSING(MEMBERS_MAX, 1, 1)},
    {.name = "row",
     .summary = "several operations, one after the other",
     .members = 5,
     .crashes = 2,
     PROPOSING(MEMBERS_MAX, 5, 1)},
    {.name = "flight",
     .summary = "several operations in flight",
     .members = 5,
     .crashes = 2,
     PROPOSING(MEMBERS_MAX, 7, 3)},
    {.name = "news",
     .summary = "one operation, begun by the news of a failure",
     .members = 7,
     .crashes = 3,
     COMMON(MEMBERS_MAX, 1),
     .fenced = true,
     .parameter = PARAMETER(0, 1, 1),
     .notified = notified_of_news,
     .failed = failed,
     .liveness = liveness},
    {.name = "tiny",
     .summary = "one operation in a world to be explored whole",
     .members = 4,
     .crashes = 2,
     PROPOSING(8, 1, 1)},
    {.name = "tiny-row",
     .summary = "two operations in a row in a world to be explored whole",
     .members = 3,
     .crashes = 1,
     PROPOSING(8, 2, 1)},
    {.name = "tiny-flight",
     .summary = "two operations in flight in a world to be explored whole",
     .members = 3,
     .crashes = 1,
     PROPOSING(8, 2, 2)},
    {.name = "star",
     .summary = "several operations in flight, tree by node: bin/star, three members per node",
     .members = 9,
     .crashes = 3,
     PROPOSING_IN(SHAPE(RZ_AGREE_BIN_STAR, 3), MEMBERS_MAX, 4, 2)},
    {.name = "nodes",
     .summary = "several operations in flight, tree by node: bin/bin, four members per node",
     .members = 13,
     .crashes = 4,
     PROPOSING_IN(SHAPE(RZ_AGREE_BIN_BIN, 4), MEMBERS_MAX, 4, 2)},
    {.name = "tiny-star",
     .summary = "one operation, bin/star, two members per node, to be explored whole",
     .members = 4,
     .crashes = 2,
     PROPOSING_IN(SHAPE(RZ_AGREE_BIN_STAR, 2), 8, 1, 1)},
    {.name = "tiny-nodes",
     .summary = "one operation, bin/bin, four members per node, to be explored whole",
     .members = 5,
     .crashes = 1,
     PROPOSING_IN(SHAPE(RZ_AGREE_BIN_BIN, 4), 8, 1, 1)},
    MUTANT(RZ_AGREE_NO_FENCE, "fence", 4, 1, 1),
    MUTANT(RZ_AGREE_NO_SERVE_GATHERED, "serving-gathered", 4, 1, 1),
    MUTANT(RZ_AGREE_NO_REMEMBER_ASKER, "remembering-askers", 4, 1, 1),
    MUTANT(RZ_AGREE_NO_EARLY_REQUESTERS, "early-requesters", 4, 1, 1),
    MUTANT(RZ_AGREE_NO_RESULT_REQUEST, "result-request", 4, 1, 1),
    MUTANT(RZ_AGREE_NO_RESEND_UP, "resending-up", 4, 1, 1),
    MUTANT(RZ_AGREE_NO_LAG, "lag", 4, 2, 2),
    MUTANT(RZ_AGREE_COLLECT_EARLY, "late-collection", 3, 2, 2),
    {.name = "mutant-failed-cached",
     .summary = "cached decisions of members known failed are found, too: must be caught",
     .members = 4,
     .crashes = 2,
     COMMON(8, 1),
     .fenced = true,
     .parameter = PARAMETER(0, 1, 1),
     .start = start,
     .notified = notified_and_cached,
     .liveness = all_done,
     .violation_expected = true},
};
const size_t rz_agree_scenarios_count = sizeof(rz_agree_scenarios) / sizeof(*rz_agree_scenarios);
