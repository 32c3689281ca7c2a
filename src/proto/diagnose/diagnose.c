/* SPDX-License-Identifier: BSD-3-Clause */
/* The dynamic group's diagnosis: initial state, one step of a member, and the accessors. */
#include "proto/diagnose/diagnose.h"

#include "base/assert.h"
#include "base/random.h"
#include "proto/diagnose/diagnose_private.h"

#include <string.h>

#define THRESHOLD_FIRST (8 * RZ_SECOND)
#define THRESHOLD_MAX (60 * RZ_SECOND)
#define ZETA 5
#define FACTOR_MAX 100000 /* per mille */

/* ---- init ---- */

static size_t view_words(uint32_t n_members)
{
    return (n_members + 63) / 64;
}

size_t rz_diagnose_size(const struct rz_diagnose_config *config)
{
    size_t n = config->n_members;
    return sizeof(struct rz_diagnose) + n * sizeof(struct rz_diagnose_peer) +
           (n + view_words(config->n_members) + n) * sizeof(uint64_t);
}

uint64_t *rz_diagnose_items(struct rz_diagnose *diagnose)
{
    return (uint64_t *)(diagnose->peers + diagnose->config.n_members);
}

uint64_t *rz_diagnose_view_bits(struct rz_diagnose *diagnose)
{
    return rz_diagnose_items(diagnose) + diagnose->config.n_members;
}

rz_id *rz_diagnose_destinations(struct rz_diagnose *diagnose, uint32_t list)
{
    uint32_t n = diagnose->config.n_members;
    return (rz_id *)(rz_diagnose_view_bits(diagnose) + view_words(n)) + (size_t)list * n;
}

void rz_diagnose_init(struct rz_diagnose *diagnose, const struct rz_diagnose_config *config,
                      rz_id self, rz_time now, uint64_t seed)
{
    (void)seed;
    rz_assert(self < config->n_members && config->n_members <= RZ_DIAGNOSE_MEMBERS_MAX);
    rz_assert(config->interval > 0);
    rz_assert(config->health_max <= RZ_DIAGNOSE_HEALTH_MAX);
    rz_assert(config->mode == RZ_DIAGNOSE_ADD || config->factor <= FACTOR_MAX);
    memset(diagnose, 0, rz_diagnose_size(config));
    diagnose->config = *config;
    if (config->threshold_first == 0) {
        diagnose->config.threshold_first = THRESHOLD_FIRST;
    }
    if (config->threshold_max == 0) {
        diagnose->config.threshold_max = THRESHOLD_MAX;
    }
    if (config->zeta == 0) {
        diagnose->config.zeta = ZETA;
    }
    if (config->patience == 0) {
        diagnose->config.patience = 2 * diagnose->config.zeta;
    }
    diagnose->self = self;
    diagnose->n_even = config->n_members;
    diagnose->next = now + config->start;
    diagnose->silence = RZ_TIME_NEVER;
    uint64_t *view = rz_diagnose_view_bits(diagnose);
    for (rz_id k = 0; k < config->n_members; k++) {
        diagnose->peers[k].statistics.threshold = diagnose->config.threshold_first;
        view[k / 64] |= UINT64_C(1) << (k % 64);
    }
}

void rz_diagnose_grow(struct rz_diagnose *diagnose, size_t bytes)
{
    (void)diagnose, (void)bytes;
}

/* ---- actions ---- */

struct rz_action *rz_diagnose_emit(struct rz_actions *out, enum rz_action_kind kind)
{
    rz_assert(out->count < out->max);
    struct rz_action *action = &out->v[out->count++];
    memset(action, 0, sizeof(*action));
    action->kind = kind;
    return action;
}

struct rz_action *rz_diagnose_send(struct rz_diagnose *diagnose, enum rz_diagnose_message type,
                                   uint64_t seq, rz_time began, struct rz_actions *out)
{
    struct rz_action *action = rz_diagnose_emit(out, RZ_ACTION_SEND);
    action->message = (struct rz_message){.protocol = RZ_PROTOCOL_DIAGNOSE,
                                          .type = (uint8_t)type,
                                          .view = diagnose->config.view,
                                          .from = diagnose->self,
                                          .origin = diagnose->self,
                                          .seq = seq,
                                          .word = {began}};
    return action;
}

