/* SPDX-License-Identifier: BSD-3-Clause */
/* The events that change the state of an operation: the host's call, and the three messages of ERA
 * ("UP", "DOWN", "RESULT_REQUEST"). */
#include "proto/agree/agree_private.h"

#include "base/idset.h"

/* ---- The host's call: contribute to the next operation ---- */

/* The members that the tree of this operation leaves out. Rule F4: the newest decision may be known
 * here and not yet elsewhere; the one in_flight_max before it is known to every member that may
 * propose this operation. */
static void take_base(struct rz_agree *agree, struct rz_agree_op *op)
{
    uint64_t lag = rz_agree_mutated(agree, RZ_AGREE_NO_LAG) ? 0 : agree->config.in_flight_max;
    const rz_id *agreed = rz_agree_agreed_list(agree);
    const uint64_t *agreed_at = rz_agree_agreed_at(agree);
    rz_id *base = rz_agree_op_base(agree, op);
    for (uint32_t i = 0; i < agree->n_agreed; i++) {
        if (agreed_at[i] + lag <= op->seq) {
            base[op->n_base++] = agreed[i];
        }
    }
}

void rz_agree_propose(struct rz_agree *agree, const struct rz_event *event)
{
    rz_assert(event->call == RZ_AGREE_PROPOSE);
    rz_assert(agree->proposed < agree->decided + agree->config.in_flight_max);
    struct rz_agree_op *op = rz_agree_op_open(agree, ++agree->proposed);
    rz_assert(op->status == RZ_AGREE_NOT_CONTRIBUTED);
    uint64_t words[RZ_AGREE_VALUE_WORDS] = {
        [RZ_AGREE_AND] = event->arg[0],
        [RZ_AGREE_MIN] = event->arg[1],
        [RZ_AGREE_MAX] = event->arg[2],
        [RZ_AGREE_SETTLED] = agree->decided,
    };
    struct rz_agree_parts own = {.words = words, .items = event->items, .n_items = event->n_items};
    rz_agree_value_merge(agree, op, &own);
    take_base(agree, op);
    op->status = RZ_AGREE_GATHERING;
    if (agree->told < agree->proposed) {
        agree->told = agree->proposed;
    }
}

/* ---- UP: the contribution of a child and its subtree ---- */

void rz_agree_receive_up(struct rz_agree *agree, const struct rz_event *event,
                         struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    struct rz_agree_op *op = rz_agree_op_open(agree, message->seq);
    struct rz_agree_parts parts = rz_agree_parts_of_message(message, event->items);
    switch ((enum rz_agree_status)op->status) {
    case RZ_AGREE_NOT_CONTRIBUTED:
    case RZ_AGREE_GATHERING:
        rz_agree_value_merge(agree, op, &parts);
        rz_agree_op_mark(agree, op, message->from, RZ_AGREE_GATHERED);
        break;
    case RZ_AGREE_BROADCASTING:
        /* The UP of this member is sent: it contains the sender's contribution, or the sender has a
         * different view of the tree. */
        if (!rz_agree_mutated(agree, RZ_AGREE_NO_EARLY_REQUESTERS)) {
            rz_agree_op_mark(agree, op, message->from, RZ_AGREE_ASKER);
        }
        break;
    case RZ_AGREE_COMPLETED:
        rz_agree_answer(agree, op, message->from, out);
        break;
    case RZ_AGREE_FREE:
        rz_assert(!"an open operation is not free");
    }
}

/* ---- DOWN: the decision, from the parent or from a member that was asked ---- */

void rz_agree_receive_down(struct rz_agree *agree, const struct rz_event *event,
                           struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    struct rz_agree_parts parts = rz_agree_parts_of_message(message, event->items);
    bool contributed = message->seq <= agree->proposed;
    /* No member decides without a living member. A decision that did not wait for this member means
     * that the others consider it failed: it is taken, so that the host learns of it, and nothing
     * is handled after it. */
    if (!contributed && !rz_items_contain(parts.failed, parts.n_failed, agree->self)) {
        return;
    }
    struct rz_agree_op *op = rz_agree_op_open(agree, message->seq);
    if (op->status == RZ_AGREE_COMPLETED) {
        return;
    }
    rz_agree_value_replace(agree, op, &parts);
    rz_agree_complete(agree, op, message->from, out);
}

/* ---- REQUEST: a new root asks whether the old one has decided ---- */

void rz_agree_receive_request(struct rz_agree *agree, const struct rz_event *event,
                              struct rz_actions *out)
{
    rz_id asker = event->message->from;
    struct rz_agree_op *op = rz_agree_op_open(agree, event->message->seq);
    if (op->status == RZ_AGREE_COMPLETED) {
        rz_agree_answer(agree, op, asker, out);
        return;
    }
    if (op->status == RZ_AGREE_BROADCASTING && !rz_agree_mutated(agree, RZ_AGREE_NO_RESEND_UP)) {
        op->resend = 1;
    }
    /* Rule F3: this member's UP may go to a failed parent, and the decision of that parent may
     * still arrive. Then the sender of the REQUEST must get it as well. */
    if (!rz_agree_mutated(agree, RZ_AGREE_NO_REMEMBER_ASKER)) {
        rz_agree_op_mark(agree, op, asker, RZ_AGREE_ASKER);
    }
}
