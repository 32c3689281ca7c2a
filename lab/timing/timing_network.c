/* SPDX-License-Identifier: BSD-3-Clause */
/* From a send to its arrivals. */
#include "timing/timing_run.h"

#include "base/assert.h"
#include "base/random.h"

#include <string.h>

/* Whether an event of this probability happens, by a hash of which the upper bits are drawn. */
static bool happens(double probability, uint64_t hash)
{
    return probability > 0 && (double)(hash >> 11) < probability * 9007199254740992.0; /* 2^53 */
}

static rz_time below(rz_time bound, uint64_t seed)
{
    struct rz_random random = {seed};
    return rz_random_below(&random, bound);
}

static bool parted(const struct rz_timing *timing, rz_id from, rz_id to, rz_time at)
{
    for (uint32_t i = 0; i < timing->n_sides; i++) {
        const struct rz_timing_side *side = &timing->sides[i];
        if (side->from <= at && at < side->to && side->side[from] != side->side[to]) {
            return true;
        }
    }
    return false;
}

rz_time rz_timing_receive_overhead(const struct rz_timing *timing, rz_id to, uint32_t blob)
{
    const struct rz_timing_network *network = &timing->setup.network;
    if (timing->per_node == 1) {
        return network->receive_overhead;
    }
    rz_id from = rz_timing_blob_at(timing, blob)->message.from;
    return rz_timing_local(timing, from, to) ? network->receive_overhead_local
                                             : network->receive_overhead;
}

/* What is on its way, and when it left. */
struct flight {
    rz_id from, to;
    uint32_t part, blob;
    rz_time left;
};

/* One copy on the network. Random draws depend on the sender and the number of its sends alone:
 * messages of other members do not change them. */
static void fly(struct rz_timing *timing, const struct flight *copy, uint64_t draw)
{
    rz_id from = copy->from, to = copy->to;
    const struct rz_timing_network *network = &timing->setup.network;
    bool local = rz_timing_local(timing, from, to);
    struct rz_timing_blob *content = rz_timing_blob_at(timing, copy->blob);
    rz_time flight = local ? network->latency_local : network->latency;
    if (!local && network->jitter > 0) {
        flight += below(network->jitter + 1, rz_mix(timing->seed_jitter, draw));
    }
    rz_time more = timing->setup.delay ? timing->setup.delay(timing, from, to) : 0;
    bool lost = more == RZ_TIME_NEVER ||
                (!local && happens(timing->setup.network.loss, rz_mix(timing->seed_loss, draw))) ||
                parted(timing, from, to, copy->left);
    if (lost) {
        timing->counts[copy->part][content->message.type].lost++;
        return;
    }
    flight += more;
    struct rz_timing_event *event = rz_timing_queue_push(&timing->queue, copy->left + flight);
    event->member = to;
    event->blob = copy->blob;
    event->flight = flight < UINT32_MAX ? (uint32_t)flight : UINT32_MAX;
    event->kind = RZ_TIMING_ARRIVE;
    event->part = (uint8_t)copy->part;
    content->refs++;
}

static void send_one(struct rz_timing *timing, rz_id from, rz_id to, uint32_t part, uint32_t blob,
                     uint32_t bytes)
{
    const struct rz_timing_network *network = &timing->setup.network;
    struct rz_timing_member *sender = &timing->members[from];
    struct rz_timing_counts *counts =
        &timing->counts[part][rz_timing_blob_at(timing, blob)->message.type];
    bool local = rz_timing_local(timing, from, to);
    rz_time left = sender->busy_until > timing->now ? sender->busy_until : timing->now;
    if (timing->trace) {
        rz_timing_trace_send(timing, from, to, part, blob, left);
    }
    left += local ? network->send_overhead_local : network->send_overhead;
    if (!local && network->bytes_per_second > 0) {
        left += bytes * RZ_SECOND / network->bytes_per_second;
    }
    sender->busy_until = left;
    sender->sent++;
    sender->bytes_sent += bytes;
    counts->messages++;
    counts->bytes += bytes;
    uint64_t draw = rz_mix(((uint64_t)from << 32) + sender->sent, 0);
    const struct flight copy = {from, to, part, blob, left};
    fly(timing, &copy, draw);
    if (!local && happens(network->duplication, rz_mix(timing->seed_loss, draw ^ 1))) {
        counts->duplicated++;
        fly(timing, &copy, draw ^ 2);
    }
}

void rz_timing_transmit(struct rz_timing *timing, rz_id from, uint32_t part,
                        const struct rz_action *action)
{
    const struct rz_message *message = &action->message;
    rz_assert(action->n_to > 0);
    rz_assert(message->from == from);
    rz_assert(message->protocol == timing->setup.parts[part]->number);
    uint32_t blob = rz_timing_blob_take(timing, message->n_items);
    struct rz_timing_blob *content = rz_timing_blob_at(timing, blob);
    content->message = *message;
    if (message->n_items > 0) {
        memcpy(content->items, action->items, message->n_items * sizeof(*content->items));
    }
    uint32_t bytes = timing->setup.bytes(message);
    for (uint32_t i = 0; i < action->n_to; i++) {
        rz_assert(action->to[i] < timing->n && action->to[i] != from);
        send_one(timing, from, action->to[i], part, blob, bytes);
    }
    rz_timing_blob_release(timing, blob);
}
