/* SPDX-License-Identifier: BSD-3-Clause */
/* The toy protocol of the timing engine, and a log of what its members report. */
#include "timing_toy.h"

#include "base/assert.h"
#include "base/random.h"

#include <string.h>

#define TO_MAX 32

struct rz_toy {
    rz_id self;
    uint32_t number; /* of the component */
    rz_time started, deadline;
    uint64_t left; /* of TOY_MANY */
    rz_id to[TO_MAX];
    uint64_t items[TO_MAX];
    uint64_t bytes;
};

static size_t rz_toy_size(const void *config)
{
    (void)config;
    return sizeof(struct rz_toy);
}

static void rz_toy_init(struct rz_toy *toy, const void *config, rz_id self, rz_time now,
                        uint64_t seed)
{
    (void)seed;
    memset(toy, 0, sizeof(*toy));
    toy->started = now;
    toy->self = self;
    toy->number = *(const uint32_t *)config;
    toy->deadline = RZ_TIME_NEVER;
    toy->bytes = sizeof(*toy);
}

rz_time toy_started(const void *state)
{
    return ((const struct rz_toy *)state)->started;
}

static void rz_toy_grow(struct rz_toy *toy, size_t bytes)
{
    toy->bytes = bytes;
}

static struct rz_action *emit(struct rz_actions *out, enum rz_action_kind kind)
{
    rz_assert(out->count < out->max);
    struct rz_action *action = &out->v[out->count++];
    memset(action, 0, sizeof(*action));
    action->kind = kind;
    return action;
}

static void notify(struct rz_actions *out, enum toy_notice what, uint64_t a, uint64_t b, uint64_t c)
{
    struct rz_action *action = emit(out, RZ_ACTION_NOTIFY);
    action->what = what;
    action->arg[0] = a;
    action->arg[1] = b;
    action->arg[2] = c;
}

static void send(struct rz_toy *toy, uint32_t n_to, uint8_t type, uint64_t seq, uint32_t n_items,
                 struct rz_actions *out)
{
    struct rz_action *action = emit(out, RZ_ACTION_SEND);
    action->to = toy->to;
    action->n_to = n_to;
    action->items = toy->items;
    action->message = (struct rz_message){.protocol = (uint8_t)toy->number,
                                          .type = type,
                                          .from = toy->self,
                                          .origin = toy->self,
                                          .seq = seq,
                                          .n_items = n_items};
}

static enum rz_more send_many(struct rz_toy *toy, struct rz_actions *out)
{
    for (; toy->left > 0; toy->left--) {
        if (out->count == out->max) {
            return RZ_MORE;
        }
        send(toy, 1, TOY_NEWS, toy->left, 0, out);
    }
    return RZ_DONE;
}

static enum rz_more on_call(struct rz_toy *toy, const struct rz_event *event,
                            struct rz_actions *out)
{
    switch ((enum toy_call)event->call) {
    case TOY_SEND:
        rz_assert(event->n_items <= TO_MAX && event->arg[2] <= TO_MAX);
        for (uint32_t i = 0; i < event->n_items; i++) {
            toy->to[i] = (rz_id)event->items[i];
        }
        send(toy, event->n_items, (uint8_t)event->arg[0], event->arg[1], (uint32_t)event->arg[2],
             out);
        break;
    case TOY_MANY:
        toy->left = event->arg[0];
        toy->to[0] = (rz_id)event->arg[1];
        return send_many(toy, out);
    case TOY_TIMER:
        toy->deadline = event->arg[0];
        break;
    case TOY_GROW:
        if (toy->bytes < sizeof(*toy) + event->arg[0]) {
            out->need = sizeof(*toy) + event->arg[0];
            return RZ_NEED;
        }
        notify(out, TOY_GROWN, toy->bytes, 0, 0);
        break;
    }
    return RZ_DONE;
}

