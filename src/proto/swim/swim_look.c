/* SPDX-License-Identifier: BSD-3-Clause */
/* Accessors of a member's state. */
#include "proto/swim/swim_state.h"

uint64_t rz_swim_hash(const struct rz_swim *swim)
{
    uint64_t hash = rz_mix(swim->self, (uint64_t)swim->leaving << 1 | swim->silent);
    if (swim->silent) {
        return hash;
    }
    const uint64_t words[] = {swim->random.state,
                              swim->key,
                              swim->cursor,
                              swim->incarnation,
                              swim->health,
                              swim->seq,
                              swim->phase,
                              swim->probe_at,
                              swim->push_pull_at,
                              swim->n_records,
                              swim->n_queue,
                              swim->n_relays,
                              swim->n_queue > 0 ? swim->gossip_at : 0};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        hash = rz_mix(hash, words[i]);
    }
    if (swim->phase != RZ_SWIM_IDLE) {
        hash = rz_mix(rz_mix(hash, swim->target), rz_mix(swim->probe_seq, swim->indirect_at));
    }
    for (uint32_t i = 0; swim->phase == RZ_SWIM_INDIRECT && i < swim->n_helpers; i++) {
        hash = rz_mix(hash, swim->helpers[i]);
    }
    for (uint32_t i = 0; i < swim->n_records; i++) {
        const struct rz_swim_record *record =
            rz_swim_record_at(swim, (uint32_t)rz_swim_index_of(swim)[i]);
        hash = rz_mix(hash, (uint64_t)record->member << 32 | record->incarnation);
        hash = rz_mix(hash, (uint64_t)record->from << 32 | (uint32_t)record->state << 8 |
                                record->n_observers);
        hash = rz_mix(rz_mix(hash, record->changed_at), record->expires_at);
        for (uint32_t k = 0; record->state == RZ_SWIM_SUSPECT && k < record->n_observers; k++) {
            hash = rz_mix(hash, record->observers[k]);
        }
    }
    for (uint32_t i = 0; i < swim->n_queue; i++) {
        const struct rz_swim_record *record = rz_swim_record_at(swim, rz_swim_queue_of(swim)[i]);
        hash = rz_mix(hash, (uint64_t)record->member << 32 | record->sent);
    }
    for (uint32_t i = 0; i < swim->n_relays; i++) {
        const struct rz_swim_relay *relay = &rz_swim_relays_of(swim)[i];
        hash = rz_mix(hash, (uint64_t)relay->asker << 32 | relay->target);
        hash = rz_mix(rz_mix(hash, relay->asked), rz_mix(relay->seq, relay->nack_at));
    }
    return hash;
}

static uint32_t timers_for(const struct rz_swim *swim, uint32_t number)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < swim->n_timers; i++) {
        count += rz_swim_timers_of(swim)[i] == number;
    }
    return count;
}

struct rz_swim_view rz_swim_look(const struct rz_swim *swim, rz_id member)
{
    struct rz_swim_view view = {.state = RZ_SWIM_ALIVE, .expires_at = RZ_TIME_NEVER};
    uint32_t number = rz_swim_number_of(swim, member);
    if (number == RZ_SWIM_NO_RECORD) {
        return view;
    }
    const struct rz_swim_record *record = rz_swim_record_at(swim, number);
    view.state = (enum rz_swim_state)record->state;
    view.incarnation = record->incarnation;
    view.timers = timers_for(swim, number);
    view.queued = record->queued;
    view.sent = record->sent;
    if (record->state == RZ_SWIM_SUSPECT) {
        view.observers = record->n_observers;
        view.expires_at = record->expires_at;
    }
    return view;
}

rz_id rz_swim_suspect(const struct rz_swim *swim, uint32_t number)
{
    return number < swim->n_timers
               ? rz_swim_record_at(swim, rz_swim_timers_of(swim)[number])->member
               : RZ_ID_NONE;
}

uint32_t rz_swim_incarnation(const struct rz_swim *swim)
{
    return swim->incarnation;
}

uint32_t rz_swim_health(const struct rz_swim *swim)
{
    return swim->health;
}

bool rz_swim_silent(const struct rz_swim *swim)
{
    return swim->silent;
}

bool rz_swim_leaving(const struct rz_swim *swim)
{
    return swim->leaving;
}

uint32_t rz_swim_records(const struct rz_swim *swim)
{
    return swim->n_records;
}

uint32_t rz_swim_timers(const struct rz_swim *swim)
{
    return swim->n_timers;
}

uint32_t rz_swim_limit(const struct rz_swim *swim)
{
    return swim->limit;
}
