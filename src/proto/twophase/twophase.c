/* SPDX-License-Identifier: BSD-3-Clause */
/* The two-phase commit (Log2phases): one step of a member, and the accessors. */
#include "proto/twophase/twophase.h"

#include "base/random.h"
#include "proto/twophase/twophase_private.h"

#include <string.h>

static uint32_t value_words(const struct rz_twophase_config *config)
{
    return (config->n_members + 63) / 64 + (config->extremes ? 2 : 0);
}

size_t rz_twophase_size(const struct rz_twophase_config *config)
{
    return sizeof(struct rz_twophase) + (RZ_TWOPHASE_SETS + 2 * (size_t)RZ_TWOPHASE_OP_SETS) *
                                            value_words(config) * sizeof(uint64_t);
}

void rz_twophase_init(struct rz_twophase *tp, const struct rz_twophase_config *config, rz_id self,
                      rz_time now, uint64_t seed)
{
    (void)now;
    (void)seed;
    rz_assert(config->n_members >= 1 && config->n_members <= RZ_TWOPHASE_MEMBERS_MAX);
    rz_assert(self < config->n_members);
    memset(tp, 0, rz_twophase_size(config));
    tp->config = *config;
    tp->self = self;
    tp->n_words = (config->n_members + 63) / 64;
    tp->n_value = value_words(config);
    tp->op[1].slot = 1;
}

uint64_t *rz_twophase_set(const struct rz_twophase *tp, enum rz_twophase_set set)
{
    return (uint64_t *)((uintptr_t)(tp + 1)) + (size_t)set * tp->n_value;
}

uint64_t *rz_twophase_op_set(const struct rz_twophase *tp, const struct rz_twophase_op *op,
                             enum rz_twophase_set set)
{
    uint32_t before = RZ_TWOPHASE_SETS + op->slot * RZ_TWOPHASE_OP_SETS;
    return rz_twophase_set(tp, (enum rz_twophase_set)(before + set));
}

void rz_twophase_send(struct rz_twophase *tp, const struct rz_twophase_op *op,
                      enum rz_twophase_message type, const rz_id *to, uint32_t n_to,
                      struct rz_actions *out)
{
    bool has_value = type == RZ_TWOPHASE_VOTE || type == RZ_TWOPHASE_DECISION;
    rz_assert(n_to > 0 && out->count < out->max);
    out->v[out->count++] = (struct rz_action){
        .kind = RZ_ACTION_SEND,
        .to = to,
        .n_to = n_to,
        .message = {.protocol = RZ_PROTOCOL_TWOPHASE,
                    .type = (uint8_t)type,
                    .view = tp->config.view,
                    .from = tp->self,
                    .origin = tp->self,
                    .seq = op->seq,
                    .word = {op->attempt, has_value ? op->flag : 0},
                    .n_items = has_value ? tp->n_value : 0},
        .items = has_value ? rz_twophase_op_set(tp, op, RZ_TWOPHASE_FAILED) : NULL,
    };
}

static void twophase_answer(struct rz_twophase *tp, const struct rz_twophase_op *op,
                            enum rz_twophase_message type, rz_id to, uint32_t attempt,
                            struct rz_actions *out)
{
    struct rz_twophase_op of_attempt = *op;
    of_attempt.attempt = attempt;
    tp->late = to;
    rz_twophase_send(tp, &of_attempt, type, &tp->late, 1, out);
}

/* The operation with this number, created if it is new; NULL: all living members have decided it.
 */
static struct rz_twophase_op *op_open(struct rz_twophase *tp, uint64_t seq)
{
    struct rz_twophase_op *op = &tp->op[seq % 2];
    if (op->seq > seq) {
        return NULL;
    }
    if (op->seq < seq) {
        *op = (struct rz_twophase_op){.seq = seq, .slot = (uint32_t)(seq % 2)};
        op->own_flag = op->own_min = UINT64_MAX;
        rz_twophase_give_up(tp, op, 1);
    }
    return op;
}

/* From the own words and the given ones, behind the bitmap. `begun`: it has some already. */
static void merge_extremes(const struct rz_twophase *tp, const struct rz_twophase_op *op,
                           bool begun, const uint64_t given[2])
{
    if (!tp->config.extremes) {
        return;
    }
    uint64_t *value = rz_twophase_op_set(tp, op, RZ_TWOPHASE_FAILED) + tp->n_words;
    value[0] = begun && value[0] < given[0] ? value[0] : given[0];
    value[1] = begun && value[1] > given[1] ? value[1] : given[1];
}

