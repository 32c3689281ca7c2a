/* SPDX-License-Identifier: BSD-3-Clause */
/* The next step of an operation, a function of its state and of the known failures. */
#include "proto/twophase/twophase_private.h"

/* The root of the attempt has failed: the next member that has not is the new root. A member that
 * had voted is uncertain, and finds out by the votes of the next attempt: a living member that has
 * decided sends its decision there in place of a vote. */
static void leave_failed_roots(struct rz_twophase *tp, struct rz_twophase_op *op)
{
    uint32_t attempt = op->attempt;
    while (rz_twophase_knows_failed(tp, rz_twophase_tree_root(tp, attempt))) {
        attempt++;
    }
    if (attempt > op->attempt) {
        rz_twophase_give_up(tp, op, attempt);
    }
}

/* Removes from KIDS the members whose votes are there; true: some are missing. */
static bool votes_missing(struct rz_twophase *tp, const struct rz_twophase_op *op, bool is_root)
{
    const uint64_t *gathered = rz_twophase_op_set(tp, op, RZ_TWOPHASE_GATHERED);
    uint64_t *kids = rz_twophase_set(tp, RZ_TWOPHASE_KIDS);
    uint32_t missing = 0;
    for (uint32_t word = 0; word < tp->n_words; word++) {
        kids[word] &= ~gathered[word];
        missing += rz_twophase_count(kids[word]);
    }
    if (is_root && rz_twophase_mutated(tp, RZ_TWOPHASE_COMMIT_EARLY)) {
        return missing > 1;
    }
    return missing > 0;
}

/* In the first attempt no member can have decided during the gathering; in later ones a child may
 * have. */
static void ask_missing(struct rz_twophase *tp, struct rz_twophase_op *op)
{
    const uint64_t *kids = rz_twophase_set(tp, RZ_TWOPHASE_KIDS);
    uint64_t *asked = rz_twophase_op_set(tp, op, RZ_TWOPHASE_ASKED);
    uint64_t *pending = rz_twophase_set(tp, RZ_TWOPHASE_PENDING);
    if (op->attempt == 1 || rz_twophase_mutated(tp, RZ_TWOPHASE_NO_TERMINATION)) {
        return;
    }
    uint64_t any = 0;
    for (uint32_t word = 0; word < tp->n_words; word++) {
        pending[word] = kids[word] & ~asked[word];
        asked[word] |= pending[word];
        any |= pending[word];
    }
    tp->pending = any != 0;
    tp->pending_type = RZ_TWOPHASE_ASK;
    tp->pending_word = 0;
}

/* A member without a vote is among the failed of this decision, or of an earlier one. */
static void seal(struct rz_twophase *tp, struct rz_twophase_op *op)
{
    const uint64_t *known_failed = rz_twophase_set(tp, RZ_TWOPHASE_KNOWN_FAILED);
    const uint64_t *agreed = rz_twophase_set(tp, RZ_TWOPHASE_AGREED);
    uint64_t *failed = rz_twophase_op_set(tp, op, RZ_TWOPHASE_FAILED);
    for (uint32_t word = 0; word < tp->n_words; word++) {
        failed[word] |= known_failed[word] & ~agreed[word];
    }
}

void rz_twophase_review(struct rz_twophase *tp, struct rz_actions *out)
{
    struct rz_twophase_op *op = &tp->op[tp->proposed % 2];
    if (op->status != RZ_TWOPHASE_GATHERING && op->status != RZ_TWOPHASE_VOTED) {
        return;
    }
    leave_failed_roots(tp, op);
    rz_id parent = rz_twophase_tree_parent(tp, op->attempt);
    bool is_root = parent == RZ_ID_NONE;
    if (op->status == RZ_TWOPHASE_VOTED) {
        if (parent == op->parent) {
            return;
        }
        op->parent = parent;
        if (!rz_twophase_mutated(tp, RZ_TWOPHASE_NO_QUERY)) {
            rz_twophase_send(tp, op, RZ_TWOPHASE_QUERY, &op->parent, 1, out);
        }
        return;
    }
    rz_twophase_tree_children(tp, op->attempt);
    if (votes_missing(tp, op, is_root)) {
        ask_missing(tp, op);
        return;
    }
    seal(tp, op);
    if (is_root) {
        rz_twophase_commit(tp, op, tp->self);
        return;
    }
    op->status = RZ_TWOPHASE_VOTED;
    op->parent = parent;
    rz_twophase_send(tp, op, RZ_TWOPHASE_VOTE, &op->parent, 1, out);
}
