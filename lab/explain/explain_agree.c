/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement: one operation, proposed by all members at once. */
#include "explain/explain_state.h"

#include "proto/agree/agree.h"
#include "proto/agree/agree_check.h"
#include "proto/agree/agree_tree.h"

RZ_PROTOCOL(agree, RZ_PROTOCOL_AGREE);

enum { UP, DOWN, REQUEST };
#define VIEW 7

static const void *config_of(struct rz_sim *sim, rz_id member)
{
    static struct rz_agree_config config;
    (void)member;
    config = (struct rz_agree_config){
        .n_members = rz_sim_members(sim), .view = VIEW, .in_flight_max = 1, .items_max = 2};
    return &config;
}

static struct rz_agree_proposal proposal_of(rz_id member, uint64_t seq)
{
    return (struct rz_agree_proposal){
        .and = ~(UINT64_C(1) << member), .min = member, .max = member, .item = 1000 * seq + member};
}

static void start(struct rz_sim *sim)
{
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        struct rz_agree_proposal proposal = proposal_of(member, 1);
        rz_sim_call(sim, member,
                    &(struct rz_sim_call){.call = RZ_AGREE_PROPOSE,
                                          .arg = {proposal.and, proposal.min, proposal.max},
                                          .items = &proposal.item,
                                          .n_items = 1});
    }
}

static bool safety(struct rz_sim *sim)
{
    const struct rz_check_group *group = rz_sim_group(sim);
    return rz_agree_check_agreement(group) && rz_agree_check_participation(group, proposal_of);
}

static bool liveness(struct rz_sim *sim)
{
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        const struct rz_agree *agree = rz_sim_state(sim, id);
        if (agree && rz_agree_decided(agree) != 1) {
            return rz_sim_say(sim, "member %u has not decided", id);
        }
    }
    return true;
}

static const struct rz_sim_scenario scenario = {.name = "explain",
                                                .protocol = &rz_protocol_agree,
                                                .members_max = 31,
                                                .detector = RZ_SIM_DETECTOR_PERFECT,
                                                .config = config_of,
                                                .start = start,
                                                .safety = safety,
                                                .liveness = liveness,
                                                .fenced = true};

static bool decides(const struct rz_explain_step *step)
{
    return step->notices >> RZ_AGREE_DECIDED & 1;
}

static void say_up(const struct rz_explain_step *step, struct rz_explain_words *words)
{
    if (decides(step)) {
        rz_explain_say(
            words, "has the values of all living members: it decides, and sends the decision down",
            "have the values of all living members: they decide, and send the decision down");
    } else if (step->sent[DOWN]) {
        rz_explain_say(words, "has decided already, and answers with the decision",
                       "have decided already, and answer with the decision");
    } else if (step->sent[UP]) {
        rz_explain_say(words,
                       "combines its children's values with its own, and sends the result up",
                       "combine their children's values with their own, and send the result up");
    } else {
        rz_explain_say(words, "takes a value from below, and waits for the others",
                       "take a value from below, and wait for the others");
        words->minor = true;
    }
}

static void say_down(const struct rz_explain_step *step, struct rz_explain_words *words)
{
    if (step->sent[DOWN] && decides(step)) {
        rz_explain_say(words, "receives the decision, and passes it on",
                       "receive the decision, and pass it on");
    } else if (decides(step)) {
        rz_explain_say(words, "receives the decision: its call returns",
                       "receive the decision: their calls return");
    } else {
        rz_explain_say(words, "receives the decision once more: nothing changes",
                       "receive the decision once more: nothing changes");
    }
}

static void say_request(const struct rz_explain_step *step, struct rz_explain_words *words)
{
    if (step->sent[DOWN]) {
        rz_explain_say(words, "is asked by its new parent, and answers with the decision",
                       "are asked by their new parent, and answer with the decision");
    } else if (step->sent[UP]) {
        rz_explain_say(words, "is asked by its new parent, and sends its value up again",
                       "are asked by their new parent, and send their values up again");
    } else {
        rz_explain_say(words, "is asked by its new parent: it will answer when it has all values",
                       "are asked by their new parent: they will answer when they have all values");
    }
}