static enum rz_more rz_toy_step(struct rz_toy *toy, const struct rz_event *event,
                                struct rz_actions *out)
{
    switch (event->kind) {
    case RZ_EVENT_CALL:
        return on_call(toy, event, out);
    case RZ_EVENT_CONTINUE:
        return send_many(toy, out);
    case RZ_EVENT_RECEIVE:
        notify(out, TOY_RECEIVED, event->message->from, event->message->seq, event->message->type);
        if (event->message->type != TOY_PING) {
            break;
        }
        toy->to[0] = event->message->from;
        send(toy, 1, TOY_NEWS, event->message->seq, 0, out);
        break;
    case RZ_EVENT_FAILURE:
        for (uint32_t i = 0; i < event->n_ids; i++) {
            notify(out, TOY_FAILURE, event->ids[i], event->arg[0], 0);
        }
        break;
    case RZ_EVENT_TICK:
        rz_assert(event->now >= toy->deadline);
        toy->deadline = RZ_TIME_NEVER;
        notify(out, TOY_TICKED, 0, 0, 0);
        break;
    }
    return RZ_DONE;
}

static rz_time rz_toy_deadline(const struct rz_toy *toy)
{
    return toy->deadline;
}

static uint64_t rz_toy_hash(const struct rz_toy *toy)
{
    return toy->left;
}

RZ_PROTOCOL(toy, RZ_PROTOCOL_RING);

/* ---- runs ---- */

static struct rz_protocol other_protocol;

static const void *config(struct rz_timing *timing, rz_id member, uint32_t part)
{
    static uint32_t number;
    (void)timing, (void)member;
    number = part == 0 ? rz_protocol_toy.number : other_protocol.number;
    return &number;
}

static void notified(struct rz_timing *timing, rz_id member, uint32_t part,
                     const struct rz_action *notice)
{
    struct toy_log *log = rz_timing_study(timing);
    log->hash = rz_mix(log->hash, rz_timing_now(timing));
    log->hash = rz_mix(log->hash, ((uint64_t)member << 32) + notice->what);
    log->hash = rz_mix(log->hash, rz_mix(notice->arg[0], notice->arg[1]));
    rz_assert(log->n < TOY_LOG_MAX);
    log->lines[log->n++] =
        (struct toy_line){.at = rz_timing_now(timing),
                          .member = member,
                          .part = part,
                          .what = notice->what,
                          .arg = {notice->arg[0], notice->arg[1], notice->arg[2]}};
    if (log->also) {
        log->also(timing, member, notice);
    }
}

struct rz_timing_setup toy_setup(uint32_t n, struct toy_log *log)
{
    memset(log, 0, sizeof(*log));
    return (struct rz_timing_setup){.members = n,
                                    .n_parts = 1,
                                    .parts = {&rz_protocol_toy},
                                    .network = {.latency = 1000},
                                    .seed = 1,
                                    .study = log,
                                    .config = config,
                                    .notified = notified};
}

void toy_add_part(struct rz_timing_setup *setup)
{
    other_protocol = rz_protocol_toy;
    other_protocol.number = RZ_PROTOCOL_SPREAD;
    setup->parts[setup->n_parts++] = &other_protocol;
}

void toy_send(struct rz_timing *timing, rz_time at, rz_id from, uint64_t type, uint64_t seq,
              const uint64_t *to, uint32_t n_to)
{
    rz_timing_call(
        timing, from, 0, at,
        &(struct rz_timing_request){
            .call = TOY_SEND, .arg = (const uint64_t[4]){type, seq}, .items = to, .n_items = n_to});
}

const struct toy_line *toy_line(const struct toy_log *log, enum toy_notice what, rz_id member,
                                uint32_t i)
{
    for (uint32_t k = 0; k < log->n; k++) {
        const struct toy_line *line = &log->lines[k];
        if (line->what == what && (member == RZ_ID_NONE || line->member == member) && i-- == 0) {
            return line;
        }
    }
    return NULL;
}

uint32_t toy_count(const struct toy_log *log, enum toy_notice what, rz_id member)
{
    uint32_t n = 0;
    while (toy_line(log, what, member, n)) {
        n++;
    }
    return n;
}
