/* SPDX-License-Identifier: BSD-3-Clause */
/* Cached decisions: the answer of a member, kept where other hosts can read it while the member
 * cannot answer. */
#include "proto/agree/agree_private.h"

/* Living children that this new root has sent a REQUEST and that have not answered; the one of
 * number `turn`, modulo their number. */
static rz_id asked_child(const struct rz_agree *agree, const struct rz_agree_op *op, uint32_t turn)
{
    struct rz_agree_tree_view tree = rz_agree_op_tree(agree, op);
    uint32_t n = 0, at = UINT32_MAX;
    for (;;) {
        struct rz_agree_walk walk = {.member = agree->self};
        uint32_t i = 0;
        for (rz_id child; (child = rz_agree_tree_next_child(&tree, &walk)) != RZ_ID_NONE;) {
            uint32_t roles = rz_agree_op_roles(agree, op, child);
            if ((roles & RZ_AGREE_GATHERED) || !(roles & RZ_AGREE_ASKED)) {
                continue;
            }
            if (i++ == at) {
                return child;
            }
        }
        n = i;
        if (n == 0) {
            return RZ_ID_NONE;
        }
        at = turn % n;
    }
}

rz_id rz_agree_asked(const struct rz_agree *agree, uint32_t turn)
{
    const struct rz_agree_op *op =
        agree->proposed > agree->decided ? rz_agree_op_find(agree, agree->decided + 1) : NULL;
    if (!op || agree->stopped) {
        return RZ_ID_NONE;
    }
    if (op->status == RZ_AGREE_BROADCASTING) {
        return op->parent;
    }
    return op->status == RZ_AGREE_GATHERING && op->asking ? asked_child(agree, op, turn)
                                                          : RZ_ID_NONE;
}

static struct rz_message down(const struct rz_agree *agree, rz_id from, uint64_t number,
                              uint64_t n_failed, uint32_t n_items)
{
    return (struct rz_message){.protocol = RZ_PROTOCOL_AGREE,
                               .type = RZ_AGREE_DOWN,
                               .view = agree->config.view,
                               .from = from,
                               .origin = from,
                               .seq = number,
                               .word = {n_failed},
                               .n_items = n_items};
}

const uint64_t *rz_agree_cached(const struct rz_agree *agree, uint64_t number,
                                struct rz_message *message)
{
    const struct rz_agree_op *op = rz_agree_op_find(agree, number);
    if (!op || op->status != RZ_AGREE_COMPLETED || agree->stopped) {
        return NULL;
    }
    *message = down(agree, agree->self, number, op->n_failed,
                    RZ_AGREE_VALUE_WORDS + op->n_failed + op->n_items);
    return rz_agree_op_value(agree, op);
}

bool rz_agree_is_cached(const struct rz_agree *agree, rz_id from, uint64_t number,
                        uint64_t n_failed, uint32_t n_items, struct rz_message *message)
{
    if (number != agree->decided + 1) {
        return false;
    }
    rz_id first = rz_agree_asked(agree, 0);
    uint32_t turn = 0;
    for (rz_id asked = first; asked != from; asked = rz_agree_asked(agree, turn)) {
        if (asked == RZ_ID_NONE || (++turn > 1 && asked == first)) {
            return false;
        }
    }
    *message = down(agree, from, number, n_failed, n_items);
    return true;
}