static void say_told(const struct rz_explain_step *step, struct rz_explain_words *words)
{
    const char *then_one = "", *then_many = "";
    if (decides(step)) {
        then_one = ": it waits for no other member now, decides, and sends the decision down";
        then_many = ": they decide, and send the decision down";
    } else if (step->sent[UP]) {
        then_one = ", and sends its value to its new parent";
        then_many = ", and send their values to their new parent";
    } else if (step->sent[REQUEST]) {
        then_one = ", and asks its new children for what they know";
        then_many = ", and ask their new children for what they know";
    } else if (step->sent[DOWN]) {
        then_one = ", and sends the decision to its new children";
        then_many = ", and send the decision to their new children";
    }
    rz_explain_say_told(words, step, then_one, then_many);
}

static void say(struct rz_sim *sim, const struct rz_explain_step *step,
                struct rz_explain_words *words)
{
    const struct rz_agree *agree = rz_sim_state(sim, step->member);
    if (step->trigger == RZ_SIM_SEES_TOLD) {
        say_told(step, words);
    } else if (step->trigger == RZ_SIM_SEES_CALL && step->sent[UP]) {
        rz_explain_say(words, "proposes, and sends its value up to its parent",
                       "propose, and send their values up to their parents");
    } else if (step->trigger == RZ_SIM_SEES_CALL) {
        rz_explain_say(words, "proposes, and waits for the values of its children",
                       "propose, and wait for the values of their children");
    } else if (rz_agree_knows_failed(agree, step->other)) {
        snprintf(words->one, sizeof(words->one),
                 "drops the message of %u, because it knows that %u has failed", step->other,
                 step->other);
        snprintf(words->many, sizeof(words->many),
                 "drop the message of %u, because they know that %u has failed", step->other,
                 step->other);
    } else if (step->message.type == UP) {
        say_up(step, words);
    } else if (step->message.type == DOWN) {
        say_down(step, words);
    } else {
        say_request(step, words);
    }
}

static void look(struct rz_sim *sim, rz_id member, struct rz_explain_look *look)
{
    const struct rz_agree *agree = rz_sim_state(sim, member);
    rz_id awaited = rz_agree_awaited(agree);
    look->tone = rz_agree_decided(agree)    ? RZ_TONE_DONE
                 : rz_agree_proposed(agree) ? RZ_TONE_BUSY
                                            : RZ_TONE_IDLE;
    if (look->tone == RZ_TONE_DONE) {
        snprintf(look->label[0], RZ_EXPLAIN_LABEL, "decided");
    } else if (look->tone == RZ_TONE_BUSY && awaited != RZ_ID_NONE) {
        snprintf(look->label[0], RZ_EXPLAIN_LABEL, "waits for %u", awaited);
    }
}

/* The tree as each member sees it: a line to its parent. */
static void links(struct rz_sim *sim, struct rz_explain_frame *frame)
{
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        const struct rz_agree *agree = rz_sim_state(sim, id);
        rz_id failed[RZ_EXPLAIN_MEMBERS_MAX];
        uint32_t n = 0;
        for (rz_id other = 0; agree && other < rz_sim_members(sim); other++) {
            if (rz_agree_knows_failed(agree, other)) {
                failed[n++] = other;
            }
        }
        const struct rz_agree_tree_view view = {
            .n_members = rz_sim_members(sim), .per_node = 1, .failed = failed, .n_failed = n};
        rz_id parent = agree ? rz_agree_tree_parent(&view, id) : id;
        if (parent != id) {
            rz_explain_link(frame, id, parent, true);
        }
    }
}

const struct rz_explain_subject rz_explain_agree = {
    .name = "agree",
    .title = "Agreement that returns early",
    .summary =
        "All members propose a value, and all that live return the same combination of them, "
        "although members fail meanwhile. The values go up a binary tree, where each member "
        "combines "
        "its children's values with its own; the root decides, and the decision goes down. A "
        "member "
        "returns as soon as it knows the decision. When a member fails, its children belong to its "
        "nearest living ancestor, and those that have no answer yet ask again.",
    .one = "Member",
    .many = "Members",
    .scenario = &scenario,
    .members = 7,
    .kill = 1,
    .members_max = 31,
    .tree = 1,
    .type = {"UP: the values of a subtree", "DOWN: the decision", "REQUEST: what do you know?"},
    .say = say,
    .look = look,
    .links = links};
