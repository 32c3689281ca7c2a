/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two cores of the tester's thread. When diagnose finds that an excluded member may rejoin, the
 * voters decide by paxos; the decision goes back to diagnose.
 *
 * A view of paxos is a set of voters that the daemons have decided, identified by its number, which
 * is equal at all members and never used again.
 */
#include "mpi/tester/tester_state.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "proto/paxos/paxos.h"

#include <stdlib.h>

RZ_PROTOCOL(diagnose, RZ_PROTOCOL_DIAGNOSE);
RZ_PROTOCOL(paxos, RZ_PROTOCOL_PAXOS);

/* One group has one key, and so one view of diagnose. */
#define VIEW 1

/* Time between messages of a vote without an answer. */
#define RETRY_MIN (10 * RZ_MILLISECOND)
#define RETRY_MAX (200 * RZ_MILLISECOND)

/* An instance of paxos: the return of member k, excluded by this counter; attempt numbers the votes
 * on it. */
#define INSTANCE(k, counter, attempt)                                                              \
    ((uint64_t)(k) << 48 | (uint64_t)((counter)&0xFFFFFF) << 24 | ((attempt)&0xFFFFFF))
#define INSTANCE_K(instance) ((rz_id)((instance) >> 48))
#define INSTANCE_COUNTER(instance) ((uint32_t)((instance) >> 24 & 0xFFFFFF))
#define INSTANCE_ATTEMPT(instance) ((uint32_t)((instance)&0xFFFFFF))

static uint32_t words_of(const struct rz_tester *tester)
{
    return (tester->config.n + 63) / 64;
}

/* A step of one core. Its notices are handled after the step, since they step the other core. */
#define NOTICES_MAX 16
struct notice {
    uint32_t what;
    uint64_t arg[4];
};
struct tester_step {
    struct rz_tester *tester;
    bool diagnose;
    rz_time now;
    struct notice *notices; /* the array grows */
    uint32_t n_notices, notices_max;
};

static void keep_notice(struct tester_step *step, const struct rz_action *action)
{
    if (step->n_notices == step->notices_max) {
        step->notices_max = step->notices_max > 0 ? 2 * step->notices_max : NOTICES_MAX;
        step->notices = realloc(step->notices, step->notices_max * sizeof(*step->notices));
        rz_need_memory(step->notices, "for a notice of a group monitor");
    }
    struct notice *notice = &step->notices[step->n_notices++];
    notice->what = action->what;
    for (int i = 0; i < 4; i++) {
        notice->arg[i] = action->arg[i];
    }
}

/* In tests a process may be made to fail here, after it has sent this. */
static void may_fail(const struct rz_message *message)
{
    if (message->protocol != RZ_PROTOCOL_PAXOS) {
        return;
    }
    switch (message->type) {
    case RZ_PAXOS_PREPARE:
        rz_kill_here(RZ_KILL_VOTE_PREPARE);
        break;
    case RZ_PAXOS_PROMISE:
        rz_kill_here(RZ_KILL_VOTE_PROMISE);
        break;
    case RZ_PAXOS_ACCEPT:
        rz_kill_here(RZ_KILL_VOTE_ACCEPT);
        break;
    case RZ_PAXOS_ACCEPTED:
        rz_kill_here(RZ_KILL_VOTE_ACCEPTED);
        break;
    }
}

static void send_all(struct rz_tester *tester, const struct rz_action *action)
{
    uint64_t sent = 0;
    for (uint32_t i = 0; i < action->n_to; i++) {
        sent += rz_post_send(&tester->post, action->to[i], &action->message, action->items);
    }
    atomic_fetch_add_explicit(&tester->snapshot->sent, sent, memory_order_relaxed);
    may_fail(&action->message);
}

static void carry_out(void *arg, const struct rz_actions *actions)
{
    struct tester_step *step = arg;
    for (uint32_t i = 0; i < actions->count; i++) {
        const struct rz_action *action = &actions->v[i];
        if (action->kind == RZ_ACTION_SEND) {
            send_all(step->tester, action);
        } else if (action->kind == RZ_ACTION_NOTIFY) {
            keep_notice(step, action);
        }
    }
}

static void follow_up(struct tester_step *step);

static void step_core(struct rz_tester *tester, bool diagnose, const struct rz_event *event)
{
    struct tester_step step = {.tester = tester, .diagnose = diagnose, .now = event->now};
    bool done =
        rz_embedded_step(diagnose ? &tester->diagnose : &tester->paxos, event, carry_out, &step);
    rz_assert(done);
    follow_up(&step);
    free(step.notices);
}

static void call(struct rz_tester *tester, bool diagnose, uint32_t what, rz_time now,
                 const uint64_t arg[3])
{
    const struct rz_event event = {
        .kind = RZ_EVENT_CALL, .call = what, .now = now, .arg = {arg[0], arg[1], arg[2]}};
    step_core(tester, diagnose, &event);
}

