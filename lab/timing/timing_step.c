/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of a member's part, and its effects. */
#include "timing/timing_run.h"

#include "base/assert.h"

#include <string.h>

static void carry_out(struct rz_timing *timing, rz_id member, uint32_t part,
                      const struct rz_action *action)
{
    if (action->kind == RZ_ACTION_SEND) {
        rz_timing_transmit(timing, member, part, action);
        return;
    }
    if (timing->trace) {
        rz_timing_trace_notice(timing, member, part, action);
    }
    if (timing->setup.notified) {
        timing->setup.notified(timing, member, part, action);
    }
}

/* Until the event is processed or the member has failed during a notice. */
static void step_through(struct rz_timing *timing, rz_id member, uint32_t part,
                         struct rz_event event)
{
    const struct rz_protocol *protocol = timing->setup.parts[part];
    struct rz_timing_slot *slot = &timing->slots[(size_t)member * timing->n_parts + part];
    const rz_time *failed_at = &timing->members[member].failed_at;
    timing->steps++;
    for (;;) {
        struct rz_actions out = {.v = timing->actions, .max = RZ_TIMING_ACTIONS};
        timing->stepping_part = part;
        timing->stepping_event = &event;
        enum rz_more more = protocol->step(slot->state, &event, &out);
        rz_assert(out.count <= out.max);
        if (more == RZ_NEED) {
            rz_assert(out.count == 0);
            rz_timing_state_grow(timing, member, part, out.need);
            continue;
        }
        for (uint32_t i = 0; i < out.count && *failed_at == RZ_TIME_NEVER; i++) {
            carry_out(timing, member, part, &out.v[i]);
        }
        if (more == RZ_DONE || *failed_at != RZ_TIME_NEVER) {
            break;
        }
        event = (struct rz_event){.kind = RZ_EVENT_CONTINUE, .now = timing->now};
    }
    timing->stepping_event = NULL;
    if (*failed_at == RZ_TIME_NEVER) {
        rz_timing_arm(timing, member, part);
    }
}

static struct rz_event event_of(const struct rz_timing *timing, enum rz_timing_kind kind,
                                const struct rz_timing_blob *blob)
{
    struct rz_event event = {.kind = RZ_EVENT_TICK, .now = timing->now};
    if (kind == RZ_TIMING_ARRIVE) {
        event.kind = RZ_EVENT_RECEIVE;
        event.message = &blob->message;
        event.items = blob->items;
    } else if (kind == RZ_TIMING_CALL) {
        event.kind = RZ_EVENT_CALL;
        event.call = blob->call;
        memcpy(event.arg, blob->arg, sizeof(event.arg));
        event.items = blob->items;
        event.n_items = blob->n_items;
    } else if (kind == RZ_TIMING_TELL) {
        event.kind = RZ_EVENT_FAILURE;
        event.ids = (const rz_id *)blob->items;
        event.n_ids = blob->call;
        event.arg[0] = blob->arg[0];
    }
    return event;
}

static void step_once(struct rz_timing *timing, rz_id id, uint32_t part, enum rz_timing_kind kind,
                      uint32_t blob, rz_time begin)
{
    struct rz_timing_member *member = &timing->members[id];
    if (member->busy_until > begin && kind != RZ_TIMING_ARRIVE) {
        begin = member->busy_until;
    }
    if (kind == RZ_TIMING_ARRIVE && timing->setup.received) {
        timing->setup.received(timing, id, rz_timing_blob_at(timing, blob)->message.from);
    }
    step_through(
        timing, id, part,
        event_of(timing, kind, blob != RZ_TIMING_NO_BLOB ? rz_timing_blob_at(timing, blob) : NULL));
    if (timing->trace) {
        rz_time end = member->busy_until > timing->now ? member->busy_until : timing->now;
        rz_timing_trace_step(timing, id, part, kind, blob, (struct rz_timing_span){begin, end});
    }
    rz_timing_blob_release(timing, blob);
}

void rz_timing_step(struct rz_timing *timing, rz_id id, uint32_t part, enum rz_timing_kind kind,
                    uint32_t blob, rz_time begin)
{
    rz_assert(timing->stepping == RZ_TIMING_NONE);
    timing->stepping = id;
    step_once(timing, id, part, kind, blob, begin);
    for (uint32_t i = 0; i < timing->n_soon; i++) {
        struct rz_timing_soon soon = timing->soon[i];
        if (timing->members[id].failed_at == RZ_TIME_NEVER) {
            step_once(timing, id, soon.part, soon.kind, soon.blob, timing->now);
        } else {
            rz_timing_blob_release(timing, soon.blob);
        }
    }
    timing->n_soon = 0;
    timing->stepping = RZ_TIMING_NONE;
}
