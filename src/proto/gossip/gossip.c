/* SPDX-License-Identifier: BSD-3-Clause */
/* The time behaviour of a member: cycles, pings, answers, notices. For their payloads see
 * gossip_matrix.c, gossip_list.c, gossip_sum.c. */
#include "proto/gossip/gossip.h"

#include "proto/mutation.h"
#include "base/assert.h"
#include "base/random.h"
#include "proto/gossip/gossip_state.h"
#include "proto/emit.h"

#include <string.h>

#define FAILED_FIRST 2 /* initial capacity in failed members */
#define SUM_STRIDE 3
#define ATTEMPTS_MAX 65536      /* of rz_gossip_target */
#define START_STREAM UINT64_MAX /* for the random seed: no cycle has this number */

size_t rz_gossip_size(const struct rz_gossip_config *config)
{
    return rz_gossip_bytes(config->kind, config->n_members, FAILED_FIRST);
}

static uint32_t log2_up(uint32_t n)
{
    return n > 1 ? 32 - (uint32_t)__builtin_clz(n - 1) : 0;
}

static void default_to(uint32_t *value, uint32_t otherwise)
{
    if (*value == 0) {
        *value = otherwise;
    }
}

void rz_gossip_init(struct rz_gossip *gossip, const struct rz_gossip_config *config, rz_id self,
                    rz_time now, uint64_t seed)
{
    (void)now;
    rz_assert(self < config->n_members && config->kind < RZ_GOSSIP_KIND_COUNT);
    rz_assert(config->timeout > 0 && config->timeout < config->cycle);
    rz_assert(config->kind != RZ_GOSSIP_MATRIX || config->n_members <= 2048);
    memset(gossip, 0, rz_gossip_size(config));
    gossip->config = *config;
    gossip->self = self;
    gossip->seed = seed;
    gossip->max = FAILED_FIRST;
    gossip->least = log2_up(config->n_members);
    default_to(&gossip->config.cycles_max, 64 + 8 * gossip->least);
    default_to(&gossip->config.quiet, 3);
    default_to(&gossip->config.initial, gossip->least + 8);
    default_to(&gossip->config.window, config->kind == RZ_GOSSIP_SUM ? 4 : 1);
    default_to(&gossip->config.tolerance_ppm, 1000);
    if (config->kind == RZ_GOSSIP_MATRIX) {
        gossip->row_words = (config->n_members + 63) / 64;
    }
    gossip->weight = rz_gossip_sum_weight(gossip);
}

/* ---- actions ---- */

static void gossip_notify(struct rz_gossip *gossip, enum rz_gossip_notice what, uint64_t arg0,
                          uint64_t arg1, struct rz_actions *out)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_NOTIFY);
    action->what = what;
    action->arg[0] = arg0;
    action->arg[1] = arg1;
    action->arg[2] = gossip->told_cycle;
}

/* The failed members that are in their last phase. */
static void notify_returned(struct rz_gossip *gossip, struct rz_actions *out)
{
    const struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    const uint64_t *ids = rz_gossip_ids(gossip);
    uint64_t *agreed = rz_gossip_scratch(gossip);
    uint32_t n = 0;
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        if (entries[i].phase == rz_gossip_last_phase(gossip)) {
            agreed[n++] = ids[i];
        }
    }
    gossip_notify(gossip, RZ_GOSSIP_RETURNED, gossip->agreed, 0, out);
    out->v[out->count - 1].items = agreed;
    out->v[out->count - 1].n_items = n;
    gossip->told_returned = true;
}

/* Reports all pending notices, as many as the actions hold. */
static enum rz_more gossip_report_notices(struct rz_gossip *gossip, struct rz_actions *out)
{
    static const enum rz_gossip_notice notices[] = {RZ_GOSSIP_DETECTED, RZ_GOSSIP_CONSENSUS,
                                                    RZ_GOSSIP_COMMITTED};
    struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    const uint64_t *ids = rz_gossip_ids(gossip);
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        for (; entries[i].told < entries[i].phase; entries[i].told++) {
            if (out->count == out->max) {
                return RZ_MORE;
            }
            gossip_notify(gossip, notices[entries[i].told], ids[i],
                          entries[i].told == 0 ? entries[i].how : 0, out);
        }
    }
    if (!gossip->returned || gossip->told_returned) {
        return RZ_DONE;
    }
    if (out->count == out->max) {
        return RZ_MORE;
    }
    notify_returned(gossip, out);
    return RZ_DONE;
}

