/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of an agreement and their queue of messages, driven by a test step by step. */
#include "agree_rig.h"

#include <stdlib.h>
#include <string.h>

#define VIEW 3

static void *memory(void *old, size_t bytes)
{
    void *block = realloc(old, bytes);
    rz_assert(block);
    return block;
}

struct rig *rig_create(uint32_t n, uint32_t in_flight_max)
{
    struct rig *rig = memory(NULL, sizeof(*rig));
    memset(rig, 0, sizeof(*rig));
    rig->n = n;
    rig->actions_max = RZ_ACTIONS_MIN;
    struct rz_agree_config config = {
        .n_members = n, .view = VIEW, .in_flight_max = in_flight_max, .items_max = 1};
    for (rz_id id = 0; id < n; id++) {
        rig->bytes[id] = rz_agree_size(&config);
        rig->member[id] = memory(NULL, rig->bytes[id]);
        memset(rig->member[id], 0xA5, rig->bytes[id]);
        rz_agree_init(rig->member[id], &config, id, 0, 1);
    }
    return rig;
}

void rig_destroy(struct rig *rig)
{
    for (uint32_t i = 0; i < rig->n_queue; i++) {
        free(rig->queue[i].items);
    }
    for (rz_id id = 0; id < rig->n; id++) {
        free(rig->member[id]);
    }
    free(rig);
}

static void carry_out(struct rig *rig, rz_id id, const struct rz_action *action)
{
    if (action->kind == RZ_ACTION_NOTIFY) {
        rz_assert(rig->n_notes < sizeof(rig->notes) / sizeof(*rig->notes));
        struct rig_note *note = &rig->notes[rig->n_notes++];
        *note = (struct rig_note){id,
                                  action->what,
                                  action->arg[0],
                                  action->arg[1],
                                  action->arg[2],
                                  action->arg[3],
                                  action->n_items,
                                  0,
                                  {0}};
        for (uint32_t i = 0; i < action->n_items && i < 4; i++) {
            note->items[i] = action->items[i];
        }
        rz_agree_failed(rig->member[id], &note->n_failed);
        return;
    }
    rz_assert(action->n_to > 0);
    for (uint32_t i = 0; i < action->n_to; i++) {
        size_t bytes = action->message.n_items * sizeof(uint64_t);
        rz_assert(rig->n_queue < RIG_QUEUE_MAX);
        struct rig_packet *packet = &rig->queue[rig->n_queue++];
        *packet = (struct rig_packet){
            .to = action->to[i], .message = action->message, .items = memory(NULL, bytes + 1)};
        if (bytes > 0) {
            memcpy(packet->items, action->items, bytes);
        }
        rig->n_sent[action->message.type]++;
    }
}

void rig_step(struct rig *rig, rz_id id, const struct rz_event *first)
{
    struct rz_action v[64];
    struct rz_event event = *first;
    for (;;) {
        struct rz_actions out = {.v = v, .max = rig->actions_max};
        enum rz_more more = rz_agree_step(rig->member[id], &event, &out);
        rz_assert(out.count <= out.max);
        if (more == RZ_NEED) {
            rz_assert(out.count == 0 && out.need > rig->bytes[id]);
            rig->member[id] = memory(rig->member[id], out.need);
            memset((char *)rig->member[id] + rig->bytes[id], 0xA5, out.need - rig->bytes[id]);
            rig->bytes[id] = out.need;
            uint64_t hash = rz_agree_hash(rig->member[id]);
            rz_agree_grow(rig->member[id], out.need);
            rz_assert(rz_agree_hash(rig->member[id]) == hash);
            rig->n_grown++;
            continue;
        }
        for (uint32_t i = 0; i < out.count; i++) {
            carry_out(rig, id, &v[i]);
        }
        if (more == RZ_DONE) {
            return;
        }
        rig->n_more++;
        event = (struct rz_event){.kind = RZ_EVENT_CONTINUE};
    }
}

void rig_propose_items(struct rig *rig, rz_id id, const uint64_t *items, uint32_t n_items)
{
    struct rz_event event = {.kind = RZ_EVENT_CALL,
                             .call = RZ_AGREE_PROPOSE,
                             .arg = {~(UINT64_C(1) << id % 64), id, id},
                             .items = items,
                             .n_items = n_items};
    rig_step(rig, id, &event);
}

void rig_propose(struct rig *rig, rz_id id)
{
    uint64_t item = 100 * (rz_agree_proposed(rig->member[id]) + 1) + id;
    rig_propose_items(rig, id, &item, 1);
}

void rig_tell(struct rig *rig, rz_id id, const rz_id *failed, uint32_t n_failed)
{
    struct rz_event event = {.kind = RZ_EVENT_FAILURE, .ids = failed, .n_ids = n_failed};
    rig_step(rig, id, &event);
}

void rig_drop(struct rig *rig, uint32_t at)
{
    rz_assert(at < rig->n_queue);
    free(rig->queue[at].items);
    rig->n_queue--;
    memmove(rig->queue + at, rig->queue + at + 1, (rig->n_queue - at) * sizeof(*rig->queue));
}

void rig_deliver(struct rig *rig, uint32_t at)
{
    rz_assert(at < rig->n_queue);
    struct rig_packet packet = rig->queue[at];
    rig->n_queue--;
    memmove(rig->queue + at, rig->queue + at + 1, (rig->n_queue - at) * sizeof(*rig->queue));
    struct rz_event event = {
        .kind = RZ_EVENT_RECEIVE, .message = &packet.message, .items = packet.items};
    if (!rig->failed[packet.to]) {
        rig_step(rig, packet.to, &event);
    }
    free(packet.items);
}

void rig_deliver_all(struct rig *rig)
{
    while (rig->n_queue > 0) {
        rig_deliver(rig, 0);
    }
}

uint32_t rig_find(const struct rig *rig, enum rz_agree_message type, rz_id to)
{
    for (uint32_t i = 0; i < rig->n_queue; i++) {
        if (rig->queue[i].message.type == type && rig->queue[i].to == to) {
            return i;
        }
    }
    return RIG_QUEUE_MAX;
}

uint32_t rig_told(const struct rig *rig, rz_id member, uint32_t what, uint64_t seq,
                  const struct rig_note **note)
{
    uint32_t times = 0;
    for (uint32_t i = 0; i < rig->n_notes; i++) {
        if (rig->notes[i].member != member || rig->notes[i].what != what ||
            rig->notes[i].seq != seq) {
            continue;
        }
        times++;
        if (note) {
            *note = &rig->notes[i];
        }
    }
    return times;
}
