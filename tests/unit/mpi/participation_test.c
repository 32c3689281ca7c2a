/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rule of docs/failure-semantics.md in a model: members run collective operations over channels
 * that keep the order of messages, some of them are killed, the news of it reach each member at any
 * time. Under every order of events: each wait ends; a member that succeeds has its whole result;
 * an operation that a failed member had completed succeeds at all, if all had to enter it first.
 * The table of operations and questions is the one of the library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "mpi/comm/participation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS = 9, OPERATIONS = 5, STEPS = 4 * MEMBERS, QUEUE = 256, SCHEDULES = 20000 };

enum pattern { ALL_REDUCE, BCAST, ALL_TO_ALL, RING, GATHER, PATTERNS };
enum kind { DATA, TAKEN, INQUIRY, ABSENT };
enum result { NONE, SUCCESS, FAILED };

struct step {
    enum { SEND, RECV, FENCE } what;
    int peer;
};

struct plan {
    struct step steps[STEPS];
    int n;
    uint32_t due; /* a success has their contributions */
};

struct message {
    enum kind kind;
    int operation;
    uint32_t mask; /* contributions that it carries */
    bool large;    /* its sender waits until it is taken */
    int failed;    /* INQUIRY, ABSENT: the member */
};

struct channel {
    struct message messages[QUEUE];
    int n;
};

/* A message that was begun and has not ended. */
struct pending {
    bool on, send, asked;
    int peer;
};

struct run {
    struct rz_participation part;
    struct plan plan;
    int at;
    bool active, over;
    uint32_t mask;
    struct pending pending[STEPS];
    int n_pending;
};

struct member {
    bool alive, stopped, quit;
    bool knows[MEMBERS]; /* failed members */
    int begun;           /* operations */
    enum result result[OPERATIONS];
    struct run run[OPERATIONS];
    struct message early[MEMBERS][OPERATIONS];
    bool is_early[MEMBERS][OPERATIONS];
    struct rz_participations all;
};

static struct {
    int n, operations, window;
    enum pattern pattern[OPERATIONS];
    int root[OPERATIONS];
    bool large[OPERATIONS];
    struct member member[MEMBERS];
    struct channel channel[MEMBERS][MEMBERS]; /* from, to */
    int failed[MEMBERS], n_failed;
} world;

static struct rz_random random_state;

static uint64_t draw(uint64_t bound)
{
    return rz_random_below(&random_state, bound);
}

/* ---- What operations are ---- */

static void add(struct plan *plan, int what, int peer)
{
    plan->steps[plan->n++] = (struct step){what, peer};
}

/* Binomial, places counted from root: up to it, or down from it. */
static void tree(struct plan *plan, int me, int root, bool up)
{
    int n = world.n, place = (me - root + n) % n, span = 1;
    int below[8], n_below = 0;
    for (; span < n && !(place & span); span *= 2) {
        if (place + span < n) {
            below[n_below++] = (place + span + root) % n;
        }
    }
    int above = (place - span + root + n) % n;
    for (int i = 0; up && i < n_below; i++) {
        add(plan, RECV, below[i]);
    }
    if (place != 0) {
        add(plan, FENCE, 0);
        add(plan, up ? SEND : RECV, above);
    }
    add(plan, FENCE, 0);
    for (int i = n_below - 1; !up && i >= 0; i--) {
        add(plan, SEND, below[i]);
    }
    add(plan, FENCE, 0);
}

static void plan_make(struct plan *plan, int me, int operation)
{
    int n = world.n, root = world.root[operation];
    *plan = (struct plan){.due = (1u << n) - 1};
    switch (world.pattern[operation]) {
    case ALL_REDUCE:
        tree(plan, me, root, true);
        tree(plan, me, root, false);
        break;
    case BCAST:
        tree(plan, me, root, false);
        plan->due = 1u << root;
        break;
    case GATHER:
        tree(plan, me, root, true);
        plan->due = me == root ? plan->due : 0;
        break;
    case ALL_TO_ALL:
        for (int i = 1; i < n; i++) {
            add(plan, RECV, (me + n - i) % n);
            add(plan, SEND, (me + i) % n);
            if (i % 3 == 0) {
                add(plan, FENCE, 0);
            }
        }
        break;
    default:
        add(plan, RECV, (me + n - 1) % n);
        add(plan, SEND, (me + 1) % n);
        plan->due = 1u << ((me + n - 1) % n);
        break;
    }
}

