/* SPDX-License-Identifier: BSD-3-Clause */
/* One SWIM member: passes events to it and collects its actions. */
#include "swim_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

void rig_open(struct rig *rig, const struct rz_swim_config *config, rz_id self)
{
    memset(rig, 0, sizeof(*rig));
    rig->config = *config;
    rig->config.view = RIG_VIEW;
    rig->swim = malloc(rz_swim_size(&rig->config));
    rz_swim_init(rig->swim, &rig->config, self, 0, 1234);
}

void rig_close(struct rig *rig)
{
    free(rig->swim);
}

static void collect(struct rig *rig, const struct rz_actions *out)
{
    for (uint32_t i = 0; i < out->count; i++) {
        const struct rz_action *action = &out->v[i];
        assert_true(rig->count < RIG_ACTIONS_MAX);
        struct rig_action *kept = &rig->actions[rig->count++];
        uint32_t n_items =
            action->kind == RZ_ACTION_SEND ? action->message.n_items : action->n_items;
        kept->action = *action;
        assert_true(n_items <= RIG_ITEMS_MAX);
        if (action->kind == RZ_ACTION_SEND) {
            memcpy(kept->to, action->to, action->n_to * sizeof(*kept->to));
        }
        if (n_items > 0) {
            memcpy(kept->items, action->items, n_items * sizeof(*kept->items));
        }
        kept->action.to = kept->to;
        kept->action.items = kept->items;
    }
}

void rig_step(struct rig *rig, const struct rz_event *event)
{
    struct rz_event next = *event;
    rig->count = 0;
    for (;;) {
        struct rz_action actions[RZ_ACTIONS_MIN];
        struct rz_actions out = {.v = actions, .max = RZ_ACTIONS_MIN};
        enum rz_more more = rz_swim_step(rig->swim, &next, &out);
        if (more == RZ_NEED) {
            assert_int_equal(out.count, 0);
            rig->swim = realloc(rig->swim, out.need);
            rz_swim_grow(rig->swim, out.need);
            rig->grown++;
            continue;
        }
        collect(rig, &out);
        if (more == RZ_DONE) {
            return;
        }
        next = (struct rz_event){.kind = RZ_EVENT_CONTINUE, .now = next.now};
    }
}

void rig_receive(struct rig *rig, enum rz_swim_message type, rz_id from, uint64_t seq,
                 uint64_t word, const uint64_t *items, uint32_t n_items)
{
    struct rz_message message = {.protocol = RZ_PROTOCOL_SWIM,
                                 .type = (uint8_t)type,
                                 .view = RIG_VIEW,
                                 .from = from,
                                 .origin = from,
                                 .seq = seq,
                                 .word = {word},
                                 .n_items = n_items};
    rig_step(rig,
             &(struct rz_event){
                 .kind = RZ_EVENT_RECEIVE, .now = rig->now, .message = &message, .items = items});
}

void rig_hear(struct rig *rig, rz_id member, rz_id from, uint32_t incarnation,
              enum rz_swim_state state)
{
    const uint64_t items[] = {(uint64_t)from << 32 | member, (uint64_t)state << 32 | incarnation};
    rz_id sender = rz_swim_look(rig->swim, 1).state == RZ_SWIM_ALIVE ? 1 : 2;
    rig_receive(rig, RZ_SWIM_GOSSIP, sender, 0, 0, items, 2);
}

void rig_tick(struct rig *rig)
{
    rz_time deadline = rz_swim_deadline(rig->swim);
    assert_true(deadline != RZ_TIME_NEVER);
    rig->now = deadline > rig->now ? deadline : rig->now;
    rig_step(rig, &(struct rz_event){.kind = RZ_EVENT_TICK, .now = rig->now});
}

void rig_pass(struct rig *rig, rz_time until)
{
    while (rz_swim_deadline(rig->swim) <= until) {
        rig_tick(rig);
    }
    rig->now = until;
}

const struct rig_action *rig_sent(const struct rig *rig, enum rz_swim_message type)
{
    for (uint32_t i = 0; i < rig->count; i++) {
        if (rig->actions[i].action.kind == RZ_ACTION_SEND &&
            rig->actions[i].action.message.type == type) {
            return &rig->actions[i];
        }
    }
    return NULL;
}

const struct rig_action *rig_told(const struct rig *rig, enum rz_swim_notice what)
{
    for (uint32_t i = 0; i < rig->count; i++) {
        if (rig->actions[i].action.kind == RZ_ACTION_NOTIFY &&
            rig->actions[i].action.what == what) {
            return &rig->actions[i];
        }
    }
    return NULL;
}