static void gossip_send(struct rz_gossip *gossip, enum rz_gossip_message type, const rz_id *to,
                        uint64_t seq, const struct rz_gossip_payload *payload,
                        struct rz_actions *out)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_SEND);
    action->to = to;
    action->n_to = 1;
    action->message = (struct rz_message){.protocol = RZ_PROTOCOL_GOSSIP,
                                          .type = type,
                                          .view = gossip->config.view,
                                          .from = gossip->self,
                                          .origin = gossip->self,
                                          .seq = seq,
                                          .word = {payload->word},
                                          .n_items = payload->n_items};
    action->items = payload->items;
}

/* ---- cycles ---- */

/* Whether it pings: after its return only while a failure is not in its last phase. */
static bool awake(const struct rz_gossip *gossip)
{
    return gossip->begun && !gossip->ended && (!gossip->returned || gossip->n_unsettled > 0);
}

/* Cycles that passed while this member slept count. */
static void keep_time(struct rz_gossip *gossip, rz_time now)
{
    if (gossip->begun && !awake(gossip) && now >= gossip->cycle_end) {
        uint64_t passed = (now - gossip->cycle_end) / gossip->config.cycle + 1;
        gossip->cycle += passed;
        gossip->cycle_end += passed * gossip->config.cycle;
    }
}

/* If few members are alive the draws may fail: then the next living member. */
static rz_id draw_target(const struct rz_gossip *gossip)
{
    uint32_t n = gossip->config.n_members;
    bool self_known = rz_gossip_knows(gossip, gossip->self);
    if (gossip->n_failed - self_known + 1 >= n) {
        return RZ_ID_NONE;
    }
    for (uint32_t attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        rz_id target = rz_gossip_target(gossip->seed, n, gossip->self, gossip->cycle, attempt);
        if (!rz_gossip_knows(gossip, target)) {
            return target;
        }
    }
    rz_id target = gossip->self;
    do {
        target = (target + 1) % n;
    } while (target == gossip->self || rz_gossip_knows(gossip, target));
    return target;
}

static struct rz_gossip_payload payload_of(struct rz_gossip *gossip)
{
    if (gossip->config.kind == RZ_GOSSIP_MATRIX) {
        return rz_gossip_matrix_payload(gossip);
    }
    if (gossip->config.kind == RZ_GOSSIP_LIST) {
        return rz_gossip_list_payload(gossip);
    }
    return rz_gossip_sum_lend(gossip);
}

static void begin_cycle(struct rz_gossip *gossip, rz_time now, struct rz_actions *out)
{
    gossip->cycle++;
    gossip->cycle_end += gossip->config.cycle;
    if (gossip->cycle_end <= now) { /* a very late tick: cycles do not run in bursts */
        gossip->cycle_end = now + gossip->config.cycle;
    }
    gossip->target = draw_target(gossip);
    if (gossip->target == RZ_ID_NONE) {
        return;
    }
    struct rz_gossip_payload payload = payload_of(gossip);
    gossip->outstanding = true;
    gossip->timeout_at = now + gossip->config.timeout;
    gossip_send(gossip, RZ_GOSSIP_PING, &gossip->target, gossip->cycle, &payload, out);
}

static bool may_return(const struct rz_gossip *gossip)
{
    uint64_t cycle = gossip->cycle;
    if (gossip->n_unsettled > 0 || cycle < gossip->config.initial) {
        return false;
    }
    switch (gossip->config.kind) {
    case RZ_GOSSIP_MATRIX:
        return cycle - gossip->since >= gossip->config.quiet;
    case RZ_GOSSIP_LIST:
        return cycle > gossip->config.initial;
    default:
        return true;
    }
}

static void end_cycle(struct rz_gossip *gossip)
{
    if (gossip->config.kind == RZ_GOSSIP_MATRIX) {
        rz_gossip_matrix_assess(gossip);
    } else if (gossip->config.kind == RZ_GOSSIP_LIST) {
        rz_gossip_list_assess(gossip);
    } else {
        rz_gossip_sum_assess(gossip);
    }
    if (!gossip->returned && may_return(gossip)) {
        gossip->returned = gossip->agreed = true;
    }
    if (gossip->cycle >= gossip->config.cycles_max) {
        gossip->returned = gossip->ended = true;
    }
}

static void expire(struct rz_gossip *gossip)
{
    gossip->outstanding = false;
    if (gossip->config.report && rz_gossip_learn(gossip, gossip->target, RZ_GOSSIP_OWN_PING) &&
        gossip->config.kind == RZ_GOSSIP_SUM) {
        rz_gossip_sum_grown(gossip);
    }
    rz_gossip_sum_take_back(gossip);
}

