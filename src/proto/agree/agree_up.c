/* SPDX-License-Identifier: BSD-3-Clause */
/* UP: the contribution of a child and its subtree (ERA: "UP"). */
#include "proto/agree/agree_private.h"

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
