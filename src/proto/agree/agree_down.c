/* DOWN: the decision, from a parent or from somebody we asked (ERA: "DOWN"). */
#include "proto/agree/agree_private.h"

#include "base/idset.h"

void rz_agree_receive_down(struct rz_agree *agree, const struct rz_event *event,
                           struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    struct rz_agree_parts parts = rz_agree_parts_of_message(message, event->items);
    bool contributed = message->seq <= agree->proposed;
    /* Nobody decides without a living member. A decision that did not wait for us holds us for
     * failed: it is taken, so that the host learns of it, and it is the last thing we hear. */
    if (!contributed && !rz_items_contain(parts.failed, parts.n_failed, agree->self))
        return;
    struct rz_agree_op *op = rz_agree_op_open(agree, message->seq);
    if (op->status == RZ_AGREE_COMPLETED)
        return;
    rz_agree_value_replace(agree, op, &parts);
    rz_agree_complete(agree, op, message->from, out);
}