/* Whether no member ends it before all have begun it. */
static bool synchronises(int operation)
{
    return world.pattern[operation] == ALL_REDUCE || world.pattern[operation] == ALL_TO_ALL;
}

/* ---- Members ---- */

static void say(int from, int to, struct message message)
{
    struct channel *channel = &world.channel[from][to];
    assert_true(channel->n < QUEUE);
    channel->messages[channel->n++] = message;
}

static int first_failed(const struct member *self)
{
    int failed = 0;
    while (!self->knows[failed]) {
        failed++;
    }
    return failed;
}

static void ask(int me, int operation, struct pending *pending)
{
    struct member *self = &world.member[me];
    if (self->stopped && pending->on && !pending->asked && !self->knows[pending->peer]) {
        pending->asked = true;
        say(me, pending->peer,
            (struct message){
                .kind = INQUIRY, .operation = operation, .failed = first_failed(self)});
    }
}

static void take(int me, int from, int operation, struct message message)
{
    world.member[me].run[operation].mask |= message.mask;
    if (message.large) {
        say(me, from, (struct message){.kind = TAKEN, .operation = operation});
    }
}

static void drop(int me, int from, int operation)
{
    struct member *self = &world.member[me];
    if (self->is_early[from][operation]) {
        self->is_early[from][operation] = false;
        if (self->early[from][operation].large) {
            say(me, from, (struct message){.kind = TAKEN, .operation = operation});
        }
    }
}

/* It sends nothing more of the operation. */
static void leave(int me, int operation)
{
    struct member *self = &world.member[me];
    struct rz_question *question = rz_participation_end(&self->all, &self->run[operation].part);
    for (int from = 0; from < world.n && self->stopped; from++) {
        drop(me, from, operation);
    }
    while (question) {
        struct rz_question *next = question->next;
        say(me, (int)question->process,
            (struct message){
                .kind = ABSENT, .operation = question->tag, .failed = first_failed(self)});
        free(question);
        question = next;
    }
}

/* Members to which it owes messages are told unasked; members that asked are told when it
 * leaves. */
static void tell_absence(int me, int operation)
{
    const struct member *self = &world.member[me];
    const struct run *run = &self->run[operation];
    for (int i = run->at; self->stopped && i < run->plan.n; i++) {
        const struct step *step = &run->plan.steps[i];
        struct rz_question about = {.process = (uint32_t)step->peer, .tag = operation};
        if (step->what == SEND && !rz_participation_is_asked(&self->all, &about)) {
            say(me, step->peer,
                (struct message){
                    .kind = ABSENT, .operation = operation, .failed = first_failed(self)});
        }
    }
}

/* Large messages that it has sent before may still be taken. */
static void give_up(int me, int operation)
{
    struct run *run = &world.member[me].run[operation];
    run->over = true;
    tell_absence(me, operation);
    for (int i = 0; i < run->n_pending; i++) {
        run->pending[i].on = run->pending[i].on && run->pending[i].send;
    }
    leave(me, operation);
}

static bool is_missed(int me, int from, int operation)
{
    struct rz_question absence = {.process = (uint32_t)from, .tag = operation};
    return rz_participation_misses(&world.member[me].all, &absence);
}