/* ---- Results of diagnose ---- */

static const struct rz_diagnose *found(const struct rz_tester *tester)
{
    return tester->diagnose.state;
}

static void task_new(struct rz_tester *tester, const uint64_t arg[4])
{
    struct rz_tester_task *task = &tester->task[arg[0]];
    tester->n_tasks += !task->waits;
    *task = (struct rz_tester_task){.waits = true, .test = arg[1], .began = arg[2]};
}

static void note_passed(struct rz_tester *tester, rz_id k)
{
    atomic_store_explicit(&tester->snapshot->member[k].passed, rz_diagnose_okrun(found(tester), k),
                          memory_order_relaxed);
}

static void tested(struct rz_tester *tester, const uint64_t arg[4])
{
    rz_id k = (rz_id)arg[0];
    struct rz_tester_member *member = &tester->snapshot->member[k];
    atomic_store_explicit(&member->test_time, arg[1], memory_order_relaxed);
    atomic_store_explicit(&member->threshold, arg[2], memory_order_relaxed);
    note_passed(tester, k);
}

/* Tells paxos which members are not expected to vote. */
static void tell_doubts(struct rz_tester *tester, rz_time now)
{
    uint32_t words = words_of(tester);
    for (uint32_t i = 0; i < words; i++) {
        tester->scratch[i] = 0;
    }
    for (rz_id k = 0; k < tester->config.n; k++) {
        if (!rz_diagnose_has(found(tester), k)) {
            tester->scratch[k / 64] |= UINT64_C(1) << (k % 64);
        }
    }
    const struct rz_event event = {.kind = RZ_EVENT_CALL,
                                   .call = RZ_PAXOS_DOUBT,
                                   .now = now,
                                   .items = tester->scratch,
                                   .n_items = words};
    step_core(tester, false, &event);
}

static void counter_changed(struct rz_tester *tester, rz_id k, uint32_t counter)
{
    note_passed(tester, k);
    atomic_store_explicit(&tester->snapshot->member[k].counter, counter, memory_order_release);
    tester->attempt[k] = 0;
    tester->changed = true;
    tester->untold = tester->voters.asked;
}

/* Doubted members are reported once for all counters that changed in a step. */
static void follow_diagnose(struct tester_step *step)
{
    struct rz_tester *tester = step->tester;
    bool doubts = false;
    for (uint32_t i = 0; i < step->n_notices; i++) {
        const uint64_t *arg = step->notices[i].arg;
        uint32_t k = (uint32_t)arg[0];
        switch (step->notices[i].what) {
        case RZ_DIAGNOSE_TASK:
            task_new(tester, arg);
            break;
        case RZ_DIAGNOSE_TESTED:
            tested(tester, arg);
            break;
        case RZ_DIAGNOSE_CHANGED:
            counter_changed(tester, k, (uint32_t)arg[1]);
            doubts = true;
            break;
        case RZ_DIAGNOSE_WANT_REJOIN:
            call(tester, false, RZ_PAXOS_PROPOSE, step->now,
                 (const uint64_t[3]){INSTANCE(k, arg[1], tester->attempt[k])});
            break;
        }
    }
    if (doubts) {
        tell_doubts(tester, step->now);
    }
}

/* ---- Requests and decisions of paxos ---- */

static void decided(struct rz_tester *tester, uint64_t instance, bool yes, rz_time now)
{
    rz_id k = INSTANCE_K(instance);
    uint32_t counter = INSTANCE_COUNTER(instance);
    if (yes) {
        call(tester, true, RZ_DIAGNOSE_READMIT, now, (const uint64_t[3]){k, counter});
    } else if (rz_diagnose_counter(found(tester), k) == counter) {
        /* the next request is another instance */
        tester->attempt[k] = INSTANCE_ATTEMPT(instance) + 1;
    }
}

/* Checks the numbers in a message: k may be no member, or the counter not that of an excluded
 * one. */
static bool is_instance(const struct rz_tester *tester, uint64_t instance)
{
    return INSTANCE_K(instance) < tester->config.n && INSTANCE_COUNTER(instance) % 2 == 1;
}

static void follow_paxos(struct tester_step *step)
{
    struct rz_tester *tester = step->tester;
    for (uint32_t i = 0; i < step->n_notices; i++) {
        const uint64_t *arg = step->notices[i].arg;
        uint64_t instance = arg[0];
        bool known = is_instance(tester, instance);
        if (step->notices[i].what == RZ_PAXOS_ASKED) {
            bool yes = known && rz_diagnose_would_readmit(found(tester), INSTANCE_K(instance),
                                                          INSTANCE_COUNTER(instance));
            call(tester, false, RZ_PAXOS_VOTE, step->now, (const uint64_t[3]){instance, yes});
        } else if (known) {
            decided(tester, instance, arg[1] == 1, step->now);
        }
    }
}

static void follow_up(struct tester_step *step)
{
    if (step->diagnose) {
        follow_diagnose(step);
    } else {
        follow_paxos(step);
    }
}