void rz_twophase_give_up(struct rz_twophase *tp, struct rz_twophase_op *op, uint32_t attempt)
{
    memset(rz_twophase_op_set(tp, op, RZ_TWOPHASE_FAILED), 0,
           RZ_TWOPHASE_OP_SETS * (size_t)tp->n_value * sizeof(uint64_t));
    merge_extremes(tp, op, false, (const uint64_t[2]){op->own_min, op->own_max});
    op->attempt = attempt;
    op->flag = op->own_flag;
    op->parent = RZ_ID_NONE;
    if (op->status == RZ_TWOPHASE_VOTED) {
        op->status = RZ_TWOPHASE_GATHERING;
    }
}

void rz_twophase_commit(struct rz_twophase *tp, struct rz_twophase_op *op, rz_id giver)
{
    const uint64_t *failed = rz_twophase_op_set(tp, op, RZ_TWOPHASE_FAILED);
    const uint64_t *voters = rz_twophase_op_set(tp, op, RZ_TWOPHASE_GATHERED);
    const uint64_t *askers = rz_twophase_op_set(tp, op, RZ_TWOPHASE_ASKERS);
    const uint64_t *kids = rz_twophase_set(tp, RZ_TWOPHASE_KIDS);
    uint64_t *known_failed = rz_twophase_set(tp, RZ_TWOPHASE_KNOWN_FAILED);
    uint64_t *pending = rz_twophase_set(tp, RZ_TWOPHASE_PENDING);
    op->status = RZ_TWOPHASE_COMMITTED;
    for (uint32_t word = 0; word < tp->n_words; word++) {
        known_failed[word] |= failed[word];
    }
    if (rz_twophase_bit(known_failed, tp->self)) {
        tp->stopped = 1;
        return;
    }
    rz_twophase_tree_children(tp, op->attempt);
    for (uint32_t word = 0; word < tp->n_words; word++) {
        uint64_t all = kids[word] | askers[word];
        if (!rz_twophase_mutated(tp, RZ_TWOPHASE_NO_SERVE_VOTERS)) {
            all |= voters[word];
        }
        pending[word] = all & ~known_failed[word];
    }
    if (giver != tp->self) {
        pending[giver / 64] &= ~(UINT64_C(1) << giver % 64);
    }
    tp->pending = 1;
    tp->pending_type = RZ_TWOPHASE_DECISION;
    tp->pending_word = 0;
}

static bool twophase_hears(const struct rz_twophase *tp, const struct rz_event *event)
{
    const struct rz_message *message = event->message;
    if (message->view != tp->config.view || message->type >= RZ_TWOPHASE_MESSAGE_COUNT) {
        return false;
    }
    if (message->from >= tp->config.n_members || message->from == tp->self) {
        return false;
    }
    if (rz_twophase_knows_failed(tp, message->from) &&
        !rz_twophase_mutated(tp, RZ_TWOPHASE_NO_FENCE)) {
        return false;
    }
    if (message->seq == 0 || message->seq > tp->decided + 2) {
        return false;
    }
    if (message->word[0] == 0 || message->word[0] > tp->config.n_members) {
        return false;
    }
    if (message->type != RZ_TWOPHASE_VOTE && message->type != RZ_TWOPHASE_DECISION) {
        return message->n_items == 0;
    }
    uint32_t rest = tp->config.n_members % 64;
    return message->n_items == tp->n_value &&
           (rest == 0 || event->items[tp->n_words - 1] >> rest == 0);
}

static void receive_vote(struct rz_twophase *tp, struct rz_twophase_op *op,
                         const struct rz_event *event)
{
    rz_id from = event->message->from;
    if (op->status == RZ_TWOPHASE_VOTED) {
        /* The sender's vote is in this member's vote already, or the sender has a different view of
         * the tree. */
        if (!rz_twophase_mutated(tp, RZ_TWOPHASE_NO_ASKERS)) {
            rz_twophase_bit_set(rz_twophase_op_set(tp, op, RZ_TWOPHASE_ASKERS), from);
        }
        return;
    }
    uint64_t *failed = rz_twophase_op_set(tp, op, RZ_TWOPHASE_FAILED);
    for (uint32_t word = 0; word < tp->n_words; word++) {
        failed[word] |= event->items[word];
    }
    merge_extremes(tp, op, true, event->items + tp->n_words);
    op->flag &= event->message->word[1];
    rz_twophase_bit_set(rz_twophase_op_set(tp, op, RZ_TWOPHASE_GATHERED), from);
}

static void receive_question(struct rz_twophase *tp, struct rz_twophase_op *op,
                             const struct rz_message *message, struct rz_actions *out)
{
    if (message->type == RZ_TWOPHASE_QUERY && op->status != RZ_TWOPHASE_VOTED) {
        twophase_answer(tp, op, RZ_TWOPHASE_GATHER, message->from, op->attempt, out);
        return;
    }
    if (!rz_twophase_mutated(tp, RZ_TWOPHASE_NO_ASKERS)) {
        rz_twophase_bit_set(rz_twophase_op_set(tp, op, RZ_TWOPHASE_ASKERS), message->from);
    }
}

