/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of service: a member serves one event at a time, in order of arrival. */
#include "timing/timing_run.h"

#include "base/assert.h"

/* ---- waiting events ---- */

static void wait(struct rz_timing *timing, struct rz_timing_member *member,
                 enum rz_timing_kind kind, uint32_t part, uint32_t blob)
{
    uint32_t at = timing->waiting_free;
    if (at != RZ_TIMING_NONE) {
        timing->waiting_free = timing->waiting[at].next;
    } else {
        if (timing->waiting_used == timing->waiting_max) {
            timing->waiting_max = timing->waiting_max ? 2 * timing->waiting_max : 1024;
            timing->waiting =
                rz_timing_memory(timing->waiting, timing->waiting_max * sizeof(*timing->waiting));
        }
        at = timing->waiting_used++;
    }
    timing->waiting[at] = (struct rz_timing_waiting){
        .next = RZ_TIMING_NONE, .blob = blob, .kind = (uint8_t)kind, .part = (uint8_t)part};
    if (member->first == RZ_TIMING_NONE) {
        member->first = at;
    } else {
        timing->waiting[member->last].next = at;
    }
    member->last = at;
}

static struct rz_timing_waiting next_waiting(struct rz_timing *timing,
                                             struct rz_timing_member *member)
{
    uint32_t at = member->first;
    struct rz_timing_waiting waiting = timing->waiting[at];
    member->first = waiting.next;
    timing->waiting[at].next = timing->waiting_free;
    timing->waiting_free = at;
    return waiting;
}

/* ---- service ---- */

static bool idle(const struct rz_timing *timing, const struct rz_timing_member *member)
{
    return !member->serving && member->busy_until <= timing->now &&
           member->paused_until <= timing->now;
}

static void tick(struct rz_timing *timing, rz_id id, uint32_t part)
{
    struct rz_timing_slot *slot = &timing->slots[(size_t)id * timing->n_parts + part];
    slot->armed = RZ_TIME_NEVER;
    if (timing->setup.parts[part]->deadline(slot->state) > timing->now) {
        rz_timing_arm(timing, id, part); /* it was deferred meanwhile */
    } else {
        rz_timing_step(timing, id, part, RZ_TIMING_TICK, RZ_TIMING_NO_BLOB, timing->now);
    }
}

static void begin(struct rz_timing *timing, rz_id id, enum rz_timing_kind kind, uint32_t part,
                  uint32_t blob)
{
    struct rz_timing_member *member = &timing->members[id];
    if (kind == RZ_TIMING_TICK) {
        tick(timing, id, part);
        return;
    }
    rz_time overhead = kind == RZ_TIMING_ARRIVE ? rz_timing_receive_overhead(timing, id, blob) : 0;
    if (overhead == 0) {
        rz_timing_step(timing, id, part, kind, blob, timing->now);
        return;
    }
    member->serving = true;
    member->busy_until = timing->now + overhead;
    rz_timing_push(timing, member->busy_until, RZ_TIMING_SERVED, id, part, blob);
}

/* Serves waiting events as long as the member is free, and schedules the continuation. */
static void attend(struct rz_timing *timing, rz_id id)
{
    struct rz_timing_member *member = &timing->members[id];
    while (member->first != RZ_TIMING_NONE && idle(timing, member)) {
        struct rz_timing_waiting waiting = next_waiting(timing, member);
        begin(timing, id, waiting.kind, waiting.part, waiting.blob);
    }
    bool paused = member->paused_until > timing->now; /* RESUME is queued */
    if (member->first == RZ_TIMING_NONE || member->serving || member->wake || paused) {
        return;
    }
    member->wake = true;
    rz_timing_push(timing, member->busy_until, RZ_TIMING_WAKE, id, 0, RZ_TIMING_NO_BLOB);
}

/* A tick that was overtaken by an earlier one is stale. A tick of a paused member is served after
 * the events that have arrived until then, as at a host that reads its queue before its clock. */
