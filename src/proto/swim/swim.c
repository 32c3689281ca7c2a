/* SPDX-License-Identifier: BSD-3-Clause */
/* SWIM: one step of a member. Its parameters, its periodic work (probe, gossip, exchange of
 * states), and its events. */
#include "proto/swim/swim_state.h"

#include "base/assert.h"
#include "proto/emit.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide_t;

#define RECORDS_MAX_FIRST 2

/* ---- the parameters' formulas (memberlist) ---- */

static void derive(struct rz_swim *swim)
{
    const struct rz_swim_config *config = &swim->config;
    uint32_t n = config->n_members;
    uint64_t scale = rz_swim_log10(n), one = UINT64_C(1) << 32;
    wide_t span = (wide_t)config->suspicion_mult * config->probe_interval;
    swim->patience_least = (rz_time)((span * (scale > one ? scale : one)) >> 32);
    swim->patience_most = swim->patience_least;
    swim->limit = config->retransmit_mult * rz_swim_ceil_log10((uint64_t)n + 1);
    if (!(config->lifeguard & RZ_SWIM_LIFEGUARD_SUSPICION) || config->suspicion_mult < 3) {
        return;
    }
    /* If there are fewer other members, a suspicion does not wait for that many. */
    uint32_t confirmations = config->suspicion_mult - 2;
    if (n < 2 + confirmations) {
        return;
    }
    swim->confirmations = confirmations;
    swim->patience_most = config->suspicion_max_mult * swim->patience_least;
}

/* Larger groups exchange less often: one more interval for each doubling above 32. */
static rz_time push_pull_interval(const struct rz_swim_config *config)
{
    uint32_t multiple = 1;
    for (uint64_t n = 32; n < config->n_members; n *= 2) {
        multiple++;
    }
    return config->push_pull_interval * multiple;
}

/* ---- the block ---- */

size_t rz_swim_size(const struct rz_swim_config *config)
{
    return rz_swim_bytes_for(config->records_max > 0 ? config->records_max : RECORDS_MAX_FIRST);
}

static rz_time some_time_within(struct rz_swim *swim, rz_time now, rz_time interval)
{
    return now + rz_random_below(&swim->random, interval);
}

void rz_swim_init(struct rz_swim *swim, const struct rz_swim_config *config, rz_id self,
                  rz_time now, uint64_t seed)
{
    rz_assert(self < config->n_members && config->n_members < UINT32_C(1) << 31);
    rz_assert(config->probe_timeout > 0 && config->probe_timeout < config->probe_interval);
    rz_assert(config->indirect_checks <= RZ_SWIM_TARGETS_MAX &&
              config->gossip_nodes <= RZ_SWIM_TARGETS_MAX && config->gossip_interval > 0);
    rz_assert(config->suspicion_mult > 0 && config->suspicion_max_mult > 0 &&
              config->suspicion_mult <= 1 + RZ_SWIM_OBSERVERS_MAX && config->retransmit_mult > 0);
    memset(swim, 0, rz_swim_size(config));
    swim->config = *config;
    swim->self = self;
    swim->max = config->records_max > 0 ? config->records_max : RECORDS_MAX_FIRST;
    swim->random.state = seed;
    swim->key = rz_random_next(&swim->random);
    swim->expires_at = RZ_TIME_NEVER;
    swim->probe_at = some_time_within(swim, now, config->probe_interval);
    swim->gossip_at = some_time_within(swim, now, config->gossip_interval);
    swim->push_pull_at = RZ_TIME_NEVER;
    if (config->push_pull_interval > 0) {
        swim->push_pull_at = some_time_within(swim, now, push_pull_interval(config));
    }
    derive(swim);
}

/* Whether `more` records, and a relay, fit; otherwise *out tells the size that the block must grow
 * to. */
static bool swim_has_room(const struct rz_swim *swim, uint32_t records, struct rz_actions *out)
{
    uint32_t wanted = swim->n_records + records;
    if (wanted <= swim->n_relays) {
        wanted = swim->n_relays + 1;
    }
    if (wanted <= swim->max) {
        return true;
    }
    out->need = rz_swim_bytes_for(2 * swim->max > wanted ? 2 * swim->max : wanted);
    return false;
}