static enum rz_more gossip_on_tick(struct rz_gossip *gossip, rz_time now, struct rz_actions *out)
{
    gossip->told_cycle = gossip->cycle;
    if (gossip->outstanding && now >= gossip->timeout_at) {
        if (gossip->config.report && !rz_gossip_knows(gossip, gossip->target) &&
            !rz_gossip_has_room(gossip, 1, out)) {
            return RZ_NEED;
        }
        expire(gossip);
    }
    /* The timeout of a ping that left late expires before its cycle ends: the mass lent to it
     * returns. */
    if (awake(gossip) && !gossip->outstanding && now >= gossip->cycle_end) {
        if (gossip->cycle > 0) {
            end_cycle(gossip);
        }
        if (awake(gossip)) {
            begin_cycle(gossip, now, out);
        }
    }
    return gossip_report_notices(gossip, out);
}

static enum rz_more on_begin(struct rz_gossip *gossip, rz_time now, struct rz_actions *out)
{
    if (gossip->begun) {
        return RZ_DONE;
    }
    struct rz_random random = {rz_mix(gossip->seed, START_STREAM)};
    rz_time spread = gossip->config.start_spread;
    gossip->begun = true;
    gossip->cycle_end = now + (spread > 0 ? rz_random_below(&random, spread) : 0);
    return gossip->cycle_end > now ? RZ_DONE : gossip_on_tick(gossip, now, out);
}

/* ---- messages ---- */

static bool valid(const struct rz_gossip *gossip, const struct rz_message *message,
                  const uint64_t *items)
{
    if (message->view != gossip->config.view || message->type >= RZ_GOSSIP_MESSAGE_COUNT ||
        message->from >= gossip->config.n_members || message->from == gossip->self) {
        return false;
    }
    if (gossip->config.kind == RZ_GOSSIP_MATRIX) {
        return rz_gossip_matrix_valid(gossip, message);
    }
    uint32_t stride = gossip->config.kind == RZ_GOSSIP_SUM ? SUM_STRIDE : 1;
    return rz_gossip_items_valid(gossip, items, message->n_items, stride);
}

static uint32_t unknown_in(const struct rz_gossip *gossip, const struct rz_message *message,
                           const uint64_t *items)
{
    if (gossip->config.kind == RZ_GOSSIP_MATRIX) {
        return rz_gossip_matrix_unknown(gossip, message, items);
    }
    uint32_t stride = gossip->config.kind == RZ_GOSSIP_SUM ? SUM_STRIDE : 1;
    return rz_gossip_items_unknown(gossip, items, message->n_items, stride);
}

static void gossip_answer(struct rz_gossip *gossip, const struct rz_message *ping,
                          const struct rz_gossip_payload *payload, struct rz_actions *out)
{
    gossip->answer_to = ping->from;
    gossip_send(gossip, RZ_GOSSIP_REPLY, &gossip->answer_to, ping->seq, payload, out);
}

/*
 * Symmetric push-sum: the halves for the answer are taken before the sender's are added. Failed
 * members get no mass (a PING may arrive after the report of its sender's failure), and no mass is
 * taken from a member that is not counted.
 */
static void exchange_sums(struct rz_gossip *gossip, const struct rz_message *message,
                          const uint64_t *items, bool settles, struct rz_actions *out)
{
    bool changed = false;
    for (uint32_t i = 0; i < message->n_items; i += SUM_STRIDE) {
        changed |= rz_gossip_learn(gossip, items[i], RZ_GOSSIP_HEARD);
    }
    if (changed) {
        rz_gossip_sum_grown(gossip);
    }
    bool counted = !rz_gossip_knows(gossip, message->from);
    if (message->type == RZ_GOSSIP_PING) {
        struct rz_gossip_payload payload =
            counted ? rz_gossip_sum_halve(gossip, rz_gossip_reply_items(gossip))
                    : rz_gossip_sum_nothing(gossip, rz_gossip_reply_items(gossip));
        gossip_answer(gossip, message, &payload, out);
    }
    if (counted && (message->type == RZ_GOSSIP_PING || settles)) {
        rz_gossip_sum_absorb(gossip, message->word[0], items, message->n_items);
    }
}

static enum rz_more gossip_on_receive(struct rz_gossip *gossip, const struct rz_message *message,
                                      const uint64_t *items, struct rz_actions *out)
{
    if (!valid(gossip, message, items)) {
        return RZ_DONE;
    }
    if (gossip->returned && RZ_MUTATED(gossip->config.mutations, RZ_GOSSIP_FALL_SILENT)) {
        return RZ_DONE;
    }
    if (!rz_gossip_has_room(gossip, unknown_in(gossip, message, items), out)) {
        return RZ_NEED;
    }
    gossip->told_cycle = gossip->cycle;
    bool settles = message->type == RZ_GOSSIP_REPLY && gossip->outstanding &&
                   message->from == gossip->target && message->seq == gossip->cycle;
    if (settles) {
        gossip->outstanding = gossip->lent = false;
    }
    if (gossip->config.kind == RZ_GOSSIP_SUM) {
        exchange_sums(gossip, message, items, settles, out);
        return gossip_report_notices(gossip, out);
    }
    if (gossip->config.kind == RZ_GOSSIP_MATRIX) {
        rz_gossip_matrix_merge(gossip, message, items);
    } else {
        rz_gossip_list_merge(gossip, items, message->n_items);
    }
    if (message->type == RZ_GOSSIP_PING) {
        struct rz_gossip_payload payload = payload_of(gossip);
        gossip_answer(gossip, message, &payload, out);
    }
    return gossip_report_notices(gossip, out);
}