static void receive_decision(struct rz_twophase *tp, struct rz_twophase_op *op,
                             const struct rz_event *event)
{
    bool holds_us_failed = rz_twophase_bit(event->items, tp->self);
    if (op->status == RZ_TWOPHASE_NOT_CONTRIBUTED) {
        /* No member decides without a living member: a member that did considers this one failed.
         * The host learns of it by rz_twophase_knows_failed. */
        if (holds_us_failed) {
            rz_twophase_bit_set(rz_twophase_set(tp, RZ_TWOPHASE_KNOWN_FAILED), tp->self);
            tp->stopped = 1;
        }
        return;
    }
    memcpy(rz_twophase_op_set(tp, op, RZ_TWOPHASE_FAILED), event->items,
           tp->n_value * sizeof(uint64_t));
    op->flag = event->message->word[1];
    rz_twophase_commit(tp, op, event->message->from);
}

/* A query for a decided operation is answered in the asker's attempt: so the asker knows that a
 * living member answers, and not one that it has given up together with its attempt. */
static void twophase_on_receive(struct rz_twophase *tp, const struct rz_event *event,
                                struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    enum rz_twophase_message type = (enum rz_twophase_message)message->type;
    uint32_t attempt = (uint32_t)message->word[0];
    struct rz_twophase_op *op = op_open(tp, message->seq);
    bool asks = type == RZ_TWOPHASE_VOTE || type == RZ_TWOPHASE_QUERY || type == RZ_TWOPHASE_ASK;
    if (!op) {
        return;
    }
    if (op->status == RZ_TWOPHASE_COMMITTED) {
        if (asks) {
            twophase_answer(tp, op, RZ_TWOPHASE_DECISION, message->from, attempt, out);
        }
        return;
    }
    if (attempt < op->attempt) {
        if (asks) {
            twophase_answer(tp, op, RZ_TWOPHASE_ABORT, message->from, op->attempt, out);
        }
        if (type != RZ_TWOPHASE_DECISION || !rz_twophase_mutated(tp, RZ_TWOPHASE_OLD_DECISION)) {
            return;
        }
    }
    if (attempt > op->attempt) {
        rz_twophase_give_up(tp, op, attempt);
    }
    if (type == RZ_TWOPHASE_VOTE) {
        receive_vote(tp, op, event);
    } else if (type == RZ_TWOPHASE_DECISION) {
        receive_decision(tp, op, event);
    } else if (asks) {
        receive_question(tp, op, message, out);
    } else if (type == RZ_TWOPHASE_GATHER && op->status == RZ_TWOPHASE_VOTED &&
               op->parent == message->from) {
        rz_twophase_send(tp, op, RZ_TWOPHASE_VOTE, &op->parent, 1, out);
    }
}

static void propose(struct rz_twophase *tp, const struct rz_event *event)
{
    rz_assert(event->call == RZ_TWOPHASE_PROPOSE && tp->proposed == tp->decided);
    struct rz_twophase_op *op = op_open(tp, ++tp->proposed);
    rz_assert(op && op->status == RZ_TWOPHASE_NOT_CONTRIBUTED);
    op->own_flag = event->arg[0];
    op->flag &= op->own_flag;
    op->own_min = event->arg[1];
    op->own_max = event->arg[2];
    merge_extremes(tp, op, true, &event->arg[1]);
    op->status = RZ_TWOPHASE_GATHERING;
}

/* The part of the current multicast that fits one action. */
static void send_pending(struct rz_twophase *tp, struct rz_actions *out)
{
    uint64_t *pending = rz_twophase_set(tp, RZ_TWOPHASE_PENDING);
    const struct rz_twophase_op *op = &tp->op[tp->proposed % 2];
    uint32_t n_to = 0;
    for (; tp->pending_word < tp->n_words; tp->pending_word++) {
        uint64_t *word = &pending[tp->pending_word];
        for (; *word && n_to < RZ_TWOPHASE_CHUNK; *word &= *word - 1) {
            tp->to[n_to++] = 64 * tp->pending_word + (rz_id)__builtin_ctzll(*word);
        }
        if (*word) {
            break;
        }
    }
    tp->pending = tp->pending_word < tp->n_words;
    if (n_to > 0) {
        rz_twophase_send(tp, op, (enum rz_twophase_message)tp->pending_type, tp->to, n_to, out);
    }
}

