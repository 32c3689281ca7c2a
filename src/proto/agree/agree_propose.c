/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's call: contribute to the next operation. */
#include "proto/agree/agree_private.h"

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
