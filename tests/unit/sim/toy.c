/* SPDX-License-Identifier: BSD-3-Clause */
/* The toy protocol, its deliberate faults, and the scenarios that must find them. */
#include "toy.h"

#include "base/assert.h"
#include "base/random.h"

#include <string.h>

#define FIRST_PROTOCOL 1
#define COPIES 10 /* sends of one call: more than RZ_ACTIONS_MIN */
#define TICK_AT 3

/* The flat state; what it has received grows by need, one entry at a time. */
struct rz_toy {
    rz_id self;
    enum toy_kind kind;
    uint32_t n, cursor, max, n_got, n_failed;
    bool sending, ticked;
    rz_id to[COPIES];
    rz_id failed[2];
    uint64_t got[];
};

static enum toy_kind config_kind;
static uint32_t config_n;

static size_t rz_toy_size(const void *config)
{
    (void)config;
    return sizeof(struct rz_toy) + FIRST_PROTOCOL * sizeof(uint64_t);
}

static void rz_toy_init(struct rz_toy *toy, const void *config, rz_id self, rz_time now,
                        uint64_t seed)
{
    (void)config, (void)now, (void)seed;
    memset(toy, 0, rz_toy_size(NULL));
    toy->self = self;
    toy->kind = config_kind;
    toy->n = config_n;
    toy->max = FIRST_PROTOCOL;
}

static void rz_toy_grow(struct rz_toy *toy, size_t bytes)
{
    toy->max = (uint32_t)((bytes - sizeof(*toy)) / sizeof(uint64_t));
}

static void send(struct rz_toy *toy, rz_id to, uint64_t seq, struct rz_actions *out)
{
    struct rz_action *action = &out->v[out->count++];
    *action = (struct rz_action){.kind = RZ_ACTION_SEND, .to = &toy->to[seq % COPIES], .n_to = 1};
    toy->to[seq % COPIES] = to;
    action->message = (struct rz_message){
        .protocol = RZ_PROTOCOL_RING, .from = toy->self, .origin = toy->self, .seq = seq};
}

static void notify(struct rz_actions *out, uint64_t seq)
{
    out->v[out->count++] = (struct rz_action){.kind = RZ_ACTION_NOTIFY, .what = 0, .arg = {seq}};
}

/* One multicast as COPIES sends: what does not fit into the buffer follows by RZ_MORE. */
static enum rz_more send_on(struct rz_toy *toy, struct rz_actions *out)
{
    uint32_t copies = toy->kind == TOY_SOUND ? COPIES : toy->n - 1;
    for (; toy->cursor < copies; toy->cursor++) {
        if (out->count == out->max) {
            return RZ_MORE;
        }
        rz_id to =
            toy->kind == TOY_ORDER || toy->kind == TOY_ASSERT ? 1 : toy->cursor % (toy->n - 1) + 1;
        send(toy, to, toy->cursor + 1, out);
    }
    toy->sending = false;
    return RZ_DONE;
}

static enum rz_more receive(struct rz_toy *toy, const struct rz_message *message,
                            struct rz_actions *out)
{
    rz_assert(toy->kind != TOY_ASSERT || message->seq != 2);
    if (toy->kind == TOY_ENDLESS) {
        send(toy, message->from, message->seq, out);
        return RZ_DONE;
    }
    if (toy->n_got == toy->max) {
        out->need = sizeof(*toy) + (toy->max + 1) * sizeof(uint64_t);
        return RZ_NEED;
    }
    toy->got[toy->n_got++] = message->seq;
    notify(out, message->seq);
    return RZ_DONE;
}

static enum rz_more rz_toy_step(struct rz_toy *toy, const struct rz_event *event,
                                struct rz_actions *out)
{
    rz_assert(toy->sending == (event->kind == RZ_EVENT_CONTINUE));
    switch (event->kind) {
    case RZ_EVENT_CALL:
        toy->sending = true;
        return send_on(toy, out);
    case RZ_EVENT_CONTINUE:
        return send_on(toy, out);
    case RZ_EVENT_RECEIVE:
        return receive(toy, event->message, out);
    case RZ_EVENT_FAILURE:
        for (uint32_t i = 0; i < event->n_ids && toy->n_failed < 2; i++) {
            toy->failed[toy->n_failed++] = event->ids[i];
        }
        return RZ_DONE;
    case RZ_EVENT_TICK:
        rz_assert(!toy->ticked && event->now >= TICK_AT);
        toy->ticked = true;
        return RZ_DONE;
    }
    return RZ_DONE;
}

