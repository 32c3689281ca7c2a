/* SPDX-License-Identifier: BSD-3-Clause */
/* Consensus message by message: one member, and a group on a table without loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/paxos/paxos.h"

#include <stdlib.h>
#include <string.h>

#define VIEW 4
#define RETRY 100
#define INSTANCE 33
#define QUEUE_MAX 4096
#define BALLOT(round, id) ((uint64_t)(round) << 32 | (id))

/* ---- a member alone ---- */

struct fixture {
    struct rz_paxos *paxos;
    struct rz_action actions[64];
    uint32_t count;
    uint32_t grown;
};

static struct fixture *make(uint32_t n, rz_id self, bool votes)
{
    const struct rz_paxos_config config = {
        .n_members = n, .view = VIEW, .retry = RETRY, .votes = votes, .instances_max = 1};
    struct fixture *f = calloc(1, sizeof(*f));
    f->paxos = malloc(rz_paxos_size(&config));
    memset(f->paxos, 0xA5, rz_paxos_size(&config));
    rz_paxos_init(f->paxos, &config, self, 0, 1);
    return f;
}

static void release(struct fixture *f)
{
    free(f->paxos);
    free(f);
}

/* Destinations are only valid until the next step: tests of actions by RZ_MORE check counts. */
static void step(struct fixture *f, const struct rz_event *first)
{
    struct rz_event event = *first;
    enum rz_more more;
    f->count = 0;
    do {
        struct rz_actions out = {.v = f->actions + f->count, .max = RZ_ACTIONS_MIN};
        more = rz_paxos_step(f->paxos, &event, &out);
        if (more == RZ_NEED) {
            assert_int_equal(out.count, 0);
            f->paxos = realloc(f->paxos, out.need);
            rz_paxos_grow(f->paxos, out.need);
            f->grown++;
            continue;
        }
        f->count += out.count;
        event = (struct rz_event){.kind = RZ_EVENT_CONTINUE, .now = first->now};
    } while (more != RZ_DONE);
}

static void receive(struct fixture *f, rz_id from, enum rz_paxos_message type, uint64_t word0,
                    uint64_t word1)
{
    struct rz_message message = {.protocol = RZ_PROTOCOL_PAXOS,
                                 .type = (uint8_t)type,
                                 .view = VIEW,
                                 .from = from,
                                 .origin = from,
                                 .seq = INSTANCE,
                                 .word = {word0, word1}};
    step(f, &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .message = &message});
}

static void call(struct fixture *f, uint32_t what, uint64_t arg0, uint64_t arg1)
{
    step(f, &(struct rz_event){.kind = RZ_EVENT_CALL, .call = what, .arg = {arg0, arg1}});
}

static void doubt(struct fixture *f, uint64_t set)
{
    step(f, &(struct rz_event){
                .kind = RZ_EVENT_CALL, .call = RZ_PAXOS_DOUBT, .items = &set, .n_items = 1});
}

static void tick(struct fixture *f, rz_time now)
{
    step(f, &(struct rz_event){.kind = RZ_EVENT_TICK, .now = now});
}

static void expect_send(const struct fixture *f, uint32_t i, enum rz_paxos_message type,
                        uint32_t n_to, uint64_t word0)
{
    assert_true(i < f->count);
    assert_int_equal(f->actions[i].kind, RZ_ACTION_SEND);
    assert_int_equal(f->actions[i].message.type, type);
    assert_int_equal(f->actions[i].n_to, n_to);
    assert_true(f->actions[i].message.word[0] == word0);
}

static void a_group_of_one_decides_alone(void **state)
{
    (void)state;
    struct fixture *f = make(1, 0, false);
    call(f, RZ_PAXOS_PROPOSE, INSTANCE, 5);
    assert_int_equal(f->count, 1);
    assert_int_equal(f->actions[0].what, RZ_PAXOS_DECIDED);
    assert_true(f->actions[0].arg[1] == 5);
    release(f);
    f = make(1, 0, true);
    call(f, RZ_PAXOS_PROPOSE, INSTANCE, 0);
    assert_int_equal(f->actions[0].what, RZ_PAXOS_ASKED);
    call(f, RZ_PAXOS_VOTE, INSTANCE, 1);
    assert_int_equal(f->actions[0].what, RZ_PAXOS_DECIDED);
    assert_true(f->actions[0].arg[1] == 1);
    release(f);
}

