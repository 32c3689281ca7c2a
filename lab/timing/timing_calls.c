/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls by which studies affect a run, and its accessors. */
#include "timing/timing_run.h"

#include "base/assert.h"
#include "base/random.h"

#include <string.h>

/* ---- events ---- */

static rz_time not_before_now(const struct rz_timing *timing, rz_time at)
{
    return at > timing->now ? at : timing->now;
}

/* For the member whose step is in progress, now means: directly after that step. */
static void queue_or_soon(struct rz_timing *timing, rz_time at, enum rz_timing_kind kind,
                          rz_id member, uint32_t part, uint32_t blob)
{
    rz_assert(member < timing->n && part < timing->n_parts);
    if (member != timing->stepping || at > timing->now) {
        rz_timing_push(timing, not_before_now(timing, at), kind, member, part, blob);
        return;
    }
    if (timing->n_soon == timing->soon_max) {
        timing->soon_max = timing->soon_max ? 2 * timing->soon_max : 16;
        timing->soon = rz_timing_memory(timing->soon, timing->soon_max * sizeof(*timing->soon));
    }
    timing->soon[timing->n_soon++] =
        (struct rz_timing_soon){.blob = blob, .kind = (uint8_t)kind, .part = (uint8_t)part};
}

void rz_timing_call(struct rz_timing *timing, rz_id member, uint32_t part, rz_time at,
                    const struct rz_timing_request *request)
{
    uint32_t blob = rz_timing_blob_take(timing, request->n_items);
    struct rz_timing_blob *content = rz_timing_blob_at(timing, blob);
    content->call = request->call;
    memset(content->arg, 0, sizeof(content->arg));
    if (request->arg) {
        memcpy(content->arg, request->arg, sizeof(content->arg));
    }
    if (request->n_items > 0) {
        memcpy(content->items, request->items, request->n_items * sizeof(*request->items));
    }
    queue_or_soon(timing, at, RZ_TIMING_CALL, member, part, blob);
}

void rz_timing_tell(struct rz_timing *timing, rz_id member, uint32_t part, rz_time at,
                    const rz_id *failed, uint32_t n_failed)
{
    rz_timing_tell_news(timing, member, part, at,
                        &(struct rz_timing_news){.failed = failed, .n_failed = n_failed});
}

void rz_timing_tell_news(struct rz_timing *timing, rz_id member, uint32_t part, rz_time at,
                         const struct rz_timing_news *news)
{
    uint32_t blob = rz_timing_blob_take(timing, (news->n_failed + 1) / 2);
    struct rz_timing_blob *content = rz_timing_blob_at(timing, blob);
    content->call = news->n_failed;
    content->arg[0] = news->arg;
    memcpy(content->items, news->failed, news->n_failed * sizeof(*news->failed));
    queue_or_soon(timing, at, RZ_TIMING_TELL, member, part, blob);
}

void rz_timing_kill(struct rz_timing *timing, rz_id member, rz_time at)
{
    rz_assert(member < timing->n);
    if (at <= timing->now) {
        rz_timing_fail(timing, member);
    } else {
        rz_timing_push(timing, at, RZ_TIMING_KILL, member, 0, RZ_TIMING_NO_BLOB);
    }
}

static void push_with_arg(struct rz_timing *timing, rz_time at, enum rz_timing_kind kind,
                          rz_id member, uint64_t arg)
{
    uint32_t blob = rz_timing_blob_take(timing, 0);
    rz_timing_blob_at(timing, blob)->arg[0] = arg;
    rz_timing_push(timing, not_before_now(timing, at), kind, member, 0, blob);
}

void rz_timing_pause(struct rz_timing *timing, rz_id member, rz_time from, rz_time to)
{
    rz_assert(member < timing->n);
    push_with_arg(timing, from, RZ_TIMING_PAUSE, member, to);
}

void rz_timing_partition(struct rz_timing *timing, const uint8_t *side, rz_time from, rz_time to)
{
    timing->sides = rz_timing_memory(timing->sides, (timing->n_sides + 1) * sizeof(*timing->sides));
    struct rz_timing_side *entry = &timing->sides[timing->n_sides++];
    *entry =
        (struct rz_timing_side){.from = from, .to = to, .side = rz_timing_memory(NULL, timing->n)};
    memcpy(entry->side, side, timing->n);
}

rz_time rz_timing_work(struct rz_timing *timing, rz_id id, rz_time lasts)
{
    struct rz_timing_member *member = &timing->members[id];
    member->busy_until = not_before_now(timing, member->busy_until) + lasts;
    return member->busy_until;
}

void rz_timing_alarm(struct rz_timing *timing, rz_time at, uint64_t what)
{
    rz_assert(timing->setup.alarm != NULL);
    push_with_arg(timing, at, RZ_TIMING_ALARM, 0, what);
}

void rz_timing_until(struct rz_timing *timing, rz_time until)
{
    timing->setup.until = until;
}

/* ---- accessors ---- */

void *rz_timing_study(struct rz_timing *timing)
{
    return timing->setup.study;
}

rz_time rz_timing_now(const struct rz_timing *timing)
{
    return timing->now;
}

bool rz_timing_alive(const struct rz_timing *timing, rz_id member)
{
    return timing->members[member].failed_at == RZ_TIME_NEVER;
}

const void *rz_timing_state(const struct rz_timing *timing, rz_id member, uint32_t part)
{
    return timing->slots[(size_t)member * timing->n_parts + part].state;
}

uint64_t rz_timing_random(struct rz_timing *timing, uint64_t bound)
{
    struct rz_random random = {timing->faults};
    uint64_t number = rz_random_below(&random, bound);
    timing->faults = random.state;
    return number;
}

struct rz_timing_counts rz_timing_count(const struct rz_timing *timing, uint32_t part,
                                        uint32_t type)
{
    struct rz_timing_counts sum = {0};
    for (uint32_t i = 0; i < 256; i++) {
        if (type != UINT32_MAX && type != i) {
            continue;
        }
        sum.messages += timing->counts[part][i].messages;
        sum.bytes += timing->counts[part][i].bytes;
        sum.lost += timing->counts[part][i].lost;
        sum.duplicated += timing->counts[part][i].duplicated;
    }
    return sum;
}

struct rz_timing_hot rz_timing_member_traffic(const struct rz_timing *timing, rz_id id)
{
    const struct rz_timing_member *member = &timing->members[id];
    return (struct rz_timing_hot){.sent = member->sent,
                                  .received = member->received,
                                  .bytes_sent = member->bytes_sent,
                                  .bytes_received = member->bytes_received};
}

struct rz_timing_hot rz_timing_hottest(const struct rz_timing *timing)
{
    struct rz_timing_hot most = {0};
    for (rz_id id = 0; id < timing->n; id++) {
        struct rz_timing_hot one = rz_timing_member_traffic(timing, id);
        most.sent = one.sent > most.sent ? one.sent : most.sent;
        most.received = one.received > most.received ? one.received : most.received;
        most.bytes_sent = one.bytes_sent > most.bytes_sent ? one.bytes_sent : most.bytes_sent;
        most.bytes_received =
            one.bytes_received > most.bytes_received ? one.bytes_received : most.bytes_received;
    }
    return most;
}

struct rz_timing_cost rz_timing_cost(const struct rz_timing *timing)
{
    return (struct rz_timing_cost){.events = timing->events,
                                   .steps = timing->steps,
                                   .seconds = timing->seconds,
                                   .bytes_peak = timing->bytes_peak};
}