/* ---- actions ---- */

struct rz_message *rz_swim_send(struct rz_swim *swim, enum rz_swim_message type, uint64_t seq,
                                uint32_t n_items, struct rz_actions *out)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_SEND);
    action->to = swim->to;
    action->n_to = swim->n_to;
    action->message = (struct rz_message){.protocol = RZ_PROTOCOL_SWIM,
                                          .type = (uint8_t)type,
                                          .view = swim->config.view,
                                          .from = swim->self,
                                          .origin = swim->self,
                                          .seq = seq,
                                          .n_items = n_items};
    action->items = rz_swim_items_of(swim);
    return &action->message;
}

struct rz_message *rz_swim_send_to(struct rz_swim *swim, rz_id to, enum rz_swim_message type,
                                   uint64_t seq, struct rz_actions *out)
{
    swim->to[0] = to;
    swim->n_to = 1;
    return rz_swim_send(swim, type, seq, rz_swim_queue_take(swim), out);
}

static void swim_notify(struct rz_actions *out, uint32_t what, rz_id member, uint32_t incarnation,
                        rz_id from)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_NOTIFY);
    action->what = what;
    action->arg[0] = member;
    action->arg[1] = incarnation;
    action->arg[2] = from;
}

/* Reports as many changes as the actions hold. */
static void tell_host(struct rz_swim *swim, struct rz_actions *out)
{
    if (swim->fenced) {
        swim_notify(out, RZ_SWIM_FENCED, swim->self, swim->incarnation, swim->self);
        swim->fenced = false;
        swim->n_untold = 0;
    }
    for (uint32_t i = 0; swim->n_untold > 0 && i < swim->n_records && out->count < out->max; i++) {
        struct rz_swim_record *record = rz_swim_record_at(swim, i);
        if (record->told == record->state) {
            continue;
        }
        swim_notify(out, record->state, record->member, record->incarnation, record->from);
        record->told = record->state;
        swim->n_untold--;
    }
}

/* ---- periodic work ---- */

static void gossip_begin(struct rz_swim *swim, rz_time now)
{
    rz_time interval = swim->config.gossip_interval;
    swim->gossip_at += ((now - swim->gossip_at) / interval + 1) * interval;
    swim->n_to = 0;
    rz_swim_draw(swim, swim->config.gossip_nodes, RZ_ID_NONE, false, now);
    memcpy(swim->packets, swim->to, sizeof(swim->packets));
    swim->n_packets = swim->n_to;
    /* A leaving member stays until its news are sent, unless there is no member to send them to. */
    if (swim->leaving && swim->n_to == 0) {
        rz_swim_record_at(swim, rz_swim_number_of(swim, swim->self))->queued = false;
    }
}

static void gossip_on(struct rz_swim *swim, struct rz_actions *out)
{
    rz_id to = swim->packets[--swim->n_packets];
    if (swim->n_queue > 0) {
        rz_swim_send_to(swim, to, RZ_SWIM_GOSSIP, 0, out);
    } else {
        swim->n_packets = 0;
    }
}

static void exchange(struct rz_swim *swim, enum rz_swim_message type, struct rz_actions *out)
{
    for (uint32_t i = 0; i < swim->n_records; i++) {
        rz_swim_update_of(rz_swim_record_at(swim, i), rz_swim_items_of(swim) + 2 * (size_t)i);
    }
    rz_swim_send(swim, type, 0, 2 * swim->n_records, out);
}

static void pull(struct rz_swim *swim, rz_time now, struct rz_actions *out)
{
    swim->push_pull_at = now + push_pull_interval(&swim->config);
    swim->n_to = 0;
    rz_swim_draw(swim, 1, RZ_ID_NONE, true, now);
    if (swim->n_to > 0) {
        exchange(swim, RZ_SWIM_PULL, out);
    }
}