static void a_promise_binds(void **state)
{
    (void)state;
    struct fixture *f = make(5, 3, false);
    receive(f, 1, RZ_PAXOS_PREPARE, BALLOT(2, 1), 7);
    expect_send(f, 0, RZ_PAXOS_PROMISE, 1, BALLOT(2, 1));
    receive(f, 0, RZ_PAXOS_PREPARE, BALLOT(1, 0), 8);
    expect_send(f, 0, RZ_PAXOS_REFUSED, 1, BALLOT(1, 0));
    receive(f, 0, RZ_PAXOS_ACCEPT, BALLOT(1, 0), 8);
    expect_send(f, 0, RZ_PAXOS_REFUSED, 1, BALLOT(1, 0));
    assert_true(f->actions[0].message.word[1] == BALLOT(2, 1));
    receive(f, 1, RZ_PAXOS_ACCEPT, BALLOT(2, 1), 7);
    expect_send(f, 0, RZ_PAXOS_ACCEPTED, 1, BALLOT(2, 1));
    /* The next promise contains what was accepted. */
    receive(f, 2, RZ_PAXOS_PREPARE, BALLOT(3, 2), 9);
    expect_send(f, 0, RZ_PAXOS_PROMISE, 1, BALLOT(3, 2));
    assert_int_equal(f->actions[0].message.n_items, 2);
    assert_true(f->actions[0].items[0] == BALLOT(2, 1) && f->actions[0].items[1] == 7);
    release(f);
}

static void a_leader_proposes_what_was_accepted_highest(void **state)
{
    (void)state;
    struct fixture *f = make(5, 0, false);
    receive(f, 3, RZ_PAXOS_PREPARE, BALLOT(1, 3), 63);
    tick(f, rz_paxos_deadline(f->paxos));
    expect_send(f, 0, RZ_PAXOS_PREPARE, 4, BALLOT(2, 0));
    const uint64_t low[] = {BALLOT(1, 1), 61}, high[] = {BALLOT(1, 3), 63};
    struct rz_message promise = {.protocol = RZ_PROTOCOL_PAXOS,
                                 .type = RZ_PAXOS_PROMISE,
                                 .view = VIEW,
                                 .from = 3,
                                 .seq = INSTANCE,
                                 .word = {BALLOT(2, 0), RZ_PAXOS_UNKNOWN},
                                 .n_items = 2};
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &promise, .items = high};
    step(f, &event);
    step(f, &event); /* twice from the same member is once */
    assert_int_equal(f->count, 0);
    promise.from = 1;
    event.items = low;
    step(f, &event);
    expect_send(f, 0, RZ_PAXOS_ACCEPT, 4, BALLOT(2, 0));
    assert_true(f->actions[0].message.word[1] == 63);
    receive(f, 4, RZ_PAXOS_ACCEPTED, BALLOT(2, 0), 0);
    receive(f, 4, RZ_PAXOS_ACCEPTED, BALLOT(2, 0), 0);
    assert_int_equal(f->count, 0);
    receive(f, 2, RZ_PAXOS_ACCEPTED, BALLOT(2, 0), 0);
    assert_true(rz_paxos_decision(f->paxos, INSTANCE, NULL));
    /* A member that asks later receives it. */
    receive(f, 4, RZ_PAXOS_REQUEST, 1, 0);
    expect_send(f, 0, RZ_PAXOS_TOLD, 1, 63);
    receive(f, 4, RZ_PAXOS_PREPARE, BALLOT(9, 4), 1);
    expect_send(f, 0, RZ_PAXOS_TOLD, 1, 63);
    release(f);
}

static void what_is_not_answered_is_sent_again(void **state)
{
    (void)state;
    struct fixture *f = make(4, 0, false);
    call(f, RZ_PAXOS_PROPOSE, INSTANCE, 50);
    assert_true(rz_paxos_deadline(f->paxos) == RETRY);
    receive(f, 2, RZ_PAXOS_PROMISE, BALLOT(1, 0), RZ_PAXOS_UNKNOWN);
    tick(f, RETRY);
    expect_send(f, 0, RZ_PAXOS_PREPARE, 2, BALLOT(1, 0));
    receive(f, 1, RZ_PAXOS_PROMISE, BALLOT(1, 0), RZ_PAXOS_UNKNOWN);
    expect_send(f, 0, RZ_PAXOS_ACCEPT, 3, BALLOT(1, 0));
    receive(f, 1, RZ_PAXOS_ACCEPTED, BALLOT(1, 0), 0);
    receive(f, 2, RZ_PAXOS_ACCEPTED, BALLOT(1, 0), 0);
    assert_int_equal(f->count, 2); /* the host is notified, then the others */
    tick(f, 5 * RETRY);
    expect_send(f, 0, RZ_PAXOS_TOLD, 1, 50); /* 3 may know of nothing */
    assert_int_equal(f->actions[0].message.flags, RZ_PAXOS_ANSWER);
    receive(f, 3, RZ_PAXOS_TOLD, 50, 0);
    tick(f, 9 * RETRY);
    assert_int_equal(f->count, 0);
    assert_true(rz_paxos_deadline(f->paxos) == RZ_TIME_NEVER);
    release(f);
}

