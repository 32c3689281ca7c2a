/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests, their assessment, intervals. */
#include "proto/diagnose/diagnose_private.h"

#include "proto/mutation.h"
#include "base/assert.h"

/* A test without an answer after twice the threshold is lost; it does not enter the statistics.
 * With local health it is lost at the end of the interval in which it reaches the threshold, by
 * whole intervals, however late they began: tests that begin together must be assessed together. */
static rz_time lost_at(const struct rz_diagnose *diagnose, rz_id k)
{
    const struct rz_diagnose_peer *peer = &diagnose->peers[k];
    rz_time threshold = rz_diagnose_threshold(diagnose, k), interval = diagnose->config.interval;
    if (diagnose->config.health_max == 0) {
        return peer->began + 2 * threshold;
    }
    uint64_t age = diagnose->interval - peer->test;
    uint64_t lasts = threshold > 0 ? (threshold - 1) / interval : 0;
    return diagnose->next + (lasts > age ? (lasts - age) * interval : 0);
}

static void passed(struct rz_diagnose *diagnose, rz_id k, struct rz_actions *out)
{
    struct rz_diagnose_peer *peer = &diagnose->peers[k];
    if (peer->counter % 2 == 0) {
        return;
    }
    peer->okrun++;
    if (peer->okrun < diagnose->config.zeta || peer->okrun % diagnose->config.zeta != 0) {
        return;
    }
    struct rz_action *notice = rz_diagnose_emit(out, RZ_ACTION_NOTIFY);
    notice->what = RZ_DIAGNOSE_WANT_REJOIN;
    notice->arg[0] = k;
    notice->arg[1] = peer->counter;
}

/* At most two actions. */
static void assess(struct rz_diagnose *diagnose, rz_id k, rz_time test_time, struct rz_actions *out)
{
    rz_time threshold = rz_diagnose_threshold(diagnose, k);
    bool good = test_time <= threshold;
    diagnose->peers[k].pending = false;
    diagnose->n_assessed += rz_diagnose_has(diagnose, k);
    diagnose->n_failed += !good && rz_diagnose_has(diagnose, k);
    if (diagnose->config.report) {
        struct rz_action *notice = rz_diagnose_emit(out, RZ_ACTION_NOTIFY);
        notice->what = RZ_DIAGNOSE_TESTED;
        notice->arg[0] = k;
        notice->arg[1] = test_time;
        notice->arg[2] = threshold;
        notice->arg[3] = good;
    }
    if (good) {
        passed(diagnose, k, out);
    } else {
        rz_diagnose_fail(diagnose, k);
    }
}

/* An answer that arrives after its test was considered lost still updates the threshold: otherwise
 * a permanently slow process would stay non-recommended for ever. */
void rz_diagnose_on_reply(struct rz_diagnose *diagnose, const struct rz_event *event,
                          struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    struct rz_diagnose_peer *peer = &diagnose->peers[message->from];
    rz_time began = message->word[0];
    if (message->seq <= peer->answered || message->seq > diagnose->interval || began > event->now ||
        message->word[1] > RZ_DIAGNOSE_COUNTER_MAX) {
        return;
    }
    rz_time test_time = event->now - began;
    bool awaited = peer->pending && peer->test == message->seq;
    bool before = RZ_MUTATED(diagnose->config.mutations, RZ_DIAGNOSE_UPDATE_FIRST);
    peer->answered = message->seq;
    if (before) {
        rz_diagnose_measure(&peer->statistics, test_time, &diagnose->config);
    }
    if (awaited && rz_diagnose_has(diagnose, diagnose->self)) {
        assess(diagnose, message->from, test_time, out);
    }
    if (!before) {
        rz_diagnose_measure(&peer->statistics, test_time, &diagnose->config);
    }
    if (message->word[1] % 2 == 1 && message->word[1] > peer->counter) {
        rz_diagnose_set(diagnose, message->from, (uint32_t)message->word[1]);
        peer->event = true; /* it considers itself non-recommended: see the header */
    }
}

void rz_diagnose_answer(struct rz_diagnose *diagnose, rz_id tester, uint64_t test, rz_time began,
                        struct rz_actions *out)
{
    rz_assert(tester < diagnose->config.n_members && tester != diagnose->self);
    struct rz_action *action = rz_diagnose_send(diagnose, RZ_DIAGNOSE_REPLY, test, began, out);
    action->message.word[1] = diagnose->peers[diagnose->self].counter;
    diagnose->one[0] = tester;
    action->to = diagnose->one;
    action->n_to = 1;
}