static void begin_message(int me, int operation, const struct step *step)
{
    struct member *self = &world.member[me];
    struct run *run = &self->run[operation];
    struct pending *pending = &run->pending[run->n_pending];
    *pending = (struct pending){.on = true, .send = step->what == SEND, .peer = step->peer};
    if (step->what == SEND) {
        if (self->knows[step->peer]) {
            return;
        }
        say(me, step->peer,
            (struct message){DATA, operation, run->mask, world.large[operation], 0});
        pending->on = world.large[operation];
    } else if (self->is_early[step->peer][operation]) {
        self->is_early[step->peer][operation] = false;
        take(me, step->peer, operation, self->early[step->peer][operation]);
        return;
    } else if (self->knows[step->peer] || is_missed(me, step->peer, operation)) {
        give_up(me, operation);
        return;
    }
    if (pending->on) {
        run->n_pending++;
        ask(me, operation, pending);
    }
}

static bool is_settled(struct run *run)
{
    for (int i = 0; i < run->n_pending; i++) {
        if (run->pending[i].on) {
            return false;
        }
    }
    run->n_pending = 0;
    return true;
}

static void end(int me, int operation)
{
    struct member *self = &world.member[me];
    struct run *run = &self->run[operation];
    run->active = false;
    self->result[operation] = run->over ? FAILED : SUCCESS;
    if (!run->over) {
        assert_int_equal(run->mask & run->plan.due, run->plan.due);
    }
    leave(me, operation);
}

static void advance(int me, int operation)
{
    struct member *self = &world.member[me];
    struct run *run = &self->run[operation];
    while (run->active) {
        bool fence = run->at < run->plan.n && run->plan.steps[run->at].what == FENCE;
        bool stops = run->over || run->at == run->plan.n;
        if ((fence || stops) && !is_settled(run)) {
            return;
        }
        if (stops) {
            end(me, operation);
        } else if (run->plan.steps[run->at++].what != FENCE) {
            begin_message(me, operation, &run->plan.steps[run->at - 1]);
        }
    }
}

static void begin(int me)
{
    struct member *self = &world.member[me];
    int operation = self->begun, going_on = 0;
    for (int i = 0; i < operation; i++) {
        going_on += self->run[i].active;
        self->quit = self->quit || (self->result[i] == FAILED && draw(3) > 0);
    }
    if (operation == world.operations || going_on == world.window || self->quit) {
        return;
    }
    struct run *run = &self->run[operation];
    self->begun++;
    *run = (struct run){.active = !self->stopped, .mask = 1u << me};
    plan_make(&run->plan, me, operation);
    if (self->stopped) {
        self->result[operation] = FAILED;
        tell_absence(me, operation);
        return;
    }
    rz_participation_begin(&self->all, &run->part, operation);
    advance(me, operation);
}

/* ---- Events ---- */

static void deliver(int from, int to);

static void learn(int me, int failed)
{
    struct member *self = &world.member[me];
    while (world.channel[failed][me].n > 0 && !self->knows[failed]) {
        deliver(failed, me); /* what has arrived before the news counts */
    }
    if (self->knows[failed]) {
        return;
    }
    self->knows[failed] = self->stopped = true;
    for (int operation = 0; operation < world.operations; operation++) {
        struct run *run = &self->run[operation];
        for (int i = 0; run->active && i < run->n_pending; i++) {
            struct pending *pending = &run->pending[i];
            if (pending->on && pending->peer == failed) {
                pending->on = false;
                if (!pending->send) {
                    give_up(me, operation);
                }
            }
            ask(me, operation, pending);
        }
        advance(me, operation);
    }
}

static struct pending *pending_find(struct run *run, int peer, bool send)
{
    for (int i = 0; run->active && i < run->n_pending; i++) {
        struct pending *pending = &run->pending[i];
        if (pending->on && pending->peer == peer && pending->send == send) {
            return pending;
        }
    }
    return NULL;
}

static void inquired(int me, int from, const struct message *message)
{
    struct member *self = &world.member[me];
    struct rz_question question = {.process = (uint32_t)from, .tag = message->operation};
    learn(me, message->failed);
    if (rz_participation_ask(&self->all, &question)) {
        drop(me, from, message->operation);
        say(me, from,
            (struct message){
                .kind = ABSENT, .operation = message->operation, .failed = first_failed(self)});
    }
}

