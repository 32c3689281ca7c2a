/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dissemination: each member that learns news sends them on a limited number of times. News that
 * were sent least come first. New ones precede others that were never sent, and news that were just
 * sent follow all that were sent as often. News about a member replace older ones about it.
 */
#include "proto/swim/swim_state.h"

#include "base/assert.h"

#include <string.h>

/* memberlist's datagrams hold 1400 bytes; a message here has a header of 48, an update 16. */
#define UPDATES_MAX_DEFAULT ((1400 - 48) / 16)

void rz_swim_update_write(uint64_t items[2], const struct rz_swim_update *update)
{
    items[0] = (uint64_t)update->from << 32 | update->member;
    items[1] = (uint64_t)update->state << 32 | update->incarnation;
}

void rz_swim_update_of(const struct rz_swim_record *record, uint64_t items[2])
{
    rz_swim_update_write(items, &(struct rz_swim_update){.member = record->member,
                                                         .from = record->from,
                                                         .incarnation = record->incarnation,
                                                         .state = record->state});
}

/* Only the member itself states that it is alive or leaves; no member reports its own failure. */
bool rz_swim_update_read(const struct rz_swim *swim, const uint64_t items[2],
                         struct rz_swim_update *update)
{
    *update = (struct rz_swim_update){.member = (rz_id)items[0],
                                      .from = (rz_id)(items[0] >> 32),
                                      .incarnation = (uint32_t)items[1]};
    uint64_t state = items[1] >> 32;
    if (update->member >= swim->config.n_members || update->from >= swim->config.n_members ||
        state > RZ_SWIM_LEFT || update->incarnation == UINT32_MAX) {
        return false;
    }
    update->state = (enum rz_swim_state)state;
    bool reports = update->state == RZ_SWIM_SUSPECT || update->state == RZ_SWIM_FAILED;
    return reports == (update->from != update->member);
}

static void remove_at(struct rz_swim *swim, uint32_t at)
{
    uint32_t *queue = rz_swim_queue_of(swim);
    memmove(queue + at, queue + at + 1, (--swim->n_queue - at) * sizeof(*queue));
}

static void insert_at(struct rz_swim *swim, uint32_t at, uint32_t number)
{
    uint32_t *queue = rz_swim_queue_of(swim);
    rz_assert(swim->n_queue < swim->max);
    memmove(queue + at + 1, queue + at, (swim->n_queue++ - at) * sizeof(*queue));
    queue[at] = number;
}

/* Gossip rounds keep their period, whether there are news or not. */
static void wake_gossip(struct rz_swim *swim, rz_time now)
{
    rz_time interval = swim->config.gossip_interval;
    if (swim->gossip_at <= now) {
        swim->gossip_at += ((now - swim->gossip_at) / interval + 1) * interval;
    }
}

void rz_swim_queue_put(struct rz_swim *swim, uint32_t number, rz_time now)
{
    struct rz_swim_record *record = rz_swim_record_at(swim, number);
    const uint32_t *queue = rz_swim_queue_of(swim);
    if (record->queued) {
        uint32_t at = 0;
        while (queue[at] != number) {
            at++;
        }
        remove_at(swim, at);
    } else if (swim->n_queue == 0) {
        wake_gossip(swim, now);
    }
    record->queued = true;
    record->sent = 0;
    insert_at(swim, 0, number);
}

/* The first position, starting at `from`, whose record was sent more often. */
static uint32_t position_after(const struct rz_swim *swim, uint32_t from, uint32_t sent)
{
    const uint32_t *queue = rz_swim_queue_of(swim);
    uint32_t low = from, high = swim->n_queue;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rz_swim_record_at(swim, queue[middle])->sent <= sent) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The first `taken` of the queue were sent once more: drops those that have reached the limit, and
 * moves the others behind those that were sent less. */
static void requeue(struct rz_swim *swim, uint32_t taken)
{
    uint32_t rest = taken;
    for (uint32_t at = taken; at-- > 0;) {
        uint32_t number = rz_swim_queue_of(swim)[at];
        struct rz_swim_record *record = rz_swim_record_at(swim, number);
        if (++record->sent >= swim->limit && !rz_swim_mutant(swim, RZ_SWIM_ENDLESS)) {
            record->queued = false;
            remove_at(swim, at);
            rest--;
            continue;
        }
        uint32_t behind = position_after(swim, rest, record->sent);
        if (behind == rest) {
            continue;
        }
        remove_at(swim, at);
        insert_at(swim, behind - 1, number);
        rest--;
    }
}

uint32_t rz_swim_queue_take(struct rz_swim *swim)
{
    uint32_t most = swim->config.updates_max > 0 ? swim->config.updates_max : UPDATES_MAX_DEFAULT;
    uint32_t taken = swim->n_queue < most ? swim->n_queue : most;
    const uint32_t *queue = rz_swim_queue_of(swim);
    for (uint32_t i = 0; i < taken; i++) {
        rz_swim_update_of(rz_swim_record_at(swim, queue[i]),
                          rz_swim_items_of(swim) + 2 * (size_t)i);
    }
    requeue(swim, taken);
    return 2 * taken;
}
