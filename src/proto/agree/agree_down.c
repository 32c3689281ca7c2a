/* SPDX-License-Identifier: BSD-3-Clause */
/* DOWN: the decision, from the parent or from a member that was asked (ERA: "DOWN"). */
#include "proto/agree/agree_private.h"

#include "base/idset.h"

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