/* An answer to a ballot given up must not count for the one that followed. */
static void late_acceptances_do_not_count(void **state)
{
    (void)state;
    struct fixture *f = make(5, 0, false);
    call(f, RZ_PAXOS_PROPOSE, INSTANCE, 50);
    for (rz_id id = 1; id <= 2; id++) {
        receive(f, id, RZ_PAXOS_PROMISE, BALLOT(1, 0), RZ_PAXOS_UNKNOWN);
    }
    expect_send(f, 0, RZ_PAXOS_ACCEPT, 4, BALLOT(1, 0));
    receive(f, 3, RZ_PAXOS_REFUSED, BALLOT(1, 0), BALLOT(2, 3));
    tick(f, rz_paxos_deadline(f->paxos));
    expect_send(f, 0, RZ_PAXOS_PREPARE, 4, BALLOT(3, 0));
    for (rz_id id = 1; id <= 2; id++) {
        receive(f, id, RZ_PAXOS_PROMISE, BALLOT(3, 0), RZ_PAXOS_UNKNOWN);
    }
    expect_send(f, 0, RZ_PAXOS_ACCEPT, 4, BALLOT(3, 0));
    for (rz_id id = 1; id <= 4; id++) {
        receive(f, id, RZ_PAXOS_ACCEPTED, BALLOT(1, 0), 0);
    }
    assert_false(rz_paxos_decision(f->paxos, INSTANCE, NULL));
    for (rz_id id = 1; id <= 2; id++) {
        receive(f, id, RZ_PAXOS_ACCEPTED, BALLOT(3, 0), 0);
    }
    assert_true(rz_paxos_decision(f->paxos, INSTANCE, NULL));
    release(f);
}

/* An acceptance may come without the promise before it, which was lost. */
static void a_member_that_accepts_a_higher_ballot_gives_its_own_up(void **state)
{
    (void)state;
    struct fixture *f = make(5, 0, false);
    call(f, RZ_PAXOS_PROPOSE, INSTANCE, 50);
    receive(f, 1, RZ_PAXOS_ACCEPT, BALLOT(2, 1), 9);
    expect_send(f, 0, RZ_PAXOS_ACCEPTED, 1, BALLOT(2, 1));
    for (rz_id id = 2; id <= 3; id++) {
        receive(f, id, RZ_PAXOS_PROMISE, BALLOT(1, 0), RZ_PAXOS_UNKNOWN);
        assert_int_equal(f->count, 0);
    }
    release(f);
}

static void a_member_that_is_told_says_so_where_it_is_asked_to(void **state)
{
    (void)state;
    struct fixture *f = make(5, 3, false);
    struct rz_message told = {.type = RZ_PAXOS_TOLD,
                              .view = VIEW,
                              .from = 1,
                              .seq = INSTANCE,
                              .word = {9},
                              .flags = RZ_PAXOS_ANSWER};
    for (uint32_t i = 0; i < 2; i++) {
        step(f, &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .message = &told});
        assert_int_equal(f->count, 2 - i); /* the host is notified once */
        expect_send(f, f->count - 1, RZ_PAXOS_TOLD, 1, 9);
        assert_int_equal(f->actions[f->count - 1].message.flags, 0);
    }
    release(f);
}

static void a_member_that_has_heard_of_an_instance_asks_for_its_end(void **state)
{
    (void)state;
    static const enum rz_paxos_message heard[] = {RZ_PAXOS_PREPARE, RZ_PAXOS_ACCEPT};
    for (size_t i = 0; i < 2; i++) {
        struct fixture *f = make(5, 3, false);
        receive(f, 0, heard[i], BALLOT(1, 0), 7);
        assert_true(rz_paxos_deadline(f->paxos) == 4 * RETRY);
        tick(f, 4 * RETRY);
        expect_send(f, 0, RZ_PAXOS_REQUEST, 1, i == 0 ? 7 : 0);
        assert_true(rz_paxos_deadline(f->paxos) < RZ_TIME_NEVER);
        release(f);
    }
}

