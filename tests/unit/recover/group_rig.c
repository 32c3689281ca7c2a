/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of one component and their queue of messages; notices are kept for the test. */
#include "group_rig.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

void rig_close(struct rig *rig)
{
    for (rz_id member = 0; member < rig->n; member++) {
        free(rig->state[member]);
    }
}

static void carry_out(struct rig *rig, rz_id member, const struct rz_action *action)
{
    if (action->kind == RZ_ACTION_NOTIFY) {
        rz_assert(rig->n_notices < sizeof(rig->notice) / sizeof(*rig->notice) &&
                  action->n_items <= RIG_ITEMS_MAX);
        struct rig_notice *notice = &rig->notice[rig->n_notices++];
        *notice =
            (struct rig_notice){.member = member, .what = action->what, .n_items = action->n_items};
        memcpy(notice->arg, action->arg, sizeof(notice->arg));
        if (action->n_items > 0) {
            memcpy(notice->items, action->items, action->n_items * sizeof(*action->items));
        }
        return;
    }
    for (uint32_t i = 0; i < action->n_to; i++) {
        if (rig->cut[member][action->to[i]]) {
            continue;
        }
        rz_assert(rig->n_mail < sizeof(rig->mail) / sizeof(*rig->mail) &&
                  action->message.n_items <= RIG_ITEMS_MAX);
        struct rig_mail *mail = &rig->mail[rig->n_mail++];
        *mail = (struct rig_mail){.to = action->to[i], .message = action->message};
        if (action->message.n_items > 0) {
            memcpy(mail->items, action->items, action->message.n_items * sizeof(*action->items));
        }
    }
}

static void step(struct rig *rig, rz_id member, struct rz_event event)
{
    struct rz_action actions[RZ_ACTIONS_MIN];
    for (;;) {
        struct rz_actions out = {.v = actions, .max = RZ_ACTIONS_MIN};
        if (!rig->state[member]) {
            return;
        }
        enum rz_more more = rig->step(rig->state[member], &event, &out);
        if (more == RZ_NEED) {
            rig->state[member] = realloc(rig->state[member], out.need);
            rz_assert(rig->state[member]);
            rig->grow(rig->state[member], out.need);
            continue;
        }
        for (uint32_t i = 0; i < out.count; i++) {
            carry_out(rig, member, &out.v[i]);
        }
        if (more == RZ_DONE) {
            return;
        }
        event = (struct rz_event){.kind = RZ_EVENT_CONTINUE};
    }
}

void rig_call_items(struct rig *rig, rz_id member, uint32_t call, uint64_t arg0, uint64_t arg1,
                    const uint64_t *items, uint32_t n_items)
{
    step(rig, member,
         (struct rz_event){.kind = RZ_EVENT_CALL,
                           .call = call,
                           .arg = {arg0, arg1},
                           .items = items,
                           .n_items = n_items});
}

void rig_call_4(struct rig *rig, rz_id member, uint32_t call, uint64_t arg0, uint64_t arg1,
                uint64_t arg2, uint64_t arg3)
{
    step(rig, member,
         (struct rz_event){.kind = RZ_EVENT_CALL, .call = call, .arg = {arg0, arg1, arg2, arg3}});
}

void rig_call(struct rig *rig, rz_id member, uint32_t call, uint64_t arg0, uint64_t arg1,
              uint64_t arg2)
{
    rig_call_4(rig, member, call, arg0, arg1, arg2, 0);
}

void rig_tell(struct rig *rig, rz_id member, rz_id failed, bool proof)
{
    step(rig, member,
         (struct rz_event){
             .kind = RZ_EVENT_FAILURE, .ids = &failed, .n_ids = 1, .arg = {proof ? 1 : 0}});
}

void rig_kill(struct rig *rig, rz_id member)
{
    free(rig->state[member]);
    rig->state[member] = NULL;
    uint32_t kept = rig->delivered;
    for (uint32_t i = rig->delivered; i < rig->n_mail; i++) {
        if (rig->mail[i].message.from != member) {
            rig->mail[kept++] = rig->mail[i];
        }
    }
    rig->n_mail = kept;
}

void rig_run(struct rig *rig)
{
    while (rig->delivered < rig->n_mail) {
        const struct rig_mail mail = rig->mail[rig->delivered++];
        if (!rig->cut[mail.message.from][mail.to]) {
            step(rig, mail.to,
                 (struct rz_event){
                     .kind = RZ_EVENT_RECEIVE, .message = &mail.message, .items = mail.items});
        }
    }
    rig->n_mail = rig->delivered = 0;
}

const struct rig_notice *rig_next(struct rig *rig, rz_id member, uint32_t what)
{
    for (uint32_t i = rig->seen; i < rig->n_notices; i++) {
        if (rig->notice[i].member == member && rig->notice[i].what == what) {
            return &rig->notice[i];
        }
    }
    return NULL;
}

uint32_t rig_count(const struct rig *rig, rz_id member, uint32_t what)
{
    uint32_t count = 0;
    for (uint32_t i = rig->seen; i < rig->n_notices; i++) {
        count += rig->notice[i].member == member && rig->notice[i].what == what;
    }
    return count;
}
