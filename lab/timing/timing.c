/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation and destruction of a run, and its clock. */
#include "timing/timing_run.h"

#include "base/assert.h"
#include "base/random.h"

#include <string.h>
#include <time.h>

/* ---- blobs and events ---- */

static size_t blob_bytes(uint32_t n_items)
{
    return sizeof(struct rz_timing_blob) + n_items * sizeof(uint64_t);
}

uint32_t rz_timing_blob_take(struct rz_timing *timing, uint32_t n_items)
{
    uint32_t handle = rz_timing_pool_take(&timing->pool, blob_bytes(n_items));
    struct rz_timing_blob *blob = rz_timing_blob_at(timing, handle);
    blob->refs = 1;
    blob->n_items = n_items;
    blob->serial = ++timing->serial;
    return handle;
}

void rz_timing_blob_release(struct rz_timing *timing, uint32_t handle)
{
    if (handle == RZ_TIMING_NO_BLOB) {
        return;
    }
    struct rz_timing_blob *blob = rz_timing_blob_at(timing, handle);
    rz_assert(blob->refs > 0);
    if (--blob->refs == 0) {
        rz_timing_pool_give(&timing->pool, handle, blob_bytes(blob->n_items));
    }
}

void rz_timing_push(struct rz_timing *timing, rz_time date, enum rz_timing_kind kind, rz_id member,
                    uint32_t part, uint32_t blob)
{
    struct rz_timing_event *event = rz_timing_queue_push(&timing->queue, date);
    event->member = member;
    event->blob = blob;
    event->flight = 0;
    event->kind = (uint8_t)kind;
    event->part = (uint8_t)part;
}

void rz_timing_note_memory(struct rz_timing *timing)
{
    uint64_t bytes =
        timing->bytes_states + timing->queue.bytes_most + timing->pool.bytes_most +
        timing->waiting_used * sizeof(*timing->waiting) +
        timing->n * (sizeof(*timing->members) + timing->n_parts * sizeof(*timing->slots));
    if (bytes > timing->bytes_peak) {
        timing->bytes_peak = bytes;
    }
}

/* ---- create and destroy ---- */

static uint32_t frame_bytes(const struct rz_message *message)
{
    return (uint32_t)sizeof(*message) + message->n_items * (uint32_t)sizeof(uint64_t);
}

static void set_up(struct rz_timing *timing, const struct rz_timing_setup *setup)
{
    rz_assert(setup->members > 0 && setup->members < RZ_TIMING_NONE);
    rz_assert(setup->n_parts > 0 && setup->n_parts <= RZ_TIMING_PARTS_MAX);
    timing->setup = *setup;
    if (!setup->bytes) {
        timing->setup.bytes = frame_bytes;
    }
    timing->n = setup->members;
    timing->n_parts = setup->n_parts;
    timing->per_node = setup->network.per_node > 0 ? setup->network.per_node : 1;
    timing->seed_jitter = rz_mix(setup->seed, 2);
    timing->seed_loss = rz_mix(setup->seed, 3);
    timing->faults = rz_mix(setup->seed, 4);
    timing->stepping = RZ_TIMING_NONE;
    timing->waiting_free = RZ_TIMING_NONE;
    memset(timing->part_of_protocol, UINT8_MAX, sizeof(timing->part_of_protocol));
    for (uint32_t part = 0; part < timing->n_parts; part++) {
        rz_assert(timing->part_of_protocol[setup->parts[part]->number] == UINT8_MAX);
        timing->part_of_protocol[setup->parts[part]->number] = (uint8_t)part;
    }
}

struct rz_timing *rz_timing_create(const struct rz_timing_setup *setup)
{
    struct rz_timing *timing = rz_timing_memory(NULL, sizeof(*timing));
    memset(timing, 0, sizeof(*timing));
    set_up(timing, setup);
    rz_timing_queue_init(&timing->queue);
    rz_timing_pool_init(&timing->pool);
    if (setup->trace) {
        timing->trace = rz_timing_trace_begin(timing);
    }
    timing->members = rz_timing_memory(NULL, timing->n * sizeof(*timing->members));
    memset(timing->members, 0, timing->n * sizeof(*timing->members));
    for (rz_id id = 0; id < timing->n; id++) {
        timing->members[id].failed_at = RZ_TIME_NEVER;
        timing->members[id].first = timing->members[id].last = RZ_TIMING_NONE;
    }
    timing->failed = rz_timing_memory(NULL, (timing->n / 64 + 1) * sizeof(*timing->failed));
    memset(timing->failed, 0, (timing->n / 64 + 1) * sizeof(*timing->failed));
    rz_timing_states_create(timing);
    rz_timing_note_memory(timing);
    return timing;
}