static void a_vote_is_cast_once(void **state)
{
    (void)state;
    struct fixture *f = make(3, 1, true);
    receive(f, 0, RZ_PAXOS_PREPARE, BALLOT(1, 0), 0);
    assert_int_equal(f->actions[0].what, RZ_PAXOS_ASKED);
    call(f, RZ_PAXOS_VOTE, INSTANCE, 0);
    expect_send(f, 0, RZ_PAXOS_PROMISE, 1, BALLOT(1, 0));
    call(f, RZ_PAXOS_VOTE, INSTANCE, 1);
    assert_int_equal(f->count, 0);
    receive(f, 0, RZ_PAXOS_PREPARE, BALLOT(2, 0), 0);
    expect_send(f, 0, RZ_PAXOS_PROMISE, 1, BALLOT(2, 0));
    assert_int_equal(f->actions[0].message.word[1], RZ_PAXOS_NO);
    release(f);
}

static void the_next_leader_takes_open_instances_over(void **state)
{
    (void)state;
    struct fixture *f = make(3, 1, false);
    call(f, RZ_PAXOS_PROPOSE, INSTANCE, 51);
    expect_send(f, 0, RZ_PAXOS_REQUEST, 1, 51);
    receive(f, 0, RZ_PAXOS_PREPARE, BALLOT(1, 0), 50);
    receive(f, 0, RZ_PAXOS_ACCEPT, BALLOT(1, 0), 50);
    assert_int_equal(rz_paxos_leader(f->paxos), 0);
    doubt(f, 1);
    assert_int_equal(rz_paxos_leader(f->paxos), 1);
    expect_send(f, 0, RZ_PAXOS_PREPARE, 1, BALLOT(2, 1)); /* not to the doubted one */
    receive(f, 2, RZ_PAXOS_PROMISE, BALLOT(2, 1), RZ_PAXOS_UNKNOWN);
    expect_send(f, 0, RZ_PAXOS_ACCEPT, 1, BALLOT(2, 1));
    assert_true(f->actions[0].message.word[1] == 50); /* what the old leader may have decided */
    doubt(f, 7);
    assert_int_equal(rz_paxos_leader(f->paxos), 0); /* all doubted: the least one */
    release(f);
}

static void a_new_view_forgets_the_old_one(void **state)
{
    (void)state;
    struct fixture *f = make(5, 0, false);
    for (uint64_t i = 0; i < 10; i++) {
        call(f, RZ_PAXOS_PROPOSE, i, 50);
    }
    assert_true(f->grown > 2);
    assert_true(rz_paxos_knows(f->paxos, 9));
    const uint64_t members = 0x1A; /* 1, 3, 4 */
    step(f, &(struct rz_event){.kind = RZ_EVENT_CALL,
                               .call = RZ_PAXOS_VIEW,
                               .arg = {VIEW + 1},
                               .items = &members,
                               .n_items = 1});
    assert_false(rz_paxos_knows(f->paxos, 9));
    assert_int_equal(rz_paxos_view_size(f->paxos), 3);
    assert_int_equal(rz_paxos_leader(f->paxos), 1);
    assert_true(rz_paxos_deadline(f->paxos) == RZ_TIME_NEVER);
    receive(f, 1, RZ_PAXOS_PREPARE, BALLOT(1, 1), 0); /* of the old view */
    assert_int_equal(f->count, 0);
    call(f, RZ_PAXOS_PROPOSE, INSTANCE, 50); /* not a member any more */
    assert_int_equal(f->count, 0);
    release(f);
}

static void votes_are_counted_against_the_view(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 9; n++) {
        for (uint32_t voted = 0; voted <= n; voted++) {
            for (uint32_t yes = 0; yes <= voted; yes++) {
                enum rz_paxos_vote result = rz_paxos_count(n, yes, voted, false);
                bool can = 2 * (yes + n - voted) > n;
                assert_int_equal(result, 2 * yes > n ? RZ_PAXOS_YES
                                         : can       ? RZ_PAXOS_UNKNOWN
                                                     : RZ_PAXOS_NO);
                assert_int_equal(rz_paxos_count(n, yes, voted, true), 2 * yes > n);
            }
        }
    }
}

/* ---- a group on a table: every message arrives, in order ---- */

struct send_desc {
    struct rz_message message;
    uint64_t items[2];
    rz_id to;
};

struct table {
    uint32_t n;
    struct fixture *member[32];
    struct send_desc queue[QUEUE_MAX];
    uint32_t head, tail;
    uint64_t sent[RZ_PAXOS_TOLD + 1];
    uint32_t decided, yes;
    uint64_t would; /* bit set of the hosts that vote yes */
};