/* ---- Events from outside ---- */

void rz_tester_receive(struct rz_tester *tester, const struct rz_message *message,
                       const uint64_t *items, rz_time now)
{
    const struct rz_event event = {
        .kind = RZ_EVENT_RECEIVE, .now = now, .message = message, .items = items};
    if (message->protocol == RZ_PROTOCOL_DIAGNOSE || message->protocol == RZ_PROTOCOL_PAXOS) {
        step_core(tester, message->protocol == RZ_PROTOCOL_DIAGNOSE, &event);
    }
}

void rz_tester_tick(struct rz_tester *tester, rz_time now)
{
    const struct rz_event event = {.kind = RZ_EVENT_TICK, .now = now};
    if (rz_diagnose_deadline(tester->diagnose.state) <= now) {
        step_core(tester, true, &event);
    }
    if (rz_paxos_deadline(tester->paxos.state) <= now) {
        step_core(tester, false, &event);
    }
}

rz_time rz_tester_deadline(const struct rz_tester *tester)
{
    rz_time diagnose = rz_diagnose_deadline(tester->diagnose.state);
    rz_time paxos = rz_paxos_deadline(tester->paxos.state);
    return diagnose < paxos ? diagnose : paxos;
}

void rz_tester_failure(struct rz_tester *tester, rz_id member, rz_time now)
{
    const struct rz_event event = {
        .kind = RZ_EVENT_FAILURE, .now = now, .ids = &member, .n_ids = 1};
    if (tester->failed[member] || member == tester->config.self) {
        return;
    }
    tester->failed[member] = true;
    step_core(tester, true, &event);
    step_core(tester, false, &event);
}

void rz_tester_answer(struct rz_tester *tester, rz_id from, rz_time now)
{
    const struct rz_tester_task *task = &tester->task[from];
    call(tester, true, RZ_DIAGNOSE_ANSWER, now, (const uint64_t[3]){from, task->test, task->began});
}

/* Attempts are counted from the start: a view has no knowledge of votes of another one. */
void rz_tester_electorate(struct rz_tester *tester, rz_time now)
{
    for (rz_id k = 0; k < tester->config.n; k++) {
        tester->attempt[k] = 0;
    }
    const struct rz_event event = {.kind = RZ_EVENT_CALL,
                                   .call = RZ_PAXOS_VIEW,
                                   .now = now,
                                   .arg = {tester->voters.number},
                                   .items = tester->voters.set,
                                   .n_items = words_of(tester)};
    step_core(tester, false, &event);
}

/* ---- Opening and closing ---- */

/* The members that are recommended by the first counters. */
static void first_members(struct rz_tester *tester, uint64_t *members)
{
    for (rz_id k = 0; k < tester->config.n; k++) {
        members[k / 64] |= (uint64_t)(tester->config.counter[k] % 2 == 0) << (k % 64);
    }
}

/* Passes the first counters to the core, as items. */
static void tell_counters(struct rz_tester *tester, rz_time now)
{
    uint64_t *items = calloc(tester->config.n, sizeof(*items));
    uint32_t n = 0;
    rz_need_memory(items, "for the members of a group monitor");
    for (rz_id k = 0; k < tester->config.n; k++) {
        if (tester->config.counter[k] > 0) {
            items[n++] = RZ_DIAGNOSE_ITEM(k, tester->config.counter[k]);
        }
    }
    const struct rz_event event = {
        .kind = RZ_EVENT_CALL, .call = RZ_DIAGNOSE_BEGIN, .now = now, .items = items, .n_items = n};
    step_core(tester, true, &event);
    free(items);
}

bool rz_tester_cores_open(struct rz_tester *tester, rz_time now)
{
    struct rz_diagnose_config terms = tester->config.terms;
    uint32_t n = tester->config.n, self = tester->config.self;
    terms.n_members = n;
    terms.view = VIEW;
    terms.start = terms.interval * 4 / 5 * self / n; /* members start at different times */
    terms.by_host = terms.report = true;
    first_members(tester, tester->voters.set);
    tester->voters.own = tester->config.counter[self];
    rz_time retry = terms.interval / 2 < RETRY_MAX ? terms.interval / 2 : RETRY_MAX;
    const struct rz_paxos_config votes = {.n_members = n,
                                          .members = tester->voters.set,
                                          .retry = retry > RETRY_MIN ? retry : RETRY_MIN,
                                          .votes = true};
    if (!rz_embedded_open(&tester->diagnose, &rz_protocol_diagnose, &terms, self, now, self) ||
        !rz_embedded_open(&tester->paxos, &rz_protocol_paxos, &votes, self, now, self)) {
        return false;
    }
    tell_counters(tester, now);
    return true;
}

void rz_tester_cores_close(struct rz_tester *tester)
{
    rz_embedded_close(&tester->diagnose);
    rz_embedded_close(&tester->paxos);
}