void rz_timing_destroy(struct rz_timing *timing)
{
    if (timing->trace) {
        rz_timing_trace_end(timing);
    }
    rz_timing_states_release(timing);
    rz_timing_queue_release(&timing->queue);
    rz_timing_pool_release(&timing->pool);
    for (uint32_t i = 0; i < timing->n_sides; i++) {
        rz_timing_free(timing->sides[i].side);
    }
    rz_timing_free(timing->sides);
    rz_timing_free(timing->soon);
    rz_timing_free(timing->waiting);
    rz_timing_free(timing->members);
    rz_timing_free(timing->failed);
    rz_timing_free(timing);
}

/* ---- the clock ---- */

/* The run whose component is being stepped; printed by a failed assertion. */
static _Thread_local const struct rz_timing *at_work;

static void on_assertion(const char *expression, const char *file, int line)
{
    static const char *const kinds[] = {"receive", "tick", "failure", "continue", "call"};
    fprintf(stderr, "rzsim: %s:%d: assertion failed: %s\n", file, line, expression);
    const struct rz_timing *timing = at_work;
    if (!timing) {
        return;
    }
    fprintf(stderr, "rzsim: timing run with seed %llu, at %llu ns, event %llu",
            (unsigned long long)timing->setup.seed, (unsigned long long)timing->now,
            (unsigned long long)timing->events);
    if (timing->stepping != RZ_TIMING_NONE && timing->stepping_event) {
        const struct rz_event *event = timing->stepping_event;
        fprintf(stderr, ": member %u of %u, %s, %s", timing->stepping, timing->n,
                timing->setup.parts[timing->stepping_part]->name, kinds[event->kind]);
        if (event->kind == RZ_EVENT_RECEIVE) {
            fprintf(stderr, " of type %u from %u", event->message->type, event->message->from);
        }
        if (event->kind == RZ_EVENT_CALL) {
            fprintf(stderr, " %u", event->call);
        }
    }
    fprintf(stderr, "\n");
}

static void dispatch(struct rz_timing *timing, const struct rz_timing_event *event)
{
    struct rz_timing_member *member = &timing->members[event->member];
    switch ((enum rz_timing_kind)event->kind) {
    case RZ_TIMING_KILL:
        rz_timing_fail(timing, event->member);
        break;
    case RZ_TIMING_PAUSE: {
        rz_time until = rz_timing_blob_at(timing, event->blob)->arg[0];
        if (until > member->paused_until) {
            member->paused_until = until;
        }
        rz_timing_blob_release(timing, event->blob);
        rz_timing_push(timing, until > timing->now ? until : timing->now, RZ_TIMING_RESUME,
                       event->member, 0, RZ_TIMING_NO_BLOB);
        break;
    }
    case RZ_TIMING_ALARM: {
        uint64_t what = rz_timing_blob_at(timing, event->blob)->arg[0];
        rz_timing_blob_release(timing, event->blob);
        timing->setup.alarm(timing, what);
        break;
    }
    default:
        rz_timing_serve(timing, event);
    }
}

void rz_timing_run(struct rz_timing *timing)
{
    rz_time limit = timing->setup.until > 0 ? timing->setup.until : RZ_TIME_NEVER;
    struct rz_timing_event event;
    rz_assert_hook_t hook = rz_assert_hook;
    const struct rz_timing *outer = at_work;
    clock_t begin = clock();
    rz_assert_hook = on_assertion;
    at_work = timing;
    timing->stopped = false;
    while (!timing->stopped && rz_timing_queue_pop(&timing->queue, limit, &event)) {
        timing->now = event.date;
        timing->events++;
        dispatch(timing, &event);
    }
    if (!timing->stopped && timing->queue.count > 0 && timing->now < limit) {
        timing->now = limit;
    }
    at_work = outer;
    rz_assert_hook = hook;
    timing->seconds += (double)(clock() - begin) / CLOCKS_PER_SEC;
    rz_timing_note_memory(timing);
}

void rz_timing_stop(struct rz_timing *timing)
{
    timing->stopped = true;
}
