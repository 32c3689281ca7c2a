/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement (ERA): one step of a member. Checks a message, passes it to its operation, and carries
 * on with all open operations; the accessors. */
#include "proto/agree/agree.h"

#include "base/random.h"
#include "proto/agree/agree_private.h"

/* Whether this member may handle the message. Rule F1: after a member has sent its UP to the next
 * root, it must not take a late decision of the failed one: the two may differ. */
static bool agree_hears(const struct rz_agree *agree, const struct rz_event *event)
{
    const struct rz_message *message = event->message;
    uint64_t newest = agree->decided + 2 * (uint64_t)agree->config.in_flight_max;
    if (message->view != agree->config.view || message->type >= RZ_AGREE_MESSAGE_COUNT) {
        return false;
    }
    if (message->from >= agree->config.n_members || message->from == agree->self) {
        return false;
    }
    if (rz_agree_knows_failed(agree, message->from) &&
        !rz_agree_mutated(agree, RZ_AGREE_NO_FENCE)) {
        return false;
    }
    /* Collected: the sender has decided the operation since it asked. Beyond the newest: no member
     * can have proposed it. */
    if (message->seq <= agree->collected || message->seq > newest) {
        return false;
    }
    return message->type == RZ_AGREE_REQUEST || rz_agree_value_valid(agree, message, event->items);
}

static void agree_on_receive(struct rz_agree *agree, const struct rz_event *event,
                             struct rz_actions *out)
{
    if (event->message->seq > agree->heard) {
        agree->heard = event->message->seq;
    }
    switch ((enum rz_agree_message)event->message->type) {
    case RZ_AGREE_UP:
        rz_agree_receive_up(agree, event, out);
        break;
    case RZ_AGREE_DOWN:
        rz_agree_receive_down(agree, event, out);
        break;
    case RZ_AGREE_REQUEST:
        rz_agree_receive_request(agree, event, out);
        break;
    case RZ_AGREE_MESSAGE_COUNT:
        rz_assert(!"inaudible");
    }
}

/* Does all that follows from an event, until the caller's array of actions is full. Decisions are
 * reported last and one by one, so that rz_agree_failed() is that of the decision just reported. */
static enum rz_more agree_carry_on(struct rz_agree *agree, struct rz_actions *out)
{
    while (agree->review_next <= agree->proposed && !agree->stopped) {
        if (out->count == out->max) {
            return RZ_MORE;
        }
        uint32_t n_failed = agree->n_failed;
        rz_agree_review(agree, rz_agree_op_find(agree, agree->review_next++), out);
        if (agree->n_failed == n_failed) {
            continue;
        }
        /* This decision names failures that were not known here: review every operation again. In a
         * step of its own, because an operation that has sent in this step must keep its buffers.
         */
        agree->review_next = agree->decided + 1;
        return RZ_MORE;
    }
    while (agree->told < agree->heard && !agree->stopped) {
        if (out->count == out->max) {
            return RZ_MORE;
        }
        out->v[out->count++] = (struct rz_action){
            .kind = RZ_ACTION_NOTIFY, .what = RZ_AGREE_REQUESTED, .arg = {++agree->told}};
    }
    if (!rz_agree_decision_ready(agree)) {
        return RZ_DONE;
    }
    if (out->count == out->max) {
        return RZ_MORE;
    }
    rz_agree_decision_tell(agree, out);
    return rz_agree_decision_ready(agree) ? RZ_MORE : RZ_DONE;
}

enum rz_more rz_agree_step(struct rz_agree *agree, const struct rz_event *event,
                           struct rz_actions *out)
{
    struct rz_message found;
    struct rz_event taken = {.kind = RZ_EVENT_RECEIVE, .message = &found, .items = event->items};
    rz_assert(out->count == 0 && out->max >= RZ_ACTIONS_MIN);
    if (event->kind == RZ_EVENT_CONTINUE) {
        return agree_carry_on(agree, out);
    }
    if (event->kind == RZ_EVENT_CALL && event->call == RZ_AGREE_TAKE) {
        if (!rz_agree_is_cached(agree, (rz_id)event->arg[0], event->arg[1], event->arg[2],
                                event->n_items, &found)) {
            return RZ_DONE;
        }
        event = &taken;
    }
    if (agree->stopped || event->kind == RZ_EVENT_TICK) {
        return RZ_DONE;
    }
    if (event->kind == RZ_EVENT_RECEIVE && !agree_hears(agree, event)) {
        return RZ_DONE;
    }
    if (!rz_agree_fits(agree, event, out)) {
        return RZ_NEED;
    }
    agree->review_next = agree->decided + 1;
    if (event->kind == RZ_EVENT_RECEIVE) {
        agree_on_receive(agree, event, out);
    } else if (event->kind == RZ_EVENT_CALL) {
        rz_agree_propose(agree, event);
    } else {
        for (uint32_t i = 0; i < event->n_ids; i++) {
            rz_agree_learn_failure(agree, event->ids[i]);
        }
    }
    return agree_carry_on(agree, out);
}

rz_time rz_agree_deadline(const struct rz_agree *agree)
{
    (void)agree;
    return RZ_TIME_NEVER;
}

uint64_t rz_agree_proposed(const struct rz_agree *agree)
{
    return agree->proposed;
}

uint64_t rz_agree_decided(const struct rz_agree *agree)
{
    return agree->decided;
}

static uint64_t hash_op(const struct rz_agree *agree, const struct rz_agree_op *op, uint64_t hash)
{
    const struct rz_agree_peer *peers = rz_agree_op_peers(agree, op);
    const rz_id *base = rz_agree_op_base(agree, op);
    const uint64_t *value = rz_agree_op_value(agree, op);
    hash = rz_mix(hash, op->seq);
    hash =
        rz_mix(hash, op->status | op->asking << 8 | op->resend << 16 | (uint64_t)op->parent << 32);
    for (uint32_t i = 0; i < op->n_peers; i++) {
        hash = rz_mix(hash, (uint64_t)peers[i].roles << 32 | peers[i].id);
    }
    for (uint32_t i = 0; i < op->n_base; i++) {
        hash = rz_mix(hash, base[i]);
    }
    for (uint32_t i = 0; i < RZ_AGREE_VALUE_WORDS + op->n_failed + op->n_items; i++) {
        hash = rz_mix(hash, value[i]);
    }
    return rz_mix(hash, (uint64_t)op->n_failed << 32 | op->n_items);
}

uint64_t rz_agree_hash(const struct rz_agree *agree)
{
    const rz_id *failed = rz_agree_failed_list(agree);
    const rz_id *agreed = rz_agree_agreed_list(agree);
    const uint64_t *agreed_at = rz_agree_agreed_at(agree);
    uint64_t newest = agree->decided + 2 * (uint64_t)agree->config.in_flight_max;
    uint64_t hash = rz_mix(agree->self, agree->stopped);
    hash = rz_mix(rz_mix(hash, agree->proposed), agree->decided);
    hash = rz_mix(rz_mix(hash, agree->heard), agree->told);
    hash = rz_mix(rz_mix(hash, agree->collected), agree->n_failed);
    for (uint32_t i = 0; i < agree->n_failed; i++) {
        hash = rz_mix(hash, failed[i]);
    }
    for (uint32_t i = 0; i < agree->n_agreed; i++) {
        hash = rz_mix(rz_mix(hash, agreed[i]), agreed_at[i]);
    }
    for (uint64_t seq = agree->collected + 1; seq <= newest; seq++) {
        const struct rz_agree_op *op = rz_agree_op_find(agree, seq);
        if (op) {
            hash = hash_op(agree, op, hash);
        }
    }
    return hash;
}
