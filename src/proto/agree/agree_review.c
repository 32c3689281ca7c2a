/* SPDX-License-Identifier: BSD-3-Clause */
/* The next step of an operation, a function of its state and of the known failures (ERA: "Check",
 * and the reaction to failures). */
#include "proto/agree/agree_private.h"

/*
 * If no further member failed, the tree is not repaired: a member that has heard of fewer peers
 * than it has children misses one. So the root of a star does not walk along its children at each
 * UP.
 */
static bool surely_missing(const struct rz_agree_tree_view *tree, const struct rz_agree *agree,
                           const struct rz_agree_op *op)
{
    return !op->asking && tree->n_failed == tree->n_base &&
           op->n_peers < rz_agree_shape_degree(tree, agree->self);
}

/* The children whose contributions are missing; to[0..*n_ask) gets those that were not sent a
 * REQUEST. */
static bool children_missing(struct rz_agree *agree, struct rz_agree_op *op, uint32_t *n_ask)
{
    struct rz_agree_tree_view tree = rz_agree_op_tree(agree, op);
    struct rz_agree_walk walk = {.member = agree->self};
    rz_id *to = rz_agree_op_to(agree, op);
    bool missing = false;
    *n_ask = 0;
    if (surely_missing(&tree, agree, op)) {
        return true;
    }
    for (rz_id child; (child = rz_agree_tree_next_child(&tree, &walk)) != RZ_ID_NONE;) {
        uint32_t roles = rz_agree_op_roles(agree, op, child);
        if (roles & RZ_AGREE_GATHERED) {
            continue;
        }
        missing = true;
        if (!(roles & RZ_AGREE_ASKED)) {
            to[(*n_ask)++] = child;
        }
    }
    return missing;
}

rz_id rz_agree_awaited(const struct rz_agree *agree)
{
    const struct rz_agree_op *op =
        agree->proposed > agree->decided ? rz_agree_op_find(agree, agree->decided + 1) : NULL;
    if (!op) {
        return RZ_ID_NONE;
    }
    if (op->status != RZ_AGREE_GATHERING) {
        return op->parent;
    }
    struct rz_agree_tree_view tree = rz_agree_op_tree(agree, op);
    struct rz_agree_walk walk = {.member = agree->self};
    rz_id child;
    while ((child = rz_agree_tree_next_child(&tree, &walk)) != RZ_ID_NONE &&
           (rz_agree_op_roles(agree, op, child) & RZ_AGREE_GATHERED)) {
        ;
    }
    return child;
}

static void send_up(struct rz_agree *agree, struct rz_agree_op *op, rz_id parent,
                    struct rz_actions *out)
{
    op->status = RZ_AGREE_BROADCASTING;
    op->parent = parent;
    op->resend = 0;
    rz_agree_send(agree, op, RZ_AGREE_UP, &op->parent, 1, out);
}

/* A root that had sent its UP does not know whether the old root decided: a child that is not
 * gathered may hold the decision. */
static void ask_for_decision(struct rz_agree *agree, struct rz_agree_op *op, uint32_t n_ask,
                             struct rz_actions *out)
{
    const rz_id *to = rz_agree_op_to(agree, op);
    if (!op->asking || n_ask == 0 || rz_agree_mutated(agree, RZ_AGREE_NO_RESULT_REQUEST)) {
        return;
    }
    for (uint32_t i = 0; i < n_ask; i++) {
        rz_agree_op_mark(agree, op, to[i], RZ_AGREE_ASKED);
    }
    rz_agree_send(agree, op, RZ_AGREE_REQUEST, to, n_ask, out);
}

static void review_gathering(struct rz_agree *agree, struct rz_agree_op *op, rz_id parent,
                             struct rz_actions *out)
{
    uint32_t n_ask;
    if (children_missing(agree, op, &n_ask)) {
        ask_for_decision(agree, op, n_ask, out);
        return;
    }
    rz_agree_value_seal(agree, op);
    if (parent != agree->self) {
        send_up(agree, op, parent, out);
    } else {
        rz_agree_complete(agree, op, agree->self, out);
    }
}

void rz_agree_review(struct rz_agree *agree, struct rz_agree_op *op, struct rz_actions *out)
{
    if (op->status != RZ_AGREE_GATHERING && op->status != RZ_AGREE_BROADCASTING) {
        return;
    }
    struct rz_agree_tree_view tree = rz_agree_op_tree(agree, op);
    rz_id parent = rz_agree_tree_parent(&tree, agree->self);
    if (op->status == RZ_AGREE_BROADCASTING) {
        if (parent != agree->self) {
            if (parent != op->parent || op->resend) {
                send_up(agree, op, parent, out);
            }
            return;
        }
        op->status = RZ_AGREE_GATHERING;
        op->asking = 1;
    }
    review_gathering(agree, op, parent, out);
}