/* The receive that it is about may be begun only when the failure is learnt. */
static void absent(int me, int from, const struct message *message)
{
    struct member *self = &world.member[me];
    struct rz_question absence = {.process = (uint32_t)from, .tag = message->operation};
    learn(me, message->failed);
    rz_participation_miss(&self->all, &absence);
    if (pending_find(&self->run[message->operation], from, false)) {
        give_up(me, message->operation);
    }
}

static void deliver(int from, int to)
{
    struct channel *channel = &world.channel[from][to];
    struct message message = channel->messages[0];
    struct member *self = &world.member[to];
    struct run *run = &self->run[message.operation];
    channel->n--;
    memmove(channel->messages, channel->messages + 1, (size_t)channel->n * sizeof(message));
    if (!self->alive || self->knows[from]) {
        return;
    }
    struct pending *pending = pending_find(run, from, message.kind == TAKEN);
    switch (message.kind) {
    case DATA:
        if (pending) {
            pending->on = false;
            take(to, from, message.operation, message);
        } else {
            self->is_early[from][message.operation] = true;
            self->early[from][message.operation] = message;
        }
        break;
    case TAKEN:
        if (pending) {
            pending->on = false;
        }
        break;
    case ABSENT:
        absent(to, from, &message);
        break;
    default:
        inquired(to, from, &message);
        break;
    }
    if (message.operation < world.operations) {
        advance(to, message.operation);
    }
}

static void kill_one(void)
{
    int victim = (int)draw((uint64_t)world.n);
    if (world.member[victim].alive && world.n_failed + 1 < world.n) {
        world.member[victim].alive = false;
        world.failed[world.n_failed++] = victim;
    }
}

static void one_event(void)
{
    int a = (int)draw((uint64_t)world.n), b = (int)draw((uint64_t)world.n);
    uint64_t what = draw(12);
    if (what == 0 && world.n_failed > 0 && world.member[a].alive) {
        learn(a, world.failed[draw((uint64_t)world.n_failed)]);
    } else if (what < 4 && world.member[a].alive) {
        begin(a);
    } else if (world.channel[a][b].n > 0) {
        deliver(a, b);
    }
}

/* Everything that can still happen; false: nothing has. */
static bool settle_once(void)
{
    bool more = false;
    for (int a = 0; a < world.n; a++) {
        int begun = world.member[a].begun;
        if (world.member[a].alive) {
            for (int i = 0; i < world.n_failed; i++) {
                learn(a, world.failed[i]);
            }
            begin(a);
        }
        more = more || world.member[a].begun != begun;
        for (int b = 0; b < world.n; b++) {
            more = more || world.channel[a][b].n > 0;
            if (world.channel[a][b].n > 0) {
                deliver(a, b);
            }
        }
    }
    return more;
}

/* What only one of them had completed may need the other one. */
static bool completed_by_failed(int operation)
{
    bool completed = true;
    for (int victim = 0; victim < world.n_failed; victim++) {
        completed = completed && world.member[world.failed[victim]].result[operation] == SUCCESS;
    }
    return completed;
}

static void check(uint64_t seed)
{
    for (int me = 0; me < world.n; me++) {
        const struct member *self = &world.member[me];
        for (int i = 0; i < world.operations && self->alive; i++) {
            if (self->run[i].active || (self->begun > i && self->result[i] == NONE)) {
                fail_msg("seed %llu: member %d waits for ever in operation %d",
                         (unsigned long long)seed, me, i);
            }
            if (synchronises(i) && completed_by_failed(i) && self->result[i] != SUCCESS) {
                fail_msg("seed %llu: operation %d, which the failed had completed, failed at %d",
                         (unsigned long long)seed, i, me);
            }
        }
        assert_null(self->alive ? self->all.first : NULL); /* nor anything kept for them */
    }
}

