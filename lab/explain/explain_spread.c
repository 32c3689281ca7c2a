/* SPDX-License-Identifier: BSD-3-Clause */
/* Reliable broadcast of one item on the binomial graph. */
#include "explain/explain_state.h"

#include "proto/spread/spread.h"
#include "proto/spread/spread_check.h"

RZ_PROTOCOL(spread, RZ_PROTOCOL_SPREAD);

enum { ITEM = 100, VIEW = 7 };

static const void *config_of(struct rz_sim *sim, rz_id member)
{
    static struct rz_spread_config config;
    (void)member;
    config = (struct rz_spread_config){.n_members = rz_sim_members(sim),
                                       .view = VIEW,
                                       .items_max = 1,
                                       .redundant_after = 4 * RZ_EXPLAIN_UNIT};
    return &config;
}

static void start(struct rz_sim *sim)
{
    static const uint64_t item = ITEM;
    rz_sim_call(sim, 0,
                &(struct rz_sim_call){.call = RZ_SPREAD_BROADCAST, .items = &item, .n_items = 1});
}

static bool safety(struct rz_sim *sim)
{
    static const uint64_t item = ITEM;
    return rz_spread_check_no_invention(rz_sim_group(sim), &item, 1);
}

static bool liveness(struct rz_sim *sim)
{
    return rz_spread_check_all_know(rz_sim_group(sim));
}

static const struct rz_sim_scenario scenario = {.name = "explain",
                                                .protocol = &rz_protocol_spread,
                                                .members_max = 32,
                                                .detector = RZ_SIM_DETECTOR_PERFECT,
                                                .config = config_of,
                                                .start = start,
                                                .safety = safety,
                                                .liveness = liveness};

static void say(struct rz_sim *sim, const struct rz_explain_step *step,
                struct rz_explain_words *words)
{
    bool sends = step->sent[RZ_SPREAD_NEWS], new = step->notices >> RZ_SPREAD_DELIVER & 1;
    (void)sim;
    if (step->trigger == RZ_SIM_SEES_CALL) {
        rz_explain_say(words, "begins the broadcast: it sends the item to its children in its tree",
                       "begin the broadcast");
    } else if (step->trigger == RZ_SIM_SEES_TOLD) {
        rz_explain_say_told(words, step, sends ? ", and sends the item beside the tree, too" : "",
                            sends ? ", and send the item beside the tree, too" : "");
    } else if (step->trigger == RZ_SIM_SEES_TICK && sends) {
        rz_explain_say(words,
                       "sends the item to the neighbours that have not shown that they have it",
                       "send the item to the neighbours that have not shown that they have it");
    } else if (new &&sends) {
        rz_explain_say(words, "receives the item, and passes it on",
                       "receive the item, and pass it on");
    } else if (new) {
        rz_explain_say(words, "receives the item", "receive the item");
    } else if (step->trigger == RZ_SIM_SEES_RECEIVE) {
        rz_explain_say(words, "receives the item again, and drops it",
                       "receive the item again, and drop it");
    }
}

static void look(struct rz_sim *sim, rz_id member, struct rz_explain_look *look)
{
    const struct rz_spread *spread = rz_sim_state(sim, member);
    if (rz_spread_knows(spread, ITEM)) {
        look->tone = RZ_TONE_DONE;
        snprintf(look->label[0], RZ_EXPLAIN_LABEL, "has it");
    }
}

/* The graph, and in it the tree of the origin, 0. */
static void links(struct rz_sim *sim, struct rz_explain_frame *frame)
{
    rz_id to[RZ_SPREAD_NEIGHBOURS_MAX];
    uint32_t n = rz_sim_members(sim);
    for (rz_id id = 0; id < n; id++) {
        uint32_t all = rz_spread_neighbours(n, id, 0, to);
        uint32_t children = rz_spread_children(n, id, 0);
        for (uint32_t i = 0; i < all; i++) {
            rz_explain_link(frame, id, to[i], i < children);
        }
    }
}

const struct rz_explain_subject rz_explain_spread = {
    .name = "spread",
    .title = "Reliable broadcast on the binomial graph",
    .summary =
        "Member 0 has news, and all living members must get it. In the binomial graph each member "
        "has the neighbours at the distances 1, 2, 4, ... on both sides. The news goes down a "
        "binomial tree of the graph first (dark lines); a little later each member sends it to its "
        "other "
        "neighbours (light lines), too, unless they have shown that they have it. Where a member "
        "of the tree fails, "
        "the news goes round it.",
    .one = "Member",
    .many = "Members",
    .scenario = &scenario,
    .members = 8,
    .kill = 1,
    .members_max = 32,
    .type = {"NEWS: the item"},
    .say = say,
    .look = look,
    .links = links};
