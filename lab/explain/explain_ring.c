/* SPDX-License-Identifier: BSD-3-Clause */
/* The heartbeat ring: failures found by silence, news of them by the host. */
#include "explain/explain_state.h"

#include "proto/ring/ring.h"
#include "proto/ring/ring_check.h"

RZ_PROTOCOL(ring, RZ_PROTOCOL_RING);

#define VIEW 3

static const void *config_of(struct rz_sim *sim, rz_id member)
{
    static struct rz_ring_config config;
    (void)member;
    config = (struct rz_ring_config){.n_members = rz_sim_members(sim),
                                     .view = VIEW,
                                     .hb_period = 4 * RZ_EXPLAIN_UNIT,
                                     .hb_timeout = 10 * RZ_EXPLAIN_UNIT,
                                     .start_slack = 2 * RZ_EXPLAIN_UNIT};
    return &config;
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    if (notice->what == RZ_RING_FENCED) {
        rz_sim_halt(sim, member);
        return;
    }
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        rz_sim_tell(sim, id, (rz_id)notice->arg[0]);
    }
}

static bool safety(struct rz_sim *sim)
{
    const struct rz_check_group *group = rz_sim_group(sim);
    return rz_ring_check_accurate(group) && rz_ring_check_safety(group);
}

static bool liveness(struct rz_sim *sim)
{
    const struct rz_check_group *group = rz_sim_group(sim);
    return rz_ring_check_accurate(group) && rz_ring_check_stable(group) &&
           rz_ring_check_complete(group);
}

static const struct rz_sim_scenario scenario = {.name = "explain",
                                                .protocol = &rz_protocol_ring,
                                                .members_max = 32,
                                                .config = config_of,
                                                .notified = notified,
                                                .safety = safety,
                                                .liveness = liveness,
                                                .crash_until = 16 * RZ_EXPLAIN_UNIT,
                                                .horizon = 400 * RZ_EXPLAIN_UNIT};

static void say(struct rz_sim *sim, const struct rz_explain_step *step,
                struct rz_explain_words *words)
{
    (void)sim;
    if (step->notices >> RZ_RING_SUSPECT & 1) {
        snprintf(words->one, sizeof(words->one),
                 "has heard nothing from %u for the timeout: it takes %u for failed, asks its next "
                 "predecessor for heartbeats, and tells all",
                 (unsigned)step->arg[0], (unsigned)step->arg[0]);
        rz_explain_say_alike(words);
    } else if (step->trigger == RZ_SIM_SEES_TOLD) {
        const char *then =
            step->sent[RZ_RING_REQUEST] ? ", and asks its next predecessor for heartbeats" : "";
        rz_explain_say_told(words, step, then, "");
    } else if (step->trigger == RZ_SIM_SEES_RECEIVE && step->message.type == RZ_RING_REQUEST) {
        snprintf(words->one, sizeof(words->one),
                 "is asked by %u, and sends its heartbeats there from now on", step->other);
        rz_explain_say_alike(words);
    } else if (step->trigger == RZ_SIM_SEES_TICK && step->sent[RZ_RING_HEARTBEAT]) {
        rz_explain_say(words, "sends a heartbeat to its observer",
                       "send a heartbeat, each to its observer");
    }
}

static void look(struct rz_sim *sim, rz_id member, struct rz_explain_look *look)
{
    const struct rz_ring *ring = rz_sim_state(sim, member);
    rz_id observed = rz_ring_observing(ring);
    uint32_t n;
    const uint64_t *out = rz_ring_out(ring, &n);
    look->tone = n > 0 ? RZ_TONE_ALARM : RZ_TONE_IDLE;
    if (observed != RZ_ID_NONE) {
        snprintf(look->label[0], RZ_EXPLAIN_LABEL, "watches %u", observed);
    }
    rz_explain_label_known(out, n, look->label[1]);
}

static void links(struct rz_sim *sim, struct rz_explain_frame *frame)
{
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        const struct rz_ring *ring = rz_sim_state(sim, id);
        rz_id observed = ring ? rz_ring_observing(ring) : RZ_ID_NONE;
        if (observed != RZ_ID_NONE) {
            rz_explain_link(frame, id, observed, true);
        }
    }
}

const struct rz_explain_subject rz_explain_ring = {
    .name = "ring",
    .title = "The ring of heartbeats",
    .summary =
        "Each member sends heartbeats to one other, its observer, and is the observer of one "
        "other. An "
        "observer that hears nothing for the timeout takes the member for failed, tells all others "
        "(here the host spreads the news), and closes the ring: it asks the nearest living "
        "predecessor for heartbeats. A heartbeat period here is 4 transfer times, the timeout 10. "
        "Periods in which nothing changes are left out.",
    .one = "Member",
    .many = "Members",
    .scenario = &scenario,
    .members = 8,
    .kill = 1,
    .members_max = 32,
    .periodic = true,
    .quiet = 1u << RZ_RING_HEARTBEAT,
    .type = {"HEARTBEAT", "REQUEST: send your heartbeats to me", "QUIT: I leave"},
    .say = say,
    .look = look,
    .links = links};