static rz_time rz_toy_deadline(const struct rz_toy *toy)
{
    return toy->ticked || toy->kind != TOY_LATE ? RZ_TIME_NEVER : TICK_AT;
}

static uint64_t rz_toy_hash(const struct rz_toy *toy)
{
    uint64_t hash = rz_mix(toy->n_got, toy->ticked);
    for (uint32_t i = 0; i < toy->n_got; i++) {
        hash = rz_mix(hash, toy->got[i]);
    }
    for (uint32_t i = 0; i < toy->n_failed; i++) {
        hash = rz_mix(hash, toy->failed[i]);
    }
    return hash;
}

RZ_PROTOCOL(toy, RZ_PROTOCOL_RING);

/* ---- scenarios ---- */

/* Which members' hosts were notified: survives the member. */
struct record {
    bool got[8];
};

static const void *config(struct rz_sim *sim, rz_id member)
{
    (void)member;
    config_kind = (enum toy_kind)rz_sim_scenario(sim)->parameter;
    config_n = rz_sim_members(sim);
    return &config_kind;
}

static void start(struct rz_sim *sim)
{
    rz_sim_call(sim, 0, &(struct rz_sim_call){.call = 0});
}

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    struct record *record = rz_sim_record(sim);
    rz_assert(notice->arg[0] > 0);
    record->got[member] = true;
}

static bool no_gap(struct rz_sim *sim)
{
    const struct record *record = rz_sim_record(sim);
    if (!record->got[1] && record->got[2] && !record->got[3]) {
        return rz_sim_say(sim, "only 2 got it");
    }
    return true;
}

static bool in_order(struct rz_sim *sim)
{
    const struct rz_toy *toy = rz_sim_state(sim, 1);
    for (uint32_t i = 1; toy && i < toy->n_got; i++) {
        if (toy->got[i] < toy->got[i - 1]) {
            return rz_sim_say(sim, "message %u overtook", (unsigned)toy->got[i - 1]);
        }
    }
    return true;
}

static bool same_order_of_failures(struct rz_sim *sim)
{
    const struct rz_toy *first = NULL;
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        const struct rz_toy *toy = rz_sim_state(sim, id);
        if (!toy || toy->n_failed < 2) {
            continue;
        }
        if (first && first->failed[0] != toy->failed[0]) {
            return rz_sim_say(sim, "%u and %u learnt in different orders", first->self, id);
        }
        first = toy;
    }
    return true;
}

/* A message of date 0 arrives by date 2, before the tick of date 3. */
static bool tick_after_message(struct rz_sim *sim)
{
    for (rz_id id = 1; id < rz_sim_members(sim); id++) {
        const struct rz_toy *toy = rz_sim_state(sim, id);
        if (toy && toy->ticked && toy->n_got == 0) {
            return rz_sim_say(sim, "%u ticked before its message came", id);
        }
    }
    return true;
}

static bool all_told_of_failures(struct rz_sim *sim)
{
    uint32_t failed = 0;
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        failed += !rz_sim_alive(sim, id);
    }
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        const struct rz_toy *toy = rz_sim_state(sim, id);
        if (toy && toy->n_failed != failed) {
            return rz_sim_say(sim, "%u knows %u of %u failures", id, toy->n_failed, failed);
        }
    }
    return true;
}

#define TOY(kind_, name_, crashes_)                                                                \
    .name = (name_), .summary = "for the tests of the engine", .protocol = &rz_protocol_toy,       \
    .members = 4, .crashes = (crashes_), .parameter = (kind_),                                     \
    .record_bytes = sizeof(struct record), .config = config, .start = start, .notified = notified

const struct rz_sim_scenario toy_scenarios[TOY_KINDS] = {
    {TOY(TOY_SOUND, "sound", 2), .detector = RZ_SIM_DETECTOR_PERFECT,
     .liveness = all_told_of_failures},
    {TOY(TOY_GAP, "gap", 2), .liveness = no_gap},
    {TOY(TOY_ORDER, "order", 0), .safety = in_order},
    {TOY(TOY_ORDER_FAILURES, "order-failures", 2), .detector = RZ_SIM_DETECTOR_PERFECT,
     .safety = same_order_of_failures},
    {TOY(TOY_ASSERT, "assert", 0)},
    {TOY(TOY_ENDLESS, "endless", 0)},
    {TOY(TOY_LATE, "late", 0), .safety = tick_after_message, .latency_max = 2, .tick = 1,
     .crash_until = 1, .horizon = 5},
};