static rz_time probe_deadline(const struct rz_swim *swim)
{
    if (swim->leaving) {
        return RZ_TIME_NEVER;
    }
    return swim->phase == RZ_SWIM_DIRECT && swim->indirect_at < swim->probe_at ? swim->indirect_at
                                                                               : swim->probe_at;
}

/* One action that is due; at most one message. */
static enum rz_more do_what_is_due(struct rz_swim *swim, rz_time now, struct rz_actions *out)
{
    if (swim->n_packets > 0) {
        gossip_on(swim, out);
    } else if (rz_swim_relay_give_up(swim, now, out)) {
        return RZ_DONE;
    } else if (swim->expires_at <= now) {
        rz_swim_expire(swim, now);
    } else if (probe_deadline(swim) <= now && now >= swim->probe_at) {
        if (swim->phase != RZ_SWIM_IDLE && !swim_has_room(swim, 1, out)) {
            return RZ_NEED;
        }
        rz_swim_probe_end(swim, now);
        rz_swim_probe_begin(swim, now, out);
    } else if (probe_deadline(swim) <= now) {
        rz_swim_probe_indirectly(swim, now, out);
    } else if (swim->push_pull_at <= now) {
        pull(swim, now, out);
    } else if (swim->n_queue > 0 && swim->gossip_at <= now) {
        gossip_begin(swim, now);
    }
    return RZ_DONE;
}

/* ---- events ---- */

/* A failure learnt by a full state exchange is taken for a suspicion only: the member may refute
 * it. */
static void hear_all(struct rz_swim *swim, const struct rz_event *event)
{
    const struct rz_message *message = event->message;
    bool exchanged = message->type == RZ_SWIM_PULL || message->type == RZ_SWIM_PUSH;
    struct rz_swim_update update;
    for (uint32_t i = 0; i + 1 < message->n_items && !swim->silent; i += 2) {
        if (!rz_swim_update_read(swim, event->items + i, &update)) {
            continue;
        }
        if (exchanged && update.state == RZ_SWIM_FAILED && !swim->config.final) {
            update.state = RZ_SWIM_SUSPECT;
            update.from = swim->self;
        }
        rz_swim_hear(swim, &update, event->now);
    }
}

static uint32_t count_unknown(const struct rz_swim *swim, const struct rz_event *event)
{
    uint32_t unknown = 0, others = swim->config.n_members - swim->n_records;
    struct rz_swim_update update;
    for (uint32_t i = 0; i + 1 < event->message->n_items && unknown < others; i += 2) {
        unknown += rz_swim_update_read(swim, event->items + i, &update) &&
                   rz_swim_number_of(swim, update.member) == RZ_SWIM_NO_RECORD;
    }
    return unknown;
}

/* News are processed before the answer is composed: a suspected member refutes in its answer. */
static enum rz_more swim_on_receive(struct rz_swim *swim, const struct rz_event *event,
                                    struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    if (message->view != swim->config.view || message->from >= swim->config.n_members ||
        message->from == swim->self || message->type >= RZ_SWIM_MESSAGE_COUNT) {
        return RZ_DONE;
    }
    if (message->type == RZ_SWIM_PING_REQUEST &&
        (message->word[0] >= swim->config.n_members || message->word[0] == swim->self)) {
        return RZ_DONE;
    }
    if (!swim_has_room(swim, count_unknown(swim, event), out)) {
        return RZ_NEED;
    }
    hear_all(swim, event);
    if (swim->silent) {
        return RZ_DONE;
    }
    if (message->type == RZ_SWIM_PING) {
        rz_swim_on_ping(swim, message, out);
    } else if (message->type == RZ_SWIM_ACK) {
        rz_swim_on_ack(swim, message, out);
    } else if (message->type == RZ_SWIM_PING_REQUEST) {
        rz_swim_on_ping_request(swim, message, event->now, out);
    } else if (message->type == RZ_SWIM_NACK) {
        rz_swim_on_nack(swim, message);
    }
    if (message->type == RZ_SWIM_PULL) {
        swim->to[0] = message->from;
        swim->n_to = 1;
        exchange(swim, RZ_SWIM_PUSH, out);
    }
    return RZ_DONE;
}

