/* SPDX-License-Identifier: BSD-3-Clause */
/* Gossip members in synchronous cycles: queue, delivery, failures, and records of what is
 * reported. */
#include "gossip_group.h"

#include "base/assert.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

#define VIEW 9

struct group *group_create(uint32_t n, struct rz_gossip_config config, uint64_t seed)
{
    struct group *group = calloc(1, sizeof(*group));
    config.n_members = n;
    config.view = VIEW;
    config.cycle = GROUP_CYCLE;
    config.timeout = GROUP_TIMEOUT;
    group->config = config;
    group->n = n;
    group->state = calloc(n, sizeof(*group->state));
    group->crashed = calloc(n, sizeof(*group->crashed));
    for (rz_id id = 0; id < n; id++) {
        group->state[id] = malloc(rz_gossip_size(&config));
        rz_gossip_init(group->state[id], &config, id, 0, rz_mix(rz_mix(seed, 1), id));
    }
    return group;
}

void group_kill(struct group *group, rz_id member)
{
    free(group->state[member]);
    group->state[member] = NULL;
    group->crashed[member] = true;
}

void group_destroy(struct group *group)
{
    for (rz_id id = 0; id < group->n; id++) {
        free(group->state[id]);
    }
    for (uint32_t i = 0; i < group->n_packets; i++) {
        free(group->packets[i].items);
    }
    free(group->packets);
    free(group->notices);
    free(group->crashed);
    free(group->state);
    free(group);
}

static void *enlarge(void *array, uint32_t n, uint32_t *max, size_t each)
{
    if (n < *max) {
        return array;
    }
    *max = *max > 0 ? 2 * *max : 64;
    return realloc(array, *max * each);
}

static void post(struct group *group, const struct rz_action *action)
{
    size_t bytes = action->message.n_items * sizeof(uint64_t);
    for (uint32_t i = 0; i < action->n_to; i++) {
        group->packets =
            enlarge(group->packets, group->n_packets, &group->packets_max, sizeof(*group->packets));
        struct group_packet packet = {.message = action->message, .to = action->to[i]};
        packet.items = malloc(bytes + 1);
        if (bytes > 0) {
            memcpy(packet.items, action->items, bytes);
        }
        group->packets[group->n_packets++] = packet;
        group->messages++;
    }
}

static void record(struct group *group, rz_id member, const struct rz_action *action)
{
    group->notices =
        enlarge(group->notices, group->n_notices, &group->notices_max, sizeof(*group->notices));
    struct group_notice notice = {
        .member = member, .what = action->what, .n_items = action->n_items};
    memcpy(notice.arg, action->arg, sizeof(notice.arg));
    if (action->n_items > 0) {
        notice.first_item = action->items[0];
    }
    group->notices[group->n_notices++] = notice;
}

void group_step(struct group *group, rz_id member, const struct rz_event *event)
{
    struct rz_action v[RZ_ACTIONS_MIN];
    struct rz_event again = {.kind = RZ_EVENT_CONTINUE, .now = event->now};
    enum rz_more more;
    do {
        struct rz_actions out = {.v = v, .max = RZ_ACTIONS_MIN};
        more = rz_gossip_step(group->state[member], event, &out);
        if (more == RZ_NEED) {
            rz_assert(out.count == 0);
            group->state[member] = realloc(group->state[member], out.need);
            rz_gossip_grow(group->state[member], out.need);
            continue;
        }
        for (uint32_t i = 0; i < out.count; i++) {
            if (v[i].kind == RZ_ACTION_SEND) {
                post(group, &v[i]);
            } else {
                record(group, member, &v[i]);
            }
        }
        event = &again;
    } while (more != RZ_DONE);
}

void group_tell(struct group *group, rz_id member, rz_id failed)
{
    struct rz_event event = {
        .kind = RZ_EVENT_FAILURE, .now = group->cycle * GROUP_CYCLE, .ids = &failed, .n_ids = 1};
    group_step(group, member, &event);
}

static void tick_all(struct group *group, rz_time now)
{
    struct rz_event begin = {.kind = RZ_EVENT_CALL, .now = now, .call = RZ_GOSSIP_BEGIN};
    struct rz_event tick = {.kind = RZ_EVENT_TICK, .now = now};
    for (rz_id id = 0; id < group->n; id++) {
        if (group->state[id] && now == 0) {
            group_step(group, id, &begin);
        } else if (group->state[id] && rz_gossip_deadline(group->state[id]) <= now) {
            group_step(group, id, &tick);
        }
    }
}

/* All that is under way now arrives; what it causes is under way then. */
static void deliver(struct group *group, rz_time now)
{
    struct group_packet *packets = group->packets;
    uint32_t n = group->n_packets;
    group->packets = NULL;
    group->n_packets = group->packets_max = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct rz_event event = {.kind = RZ_EVENT_RECEIVE,
                                 .now = now,
                                 .message = &packets[i].message,
                                 .items = packets[i].items};
        if (group->state[packets[i].to] &&
            !(group->lost && group->lost(group, &packets[i].message, packets[i].to))) {
            group_step(group, packets[i].to, &event);
        }
        free(packets[i].items);
    }
    free(packets);
}

void group_cycle(struct group *group)
{
    rz_time begin = group->cycle * GROUP_CYCLE;
    if (group->cycle == 0) {
        tick_all(group, 0);
    }
    deliver(group, begin + 10);
    deliver(group, begin + 20);
    tick_all(group, begin + GROUP_TIMEOUT);
    group->cycle++;
    tick_all(group, group->cycle * GROUP_CYCLE);
}

static bool all_returned(const struct group *group)
{
    for (rz_id id = 0; id < group->n; id++) {
        if (group->state[id] && !rz_gossip_returned(group->state[id])) {
            return false;
        }
    }
    return true;
}

uint64_t group_finish(struct group *group, uint64_t most)
{
    while (!all_returned(group) && group->cycle < most) {
        group_cycle(group);
    }
    return group->cycle;
}

const struct rz_check_group *group_check(struct group *group)
{
    group->check = (struct rz_check_group){.n_members = group->n,
                                           .state = (const void *const *)group->state,
                                           .crashed = group->crashed,
                                           .now = group->cycle * GROUP_CYCLE,
                                           .why = group->why,
                                           .why_bytes = sizeof(group->why)};
    return &group->check;
}