/* ---- events ---- */

static void on_test(struct rz_diagnose *diagnose, const struct rz_event *event,
                    struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    if (!diagnose->config.by_host) {
        rz_diagnose_answer(diagnose, message->from, message->seq, message->word[0], out);
        return;
    }
    struct rz_action *notice = rz_diagnose_emit(out, RZ_ACTION_NOTIFY);
    notice->what = RZ_DIAGNOSE_TASK;
    notice->arg[0] = message->from;
    notice->arg[1] = message->seq;
    notice->arg[2] = message->word[0];
}

static void diagnose_on_receive(struct rz_diagnose *diagnose, const struct rz_event *event,
                                struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    if (message->view != diagnose->config.view || message->from == diagnose->self ||
        message->from >= diagnose->config.n_members || message->type > RZ_DIAGNOSE_EVENTS ||
        !rz_diagnose_are_counters(diagnose->config.n_members, event->items, message->n_items)) {
        return;
    }
    if (message->type == RZ_DIAGNOSE_REPLY) {
        rz_diagnose_on_reply(diagnose, event, out);
        return;
    }
    /* Every message is answered; only messages of members that count are believed. */
    if (message->type == RZ_DIAGNOSE_TEST) {
        on_test(diagnose, event, out);
    }
    if (!rz_diagnose_believes(diagnose, message->from, event->items, message->n_items)) {
        return;
    }
    diagnose->heard = diagnose->interval;
    rz_diagnose_merge(diagnose, event->items, message->n_items,
                      message->type == RZ_DIAGNOSE_EVENTS);
}

static void diagnose_on_call(struct rz_diagnose *diagnose, const struct rz_event *event,
                             struct rz_actions *out)
{
    switch (event->call) {
    case RZ_DIAGNOSE_READMIT:
        rz_diagnose_readmit(diagnose, (rz_id)event->arg[0], (uint32_t)event->arg[1]);
        return;
    case RZ_DIAGNOSE_ANSWER:
        rz_diagnose_answer(diagnose, (rz_id)event->arg[0], event->arg[1], event->arg[2], out);
        return;
    case RZ_DIAGNOSE_VIEW:
        rz_diagnose_agree(diagnose, event->arg[0], event->items, event->n_items);
        return;
    case RZ_DIAGNOSE_BEGIN:
        rz_assert(diagnose->interval == 0);
        for (uint32_t i = 0; i < event->n_items; i++) {
            rz_diagnose_set(diagnose, (rz_id)(event->items[i] >> 32), (uint32_t)event->items[i]);
        }
        return;
    }
    rz_assert(!"no such call");
}

static void diagnose_on_failure(struct rz_diagnose *diagnose, const struct rz_event *event)
{
    for (uint32_t i = 0; i < event->n_ids; i++) {
        rz_id k = event->ids[i];
        rz_assert(k < diagnose->config.n_members && k != diagnose->self);
        if (diagnose->peers[k].known_failed) {
            continue;
        }
        diagnose->peers[k].known_failed = true;
        diagnose->peers[k].pending = false;
        rz_diagnose_condemn(diagnose, k);
    }
}

enum rz_more rz_diagnose_step(struct rz_diagnose *diagnose, const struct rz_event *event,
                              struct rz_actions *out)
{
    enum rz_more more = RZ_DONE;
    switch (event->kind) {
    case RZ_EVENT_RECEIVE:
        diagnose_on_receive(diagnose, event, out);
        break;
    case RZ_EVENT_CALL:
        diagnose_on_call(diagnose, event, out);
        break;
    case RZ_EVENT_FAILURE:
        diagnose_on_failure(diagnose, event);
        break;
    case RZ_EVENT_TICK:
        more = rz_diagnose_tick(diagnose, event->now, out);
        break;
    case RZ_EVENT_CONTINUE:
        if (diagnose->ticking) {
            more = rz_diagnose_tick(diagnose, event->now, out);
        }
        break;
    }
    return rz_diagnose_tell(diagnose, out) == RZ_MORE ? RZ_MORE : more;
}