static void twophase_report_decision(struct rz_twophase *tp, struct rz_actions *out)
{
    const struct rz_twophase_op *op = &tp->op[++tp->decided % 2];
    const uint64_t *failed = rz_twophase_op_set(tp, op, RZ_TWOPHASE_FAILED);
    uint64_t *agreed = rz_twophase_set(tp, RZ_TWOPHASE_AGREED);
    tp->n_agreed = 0;
    for (uint32_t word = 0; word < tp->n_words; word++) {
        agreed[word] |= failed[word];
        tp->n_agreed += rz_twophase_count(agreed[word]);
    }
    rz_assert(out->count < out->max);
    out->v[out->count++] = (struct rz_action){.kind = RZ_ACTION_NOTIFY,
                                              .what = RZ_TWOPHASE_DECIDED,
                                              .arg = {op->seq, op->flag, op->attempt},
                                              .items = failed,
                                              .n_items = tp->n_value};
}

static enum rz_more twophase_carry_on(struct rz_twophase *tp, struct rz_actions *out)
{
    if (tp->pending) {
        send_pending(tp, out);
    }
    if (tp->pending) {
        return RZ_MORE;
    }
    const struct rz_twophase_op *op = &tp->op[tp->proposed % 2];
    if (tp->proposed > tp->decided && op->status == RZ_TWOPHASE_COMMITTED) {
        twophase_report_decision(tp, out);
    }
    return RZ_DONE;
}

enum rz_more rz_twophase_step(struct rz_twophase *tp, const struct rz_event *event,
                              struct rz_actions *out)
{
    rz_assert(out->count == 0 && out->max >= RZ_ACTIONS_MIN);
    if (event->kind == RZ_EVENT_CONTINUE) {
        return twophase_carry_on(tp, out);
    }
    if (tp->stopped || event->kind == RZ_EVENT_TICK) {
        return RZ_DONE;
    }
    if (event->kind == RZ_EVENT_RECEIVE) {
        if (!twophase_hears(tp, event)) {
            return RZ_DONE;
        }
        twophase_on_receive(tp, event, out);
    } else if (event->kind == RZ_EVENT_CALL) {
        propose(tp, event);
    } else {
        for (uint32_t i = 0; i < event->n_ids; i++) {
            rz_twophase_bit_set(rz_twophase_set(tp, RZ_TWOPHASE_KNOWN_FAILED), event->ids[i]);
        }
        tp->stopped = rz_twophase_knows_failed(tp, tp->self);
    }
    if (!tp->stopped && tp->proposed > tp->decided) {
        rz_twophase_review(tp, out);
    }
    return twophase_carry_on(tp, out);
}

rz_time rz_twophase_deadline(const struct rz_twophase *tp)
{
    (void)tp;
    return RZ_TIME_NEVER;
}

void rz_twophase_grow(struct rz_twophase *tp, size_t bytes)
{
    (void)tp;
    (void)bytes;
    rz_assert(!"the state never grows");
}

static uint64_t hash_words(uint64_t hash, const uint64_t *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        hash = rz_mix(hash, words[i]);
    }
    return hash;
}

uint64_t rz_twophase_hash(const struct rz_twophase *tp)
{
    uint64_t hash = rz_mix(rz_mix(tp->self, tp->stopped), tp->proposed);
    hash = hash_words(rz_mix(hash, tp->decided), rz_twophase_set(tp, RZ_TWOPHASE_KNOWN_FAILED),
                      2 * tp->n_value);
    for (uint32_t slot = 0; slot < 2; slot++) {
        const struct rz_twophase_op *op = &tp->op[slot];
        hash = rz_mix(rz_mix(hash, op->seq), op->flag);
        hash = rz_mix(rz_mix(hash, op->own_min), op->own_max);
        hash = rz_mix(rz_mix(hash, op->own_flag), op->status | (uint64_t)op->attempt << 32);
        hash = rz_mix(hash, op->parent);
        hash = hash_words(hash, rz_twophase_op_set(tp, op, RZ_TWOPHASE_FAILED),
                          RZ_TWOPHASE_OP_SETS * tp->n_value);
    }
    return hash;
}

uint64_t rz_twophase_proposed(const struct rz_twophase *tp)
{
    return tp->proposed;
}

uint64_t rz_twophase_decided(const struct rz_twophase *tp)
{
    return tp->decided;
}

bool rz_twophase_knows_failed(const struct rz_twophase *tp, rz_id id)
{
    return rz_twophase_bit(rz_twophase_set(tp, RZ_TWOPHASE_KNOWN_FAILED), id);
}

bool rz_twophase_agreed_failed(const struct rz_twophase *tp, rz_id id)
{
    return rz_twophase_bit(rz_twophase_set(tp, RZ_TWOPHASE_AGREED), id);
}
