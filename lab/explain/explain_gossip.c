/* SPDX-License-Identifier: BSD-3-Clause */
/* Detection and consensus by gossip, algorithm 2: the list. */
#include "explain/explain_state.h"

#include "proto/gossip/gossip.h"
#include "proto/gossip/gossip_check.h"

RZ_PROTOCOL(gossip, RZ_PROTOCOL_GOSSIP);

#define VIEW 5

static const void *config_of(struct rz_sim *sim, rz_id member)
{
    static struct rz_gossip_config config;
    (void)member;
    config = (struct rz_gossip_config){.n_members = rz_sim_members(sim),
                                       .view = VIEW,
                                       .kind = RZ_GOSSIP_LIST,
                                       .cycle = 5 * RZ_EXPLAIN_UNIT,
                                       .timeout = 3 * RZ_EXPLAIN_UNIT,
                                       .report = true};
    return &config;
}

static void start(struct rz_sim *sim)
{
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        rz_sim_call(sim, id, &(struct rz_sim_call){.call = RZ_GOSSIP_BEGIN});
    }
}

static bool safety(struct rz_sim *sim)
{
    return rz_gossip_check_accurate(rz_sim_group(sim));
}

static const struct rz_sim_scenario scenario = {.name = "explain",
                                                .protocol = &rz_protocol_gossip,
                                                .members_max = 32,
                                                .config = config_of,
                                                .start = start,
                                                .safety = safety,
                                                .crash_until = 8 * RZ_EXPLAIN_UNIT,
                                                .horizon = 400 * RZ_EXPLAIN_UNIT};

static void say_detected(const struct rz_explain_step *step, struct rz_explain_words *words)
{
    unsigned failed = (unsigned)step->arg[0];
    if (step->arg[1] == RZ_GOSSIP_OWN_PING) {
        snprintf(words->one, sizeof(words->one),
                 "gets no answer from %u in time: it takes %u for failed", failed, failed);
        snprintf(words->many, sizeof(words->many),
                 "get no answer from %u in time: they take %u for failed", failed, failed);
    } else {
        snprintf(words->one, sizeof(words->one), "hears by gossip that %u failed", failed);
        snprintf(words->many, sizeof(words->many), "hear by gossip that %u failed", failed);
    }
}

static void say(struct rz_sim *sim, const struct rz_explain_step *step,
                struct rz_explain_words *words)
{
    (void)sim;
    if (step->notices >> RZ_GOSSIP_RETURNED & 1) {
        rz_explain_say(words, "has heard nothing new for several cycles: its call returns",
                       "have heard nothing new for several cycles: their calls return");
    } else if (step->notices >> RZ_GOSSIP_DETECTED & 1) {
        say_detected(step, words);
    } else if (step->trigger == RZ_SIM_SEES_RECEIVE && step->message.type == RZ_GOSSIP_PING) {
        rz_explain_say(words, "answers with the list of failed members that it knows",
                       "answer with the lists of failed members that they know");
    } else if (step->sent[RZ_GOSSIP_PING]) {
        rz_explain_say(words, "sends its list to a member drawn at random",
                       "send their lists, each to a member drawn at random");
    }
}

static void look(struct rz_sim *sim, rz_id member, struct rz_explain_look *look)
{
    const struct rz_gossip *gossip = rz_sim_state(sim, member);
    uint32_t n;
    const uint64_t *failed = rz_gossip_failed(gossip, &n);
    look->tone = rz_gossip_returned(gossip) ? RZ_TONE_DONE : n > 0 ? RZ_TONE_ALARM : RZ_TONE_IDLE;
    rz_explain_label_known(failed, n, look->label[0]);
    if (look->tone == RZ_TONE_DONE) {
        snprintf(look->label[1], RZ_EXPLAIN_LABEL, "has returned");
    }
}

const struct rz_explain_subject rz_explain_gossip = {
    .name = "gossip",
    .title = "Failure detection by gossip",
    .summary = "Once per cycle each member sends its list of failed members to another one, drawn "
               "at random, "
               "and gets that one's list back; both merge them. A member that does not answer in "
               "time is taken "
               "for failed. So each failure is found by a ping, and known to all after a number of "
               "cycles that "
               "grows with the logarithm of the number of members. A call returns when nothing new "
               "has come "
               "for some cycles. Cycles in which no member learns anything are left out.",
    .one = "Member",
    .many = "Members",
    .scenario = &scenario,
    .members = 8,
    .kill = 1,
    .members_max = 32,
    .periodic = true,
    .type = {"PING: my list", "REPLY: my list"},
    .say = say,
    .look = look};