rz_time rz_diagnose_deadline(const struct rz_diagnose *diagnose)
{
    return diagnose->next < diagnose->silence ? diagnose->next : diagnose->silence;
}

/* ---- accessors ---- */

uint64_t rz_diagnose_hash(const struct rz_diagnose *diagnose)
{
    uint64_t hash = rz_mix(diagnose->self, diagnose->interval);
    hash = rz_mix(hash, diagnose->next);
    hash = rz_mix(hash, diagnose->silence);
    hash = rz_mix(hash, diagnose->round);
    hash = rz_mix(hash, diagnose->heard);
    hash = rz_mix(hash, (uint64_t)diagnose->n_assessed << 32 | diagnose->n_failed);
    hash = rz_mix(hash, (uint64_t)diagnose->health << 32 | diagnose->doubts);
    for (rz_id k = 0; k < diagnose->config.n_members; k++) {
        const struct rz_diagnose_peer *peer = &diagnose->peers[k];
        const uint64_t words[] = {peer->statistics.mean,
                                  peer->statistics.spread,
                                  peer->statistics.threshold,
                                  peer->pending ? peer->began : 0,
                                  peer->pending ? peer->test : 0,
                                  peer->answered,
                                  (uint64_t)peer->counter << 32 | peer->okrun,
                                  peer->pending | peer->event << 1 | peer->known_failed << 2 |
                                      peer->statistics.measured << 3 | peer->failed << 4};
        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
            hash = rz_mix(hash, words[i]);
        }
    }
    const uint64_t *view = rz_diagnose_view(diagnose, NULL);
    for (size_t i = 0; i < view_words(diagnose->config.n_members); i++) {
        hash = rz_mix(hash, view[i]);
    }
    return hash;
}

uint32_t rz_diagnose_counter(const struct rz_diagnose *diagnose, rz_id k)
{
    return diagnose->peers[k].counter;
}

bool rz_diagnose_has(const struct rz_diagnose *diagnose, rz_id k)
{
    return diagnose->peers[k].counter % 2 == 0;
}

uint32_t rz_diagnose_group_size(const struct rz_diagnose *diagnose)
{
    return diagnose->n_even;
}

const uint64_t *rz_diagnose_counters(struct rz_diagnose *diagnose, uint32_t *n)
{
    uint64_t *items = rz_diagnose_items(diagnose);
    *n = 0;
    for (rz_id k = 0; k < diagnose->config.n_members; k++) {
        if (diagnose->peers[k].counter > 0) {
            items[(*n)++] = RZ_DIAGNOSE_ITEM(k, diagnose->peers[k].counter);
        }
    }
    return items;
}

uint32_t rz_diagnose_okrun(const struct rz_diagnose *diagnose, rz_id k)
{
    return diagnose->peers[k].okrun;
}

bool rz_diagnose_would_readmit(const struct rz_diagnose *diagnose, rz_id k, uint32_t counter)
{
    const struct rz_diagnose_peer *peer = &diagnose->peers[k];
    return peer->counter == counter && 2 * peer->okrun > diagnose->config.zeta;
}

rz_time rz_diagnose_threshold(const struct rz_diagnose *diagnose, rz_id k)
{
    rz_time threshold = diagnose->peers[k].statistics.threshold;
    rz_time scaled = (1 + diagnose->health) * threshold, most = diagnose->config.interval;
    scaled = scaled < most ? scaled : most;
    return scaled > threshold ? scaled : threshold;
}

uint32_t rz_diagnose_health(const struct rz_diagnose *diagnose)
{
    return diagnose->health;
}

uint32_t rz_diagnose_doubts(const struct rz_diagnose *diagnose)
{
    return diagnose->doubts;
}

uint64_t rz_diagnose_interval(const struct rz_diagnose *diagnose)
{
    return diagnose->interval;
}

const uint64_t *rz_diagnose_view(const struct rz_diagnose *diagnose, uint64_t *round)
{
    if (round) {
        *round = diagnose->round;
    }
    const uint64_t *items = (const uint64_t *)(diagnose->peers + diagnose->config.n_members);
    return items + diagnose->config.n_members;
}