/* All events of the interval that has ended, in one message to the group. */
static void send_events(struct rz_diagnose *diagnose, const uint64_t *items, uint32_t n_items,
                        struct rz_actions *out)
{
    rz_id *to = rz_diagnose_destinations(diagnose, 1);
    uint32_t n_to = 0;
    bool any = false;
    for (rz_id k = 0; k < diagnose->config.n_members; k++) {
        any = any || diagnose->peers[k].event;
        diagnose->peers[k].event = false;
        if (k != diagnose->self && rz_diagnose_has(diagnose, k)) {
            to[n_to++] = k;
        }
    }
    if (!any || n_to == 0) {
        return;
    }
    struct rz_action *action =
        rz_diagnose_send(diagnose, RZ_DIAGNOSE_EVENTS, diagnose->interval, 0, out);
    action->to = to;
    action->n_to = n_to;
    action->items = items;
    action->message.n_items = n_items;
}

/* To all that this member tests, except those with a test still under way. */
static void send_tests(struct rz_diagnose *diagnose, rz_time now, const uint64_t *items,
                       uint32_t n_items, struct rz_actions *out)
{
    rz_id *to = rz_diagnose_destinations(diagnose, 0);
    uint32_t n_to = 0;
    for (rz_id k = 0; k < diagnose->config.n_members; k++) {
        struct rz_diagnose_peer *peer = &diagnose->peers[k];
        if (k == diagnose->self || peer->known_failed || peer->pending ||
            !rz_diagnose_tests(diagnose, k)) {
            continue;
        }
        if (!peer->statistics.measured) {
            peer->statistics.threshold = rz_diagnose_threshold_first(diagnose);
        }
        peer->pending = true;
        peer->began = now;
        peer->test = diagnose->interval;
        to[n_to++] = k;
    }
    if (n_to == 0) {
        return;
    }
    struct rz_action *action =
        rz_diagnose_send(diagnose, RZ_DIAGNOSE_TEST, diagnose->interval, now, out);
    action->to = to;
    action->n_to = n_to;
    action->items = items;
    action->message.n_items = n_items;
}

static void begin_interval(struct rz_diagnose *diagnose, rz_time now, struct rz_actions *out)
{
    diagnose->interval++;
    diagnose->next += diagnose->config.interval;
    if (diagnose->next <= now) {
        diagnose->next =
            now + diagnose->config.interval; /* a late tick: missed intervals are not made up for */
    }
    uint64_t turn = diagnose->self + (uint64_t)(diagnose->n_even > 0);
    if (!rz_diagnose_has(diagnose, diagnose->self) &&
        diagnose->interval - diagnose->heard > diagnose->config.patience * turn) {
        rz_diagnose_take_over(diagnose, out);
    }
    if (!rz_diagnose_has(diagnose, diagnose->self)) {
        return;
    }
    diagnose->heard = diagnose->interval;
    rz_diagnose_settle(diagnose, out);
    uint32_t n_items;
    const uint64_t *items = rz_diagnose_counters(diagnose, &n_items);
    send_events(diagnose, items, n_items, out);
    send_tests(diagnose, now, items, n_items, out);
}

/* When the first test under way is considered lost. */
static rz_time silence_at(const struct rz_diagnose *diagnose)
{
    rz_time first = RZ_TIME_NEVER;
    for (rz_id k = 0; k < diagnose->config.n_members; k++) {
        if (diagnose->peers[k].pending && lost_at(diagnose, k) < first) {
            first = lost_at(diagnose, k);
        }
    }
    return first;
}

enum rz_more rz_diagnose_tick(struct rz_diagnose *diagnose, rz_time now, struct rz_actions *out)
{
    if (!diagnose->ticking) {
        diagnose->ticking = true;
        diagnose->cursor = 0;
    }
    for (; diagnose->cursor < diagnose->config.n_members; diagnose->cursor++) {
        rz_id k = diagnose->cursor;
        if (!diagnose->peers[k].pending || lost_at(diagnose, k) > now) {
            continue;
        }
        if (out->count + 5 > out->max) {
            return RZ_MORE; /* a report; then what the next interval begins with */
        }
        assess(diagnose, k, RZ_TIME_NEVER, out);
    }
    diagnose->ticking = false;
    if (now >= diagnose->next) {
        begin_interval(diagnose, now, out);
    }
    diagnose->silence = silence_at(diagnose);
    return RZ_DONE;
}
