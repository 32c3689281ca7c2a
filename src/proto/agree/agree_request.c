/* SPDX-License-Identifier: BSD-3-Clause */
/* REQUEST: a new root asks whether the old one has decided (ERA: "RESULT_REQUEST"). */
#include "proto/agree/agree_private.h"

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