static void table_step(struct table *t, rz_id id, const struct rz_event *event)
{
    struct fixture *f = t->member[id];
    step(f, event);
    for (uint32_t i = 0; i < f->count; i++) {
        const struct rz_action *action = &f->actions[i];
        if (action->kind == RZ_ACTION_NOTIFY) {
            struct rz_event vote = {.kind = RZ_EVENT_CALL,
                                    .call = RZ_PAXOS_VOTE,
                                    .arg = {action->arg[0], t->would >> id & 1}};
            t->decided += action->what == RZ_PAXOS_DECIDED;
            t->yes += action->what == RZ_PAXOS_DECIDED && action->arg[1] == 1;
            if (action->what == RZ_PAXOS_ASKED) {
                table_step(t, id, &vote);
                return;
            }
            continue;
        }
        t->sent[action->message.type] += action->n_to;
        for (uint32_t k = 0; k < action->n_to; k++) {
            struct send_desc *send_desc = &t->queue[t->tail++ % QUEUE_MAX];
            *send_desc = (struct send_desc){.message = action->message, .to = action->to[k]};
            for (uint32_t j = 0; j < action->message.n_items; j++) {
                send_desc->items[j] = action->items[j];
            }
        }
    }
}

static void table_run(struct table *t, uint32_t n, uint64_t would, rz_id asker)
{
    memset(t, 0, sizeof(*t));
    t->n = n;
    t->would = would;
    for (rz_id id = 0; id < n; id++) {
        t->member[id] = make(n, id, true);
    }
    struct rz_event ask = {.kind = RZ_EVENT_CALL, .call = RZ_PAXOS_PROPOSE, .arg = {INSTANCE}};
    table_step(t, asker, &ask);
    table_step(t, asker, &ask);
    while (t->head != t->tail) {
        struct send_desc *send_desc = &t->queue[t->head++ % QUEUE_MAX];
        struct rz_event event = {
            .kind = RZ_EVENT_RECEIVE, .message = &send_desc->message, .items = send_desc->items};
        table_step(t, send_desc->to, &event);
    }
    for (rz_id id = 0; id < n; id++) {
        release(t->member[id]);
    }
}

/* The source counts 4(N-1) for a rejoin: the two phases. The news of the decision are N-1 more, a
 * request of a member that does not lead one. */
static void a_rejoin_costs_four_messages_per_member_and_the_news(void **state)
{
    (void)state;
    static struct table t;
    for (uint32_t n = 2; n <= 32; n++) {
        for (rz_id asker = 0; asker < n; asker += n - 1) {
            table_run(&t, n, UINT64_MAX, asker);
            uint64_t phases = t.sent[RZ_PAXOS_PREPARE] + t.sent[RZ_PAXOS_PROMISE] +
                              t.sent[RZ_PAXOS_ACCEPT] + t.sent[RZ_PAXOS_ACCEPTED];
            assert_int_equal(phases, 4 * (n - 1));
            assert_int_equal(t.sent[RZ_PAXOS_TOLD], n - 1);
            assert_int_equal(t.sent[RZ_PAXOS_REQUEST], asker != 0);
            assert_int_equal(t.sent[RZ_PAXOS_REFUSED], 0);
            assert_int_equal(t.decided, n);
            assert_int_equal(t.yes, n);
        }
    }
}

static void a_majority_of_yes_is_needed_and_enough(void **state)
{
    (void)state;
    static struct table t;
    for (uint32_t n = 1; n <= 9; n++) {
        for (uint64_t would = 0; would < UINT64_C(1) << n; would++) {
            table_run(&t, n, would, n / 2);
            uint32_t yes = (uint32_t)__builtin_popcountll(would);
            assert_int_equal(t.decided, n);
            assert_int_equal(t.yes, 2 * yes > n ? n : 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_of_one_decides_alone),
        cmocka_unit_test(a_promise_binds),
        cmocka_unit_test(a_leader_proposes_what_was_accepted_highest),
        cmocka_unit_test(what_is_not_answered_is_sent_again),
        cmocka_unit_test(late_acceptances_do_not_count),
        cmocka_unit_test(a_member_that_accepts_a_higher_ballot_gives_its_own_up),
        cmocka_unit_test(a_member_that_is_told_says_so_where_it_is_asked_to),
        cmocka_unit_test(a_member_that_has_heard_of_an_instance_asks_for_its_end),
        cmocka_unit_test(a_vote_is_cast_once),
        cmocka_unit_test(the_next_leader_takes_open_instances_over),
        cmocka_unit_test(a_new_view_forgets_the_old_one),
        cmocka_unit_test(votes_are_counted_against_the_view),
        cmocka_unit_test(a_rejoin_costs_four_messages_per_member_and_the_news),
        cmocka_unit_test(a_majority_of_yes_is_needed_and_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