static bool tick_is_due(struct rz_timing *timing, const struct rz_timing_event *event)
{
    const struct rz_timing_member *member = &timing->members[event->member];
    struct rz_timing_slot *slot =
        &timing->slots[(size_t)event->member * timing->n_parts + event->part];
    if (event->date != slot->armed) {
        return false;
    }
    if (member->paused_until <= timing->now) {
        return true;
    }
    slot->armed = member->paused_until;
    rz_timing_push(timing, slot->armed, RZ_TIMING_TICK, event->member, event->part,
                   RZ_TIMING_NO_BLOB);
    return false;
}

static void on_served(struct rz_timing *timing, const struct rz_timing_event *event)
{
    struct rz_timing_member *member = &timing->members[event->member];
    if (member->paused_until > timing->now) {
        rz_timing_push(timing, member->paused_until, RZ_TIMING_SERVED, event->member, event->part,
                       event->blob);
        return;
    }
    rz_time overhead = rz_timing_receive_overhead(timing, event->member, event->blob);
    member->serving = false;
    rz_timing_step(timing, event->member, event->part, RZ_TIMING_ARRIVE, event->blob,
                   timing->now - overhead);
    attend(timing, event->member);
}

/* A message of a failed sender is lost if it had not left before the failure. */
static bool never_left(struct rz_timing *timing, const struct rz_timing_event *event)
{
    const struct rz_message *message = &rz_timing_blob_at(timing, event->blob)->message;
    if (!(timing->failed[message->from / 64] >> message->from % 64 & 1) ||
        event->flight == UINT32_MAX ||
        event->date - event->flight <= timing->members[message->from].failed_at) {
        return false;
    }
    timing->counts[event->part][message->type].lost++;
    return true;
}

void rz_timing_serve(struct rz_timing *timing, const struct rz_timing_event *event)
{
    struct rz_timing_member *member = &timing->members[event->member];
    enum rz_timing_kind kind = event->kind;
    if (member->failed_at != RZ_TIME_NEVER ||
        (kind == RZ_TIMING_ARRIVE && never_left(timing, event))) {
        rz_timing_blob_release(timing, event->blob);
        return;
    }
    if (kind == RZ_TIMING_SERVED) {
        on_served(timing, event);
        return;
    }
    if (kind == RZ_TIMING_WAKE || kind == RZ_TIMING_RESUME) {
        if (kind == RZ_TIMING_WAKE) {
            member->wake = false;
        }
        attend(timing, event->member);
        return;
    }
    if (kind == RZ_TIMING_TICK && !tick_is_due(timing, event)) {
        return;
    }
    if (kind == RZ_TIMING_ARRIVE) {
        const struct rz_timing_blob *blob = rz_timing_blob_at(timing, event->blob);
        member->received++;
        member->bytes_received += timing->setup.bytes(&blob->message);
    }
    if (member->first == RZ_TIMING_NONE && idle(timing, member)) {
        begin(timing, event->member, kind, event->part, event->blob);
        return;
    }
    if (kind == RZ_TIMING_TICK) {
        timing->slots[(size_t)event->member * timing->n_parts + event->part].armed =
            RZ_TIMING_ARMED_WAITING;
    }
    wait(timing, member, kind, event->part, event->blob);
    attend(timing, event->member);
}

void rz_timing_fail(struct rz_timing *timing, rz_id id)
{
    struct rz_timing_member *member = &timing->members[id];
    if (member->failed_at != RZ_TIME_NEVER) {
        return;
    }
    member->failed_at = timing->now;
    timing->failed[id / 64] |= UINT64_C(1) << id % 64;
    while (member->first != RZ_TIMING_NONE) {
        rz_timing_blob_release(timing, next_waiting(timing, member).blob);
    }
    if (timing->trace) {
        rz_timing_trace_failure(timing, id);
    }
    if (timing->setup.failed) {
        timing->setup.failed(timing, id);
    }
}