static enum rz_more swim_on_failure(struct rz_swim *swim, const struct rz_event *event,
                                    struct rz_actions *out)
{
    if (!swim_has_room(swim, event->n_ids, out)) {
        return RZ_NEED;
    }
    for (uint32_t i = 0; i < event->n_ids; i++) {
        rz_id id = event->ids[i];
        rz_assert(id < swim->config.n_members);
        if (id == swim->self) {
            rz_swim_fence(swim);
            return RZ_DONE;
        }
        const struct rz_swim_record *record = rz_swim_find(swim, id);
        rz_swim_hear(swim,
                     &(struct rz_swim_update){.member = id,
                                              .from = swim->self,
                                              .incarnation = record ? record->incarnation : 0,
                                              .state = RZ_SWIM_FAILED},
                     event->now);
    }
    return RZ_DONE;
}

static enum rz_more swim_on_leave(struct rz_swim *swim, rz_time now, struct rz_actions *out)
{
    if (swim->leaving) {
        return RZ_DONE;
    }
    if (!swim_has_room(swim, 1, out)) {
        return RZ_NEED;
    }
    uint32_t number = rz_swim_provide(swim, swim->self);
    struct rz_swim_record *record = rz_swim_record_at(swim, number);
    record->state = record->told = RZ_SWIM_LEFT;
    swim->n_gone++;
    swim->leaving = true;
    swim->phase = RZ_SWIM_IDLE;
    rz_swim_queue_put(swim, number, now);
    return RZ_DONE;
}

static void leave_when_said(struct rz_swim *swim, struct rz_actions *out)
{
    bool alone = swim->config.n_members == 1;
    if (!swim->leaving || (!alone && rz_swim_find(swim, swim->self)->queued)) {
        return;
    }
    swim->silent = true;
    swim_notify(out, RZ_SWIM_TOLD_LEFT, swim->self, swim->incarnation, swim->self);
}

static enum rz_more serve(struct rz_swim *swim, const struct rz_event *event,
                          struct rz_actions *out)
{
    switch (event->kind) {
    case RZ_EVENT_RECEIVE:
        return swim_on_receive(swim, event, out);
    case RZ_EVENT_FAILURE:
        return swim_on_failure(swim, event, out);
    case RZ_EVENT_CALL:
        if (event->call == RZ_SWIM_LEAVE) {
            return swim_on_leave(swim, event->now, out);
        }
        rz_assert(event->call == RZ_SWIM_HOLD);
        rz_swim_hold(swim, (rz_id)event->arg[0], event->now + event->arg[1]);
        return RZ_DONE;
    case RZ_EVENT_TICK:
    case RZ_EVENT_CONTINUE:
        break;
    }
    return do_what_is_due(swim, event->now, out);
}

enum rz_more rz_swim_step(struct rz_swim *swim, const struct rz_event *event,
                          struct rz_actions *out)
{
    if (swim->silent) {
        return RZ_DONE;
    }
    enum rz_more more = serve(swim, event, out);
    if (more == RZ_NEED) {
        return RZ_NEED;
    }
    tell_host(swim, out);
    if (swim->silent) {
        return RZ_DONE;
    }
    if (swim->n_untold > 0 || swim->n_packets > 0 || out->count == out->max) {
        return RZ_MORE;
    }
    leave_when_said(swim, out);
    bool ticking = event->kind == RZ_EVENT_TICK || event->kind == RZ_EVENT_CONTINUE;
    return ticking && rz_swim_deadline(swim) <= event->now ? RZ_MORE : RZ_DONE;
}

static rz_time earlier(rz_time a, rz_time b)
{
    return a < b ? a : b;
}

rz_time rz_swim_deadline(const struct rz_swim *swim)
{
    if (swim->silent || swim->config.n_members < 2) {
        return RZ_TIME_NEVER;
    }
    rz_time at = earlier(probe_deadline(swim), rz_swim_relays_deadline(swim));
    at = earlier(earlier(at, swim->expires_at), swim->push_pull_at);
    return swim->n_queue > 0 ? earlier(at, swim->gossip_at) : at;
}