static enum rz_more gossip_on_failure(struct rz_gossip *gossip, const struct rz_event *event,
                                      struct rz_actions *out)
{
    uint32_t unknown = 0;
    for (uint32_t i = 0; i < event->n_ids; i++) {
        rz_assert(event->ids[i] < gossip->config.n_members);
        unknown += !rz_gossip_knows(gossip, event->ids[i]);
    }
    if (!rz_gossip_has_room(gossip, unknown, out)) {
        return RZ_NEED;
    }
    gossip->told_cycle = gossip->cycle;
    bool changed = false;
    for (uint32_t i = 0; i < event->n_ids; i++) {
        changed |= rz_gossip_learn(gossip, event->ids[i], RZ_GOSSIP_TOLD);
    }
    if (changed && gossip->config.kind == RZ_GOSSIP_SUM) {
        rz_gossip_sum_grown(gossip);
    }
    return gossip_report_notices(gossip, out);
}

enum rz_more rz_gossip_step(struct rz_gossip *gossip, const struct rz_event *event,
                            struct rz_actions *out)
{
    keep_time(gossip, event->now);
    switch (event->kind) {
    case RZ_EVENT_RECEIVE:
        return gossip_on_receive(gossip, event->message, event->items, out);
    case RZ_EVENT_TICK:
        return gossip_on_tick(gossip, event->now, out);
    case RZ_EVENT_FAILURE:
        return gossip_on_failure(gossip, event, out);
    case RZ_EVENT_CALL:
        rz_assert(event->call == RZ_GOSSIP_BEGIN);
        return on_begin(gossip, event->now, out);
    case RZ_EVENT_CONTINUE:
        break;
    }
    return gossip_report_notices(gossip, out);
}

/* ---- accessors ---- */

rz_time rz_gossip_deadline(const struct rz_gossip *gossip)
{
    if (gossip->outstanding) {
        return gossip->timeout_at;
    }
    return awake(gossip) ? gossip->cycle_end : RZ_TIME_NEVER;
}

uint64_t rz_gossip_hash(const struct rz_gossip *gossip)
{
    const struct rz_gossip_entry *entries = rz_gossip_entries(gossip);
    const uint64_t *ids = rz_gossip_ids(gossip);
    uint64_t flags = gossip->begun | gossip->returned << 1 | gossip->agreed << 2 |
                     gossip->ended << 3 | gossip->outstanding << 4 | gossip->lent << 5;
    uint64_t hash = rz_mix(gossip->self, flags);
    hash = rz_mix(hash, rz_mix(gossip->cycle, gossip->cycle_end));
    hash = rz_mix(hash, rz_mix(gossip->since, gossip->weight));
    if (gossip->outstanding) {
        hash = rz_mix(hash, rz_mix(gossip->target, gossip->timeout_at));
    }
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        hash = rz_mix(hash, rz_mix(ids[i], (uint64_t)entries[i].phase << 32 | entries[i].count));
        hash = rz_mix(hash, rz_mix(entries[i].sum[0], entries[i].sum[1]));
    }
    if (gossip->lent) {
        hash = rz_mix(hash, gossip->weight_lent);
        for (uint32_t i = 0; i < SUM_STRIDE * gossip->n_lent; i++) {
            hash = rz_mix(hash, rz_gossip_lent_items(gossip)[i]);
        }
    }
    size_t matrix = (size_t)gossip->config.n_members * gossip->row_words;
    for (size_t i = 0; i < matrix; i++) {
        if (gossip->words[i] != 0) {
            hash = rz_mix(hash, rz_mix(i, gossip->words[i]));
        }
    }
    return hash;
}

const uint64_t *rz_gossip_failed(const struct rz_gossip *gossip, uint32_t *n)
{
    *n = gossip->n_failed;
    return rz_gossip_ids(gossip);
}

uint32_t rz_gossip_phase(const struct rz_gossip *gossip, rz_id failed)
{
    const uint64_t *ids = rz_gossip_ids(gossip);
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        if (ids[i] == failed) {
            return rz_gossip_entries(gossip)[i].phase;
        }
    }
    return 0;
}

bool rz_gossip_returned(const struct rz_gossip *gossip)
{
    return gossip->returned;
}