static void world_begin(uint64_t seed)
{
    memset(&world, 0, sizeof(world));
    random_state.state = seed;
    world.n = 2 + (int)draw(MEMBERS - 1);
    world.operations = 1 + (int)draw(OPERATIONS);
    world.window = 1 + (int)draw(3);
    for (int i = 0; i < world.operations; i++) {
        world.pattern[i] = (enum pattern)draw(PATTERNS);
        world.root[i] = (int)draw((uint64_t)world.n);
        world.large[i] = draw(2);
    }
    for (int me = 0; me < world.n; me++) {
        world.member[me].alive = true;
    }
}

static void every_order_of_events_tells_all(void **state)
{
    (void)state;
    int failures = 0, successes = 0;
    for (uint64_t seed = 1; seed <= SCHEDULES; seed++) {
        world_begin(seed);
        int kills = (int)draw(3), events = (int)draw(600);
        for (int i = 0; i < events; i++) {
            if (kills > 0 && draw((uint64_t)events) < 2) {
                kill_one();
                kills--;
            }
            one_event();
        }
        while (settle_once()) {
        }
        check(seed);
        for (int me = 0; me < world.n; me++) {
            for (int i = 0; i < world.operations; i++) {
                failures += world.member[me].result[i] == FAILED;
                successes += world.member[me].result[i] == SUCCESS;
            }
            rz_participations_forget(&world.member[me].all);
        }
    }
    assert_true(failures > SCHEDULES / 2 && successes > SCHEDULES);
}

static void a_question_is_kept_once_and_answered_at_the_end(void **state)
{
    (void)state;
    struct rz_participations all = {0};
    struct rz_participation one, other;
    struct rz_question question = {.process = 7, .context = 1, .tag = 4};
    assert_true(rz_participation_ask(&all, &question));
    rz_participation_begin(&all, &one, 4);
    rz_participation_begin(&all, &other, 5);
    assert_ptr_equal(rz_participation_find(&all, 4), &one);
    assert_false(rz_participation_ask(&all, &question));
    assert_false(rz_participation_ask(&all, &question));
    assert_null(rz_participation_end(&all, &other));
    struct rz_question *due = rz_participation_end(&all, &one);
    assert_non_null(due);
    assert_null(due->next);
    assert_int_equal(due->process, 7);
    assert_null(rz_participation_end(&all, &one));
    assert_true(rz_participation_ask(&all, &question));
    free(due);
    rz_participation_begin(&all, &one, 4);
    assert_false(rz_participation_ask(&all, &question));
    rz_participations_forget(&all);
    assert_null(all.first);
    assert_null(rz_participation_end(&all, &one));
}

/* Many more than one list takes, ended in an order that has nothing to do with that of their
 * beginning; a question about each third. */
static void each_of_thousands_is_found(void **state)
{
    (void)state;
    enum { N = 3000, STEP = 1009, ROUNDS = 2 };
    static struct rz_participation one[N];
    struct rz_participations all = {0};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) {
            assert_null(rz_participation_find(&all, 2 * i));
            rz_participation_begin(&all, &one[i], 2 * i);
        }
        for (int i = 0; i < N; i++) {
            struct rz_question question = {.process = 1, .context = 1, .tag = 2 * i};
            assert_ptr_equal(rz_participation_find(&all, 2 * i), &one[i]);
            assert_null(rz_participation_find(&all, 2 * i + 1));
            assert_true(i % 3 != 0 || !rz_participation_ask(&all, &question));
        }
        for (int i = 0; i < N; i++) {
            int k = i * STEP % N;
            struct rz_question *due = rz_participation_end(&all, &one[k]);
            assert_int_equal(due != NULL, k % 3 == 0);
            free(due);
            assert_null(rz_participation_find(&all, 2 * k));
        }
        assert_null(all.lists);
    }
    rz_participations_forget(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_is_kept_once_and_answered_at_the_end),
        cmocka_unit_test(each_of_thousands_is_found),
        cmocka_unit_test(every_order_of_events_tells_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
