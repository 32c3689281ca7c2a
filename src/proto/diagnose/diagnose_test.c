/* Tests, verdicts, intervals. */
#include "proto/diagnose/diagnose_private.h"

#include "base/assert.h"

/* A test without answer after twice the threshold is lost; the statistics do not hear of it. */
static rz_time lost_at(const struct rz_diagnose_peer *peer)
{
    return peer->began + 2 * peer->statistics.threshold;
}

void rz_diagnose_failed(struct rz_diagnose *diagnose, rz_id k)
{
    struct rz_diagnose_peer *peer = &diagnose->peers[k];
    peer->okrun = 0;
    if (peer->counter % 2 == 1)
        return;
    rz_diagnose_set(diagnose, k, peer->counter + 1);
    peer->event = true;
}

static void passed(struct rz_diagnose *diagnose, rz_id k, struct rz_actions *out)
{
    struct rz_diagnose_peer *peer = &diagnose->peers[k];
    if (peer->counter % 2 == 0)
        return;
    peer->okrun++;
    if (peer->okrun < diagnose->config.zeta || peer->okrun % diagnose->config.zeta != 0)
        return;
    struct rz_action *notice = rz_diagnose_emit(out, RZ_ACTION_NOTIFY);
    notice->what = RZ_DIAGNOSE_WANT_REJOIN;
    notice->arg[0] = k;
    notice->arg[1] = peer->counter;
}

/* At most two actions. */
static void judge(struct rz_diagnose *diagnose, rz_id k, rz_time test_time, rz_time threshold,
                  struct rz_actions *out)
{
    bool good = test_time <= threshold;
    diagnose->peers[k].pending = false;
    if (diagnose->config.report) {
        struct rz_action *notice = rz_diagnose_emit(out, RZ_ACTION_NOTIFY);
        notice->what = RZ_DIAGNOSE_TESTED;
        notice->arg[0] = k;
        notice->arg[1] = test_time;
        notice->arg[2] = threshold;
        notice->arg[3] = good;
    }
    if (good)
        passed(diagnose, k, out);
    else
        rz_diagnose_failed(diagnose, k);
}

/* An answer that comes after its test was held for lost still adapts the threshold: else a process
 * that is slow for good would stay out for good. */
void rz_diagnose_on_reply(struct rz_diagnose *diagnose, const struct rz_event *event,
                          struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    struct rz_diagnose_peer *peer = &diagnose->peers[message->from];
    rz_time began = message->word[0];
    if (message->seq <= peer->answered || message->seq > diagnose->interval || began > event->now ||
        message->word[1] > RZ_DIAGNOSE_COUNTER_MAX)
        return;
    rz_time test_time = event->now - began;
    bool awaited = peer->pending && peer->test == message->seq;
    bool before = diagnose->config.mutations & RZ_DIAGNOSE_UPDATE_FIRST;
    peer->answered = message->seq;
    if (before)
        rz_diagnose_measure(&peer->statistics, test_time, &diagnose->config);
    if (awaited && rz_diagnose_has(diagnose, diagnose->self))
        judge(diagnose, message->from, test_time, peer->statistics.threshold, out);
    if (!before)
        rz_diagnose_measure(&peer->statistics, test_time, &diagnose->config);
    if (message->word[1] % 2 == 1 && message->word[1] > peer->counter) {
        rz_diagnose_set(diagnose, message->from, (uint32_t)message->word[1]);
        peer->event = true; /* it holds itself for out: see the header */
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
        if (k != diagnose->self && rz_diagnose_has(diagnose, k))
            to[n_to++] = k;
    }
    if (!any || n_to == 0)
        return;
    struct rz_action *action =
        rz_diagnose_send(diagnose, RZ_DIAGNOSE_EVENTS, diagnose->interval, 0, out);
    action->to = to;
    action->n_to = n_to;
    action->items = items;
    action->message.n_items = n_items;
}

/* To all, members or not, but those whose last test is still under way. */
static void send_tests(struct rz_diagnose *diagnose, rz_time now, const uint64_t *items,
                       uint32_t n_items, struct rz_actions *out)
{
    rz_id *to = rz_diagnose_destinations(diagnose, 0);
    uint32_t n_to = 0;
    for (rz_id k = 0; k < diagnose->config.n_members; k++) {
        struct rz_diagnose_peer *peer = &diagnose->peers[k];
        if (k == diagnose->self || peer->dead || peer->pending)
            continue;
        peer->pending = true;
        peer->began = now;
        peer->test = diagnose->interval;
        diagnose->silence = lost_at(peer) < diagnose->silence ? lost_at(peer) : diagnose->silence;
        to[n_to++] = k;
    }
    if (n_to == 0)
        return;
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
    if (diagnose->next <= now)
        diagnose->next = now + diagnose->config.interval; /* woken late: nothing is made up for */
    uint64_t turn = diagnose->self + (uint64_t)(diagnose->n_even > 0);
    if (!rz_diagnose_has(diagnose, diagnose->self) &&
        diagnose->interval - diagnose->heard > diagnose->config.patience * turn)
        rz_diagnose_take_over(diagnose, out);
    if (!rz_diagnose_has(diagnose, diagnose->self))
        return;
    diagnose->heard = diagnose->interval;
    uint32_t n_items;
    const uint64_t *items = rz_diagnose_counters(diagnose, &n_items);
    send_events(diagnose, items, n_items, out);
    send_tests(diagnose, now, items, n_items, out);
}

enum rz_more rz_diagnose_tick(struct rz_diagnose *diagnose, rz_time now, struct rz_actions *out)
{
    if (!diagnose->ticking) {
        diagnose->ticking = true;
        diagnose->cursor = 0;
        diagnose->silence = RZ_TIME_NEVER;
    }
    for (; diagnose->cursor < diagnose->config.n_members; diagnose->cursor++) {
        const struct rz_diagnose_peer *peer = &diagnose->peers[diagnose->cursor];
        if (!peer->pending)
            continue;
        if (lost_at(peer) > now) {
            diagnose->silence =
                lost_at(peer) < diagnose->silence ? lost_at(peer) : diagnose->silence;
            continue;
        }
        if (out->count + 4 > out->max)
            return RZ_MORE; /* a report; then what the next interval begins with */
        judge(diagnose, diagnose->cursor, RZ_TIME_NEVER, peer->statistics.threshold, out);
    }
    diagnose->ticking = false;
    if (now >= diagnose->next)
        begin_interval(diagnose, now, out);
    return RZ_DONE;
}
