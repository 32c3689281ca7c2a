/* SPDX-License-Identifier: BSD-3-Clause */
/* One member, test by test; and what a quiet group costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diagnose_member.h"

#define N 12

/* By hand: 48 ms, then 58 ms, then 48 ms, with 0.9 and 4. */
static void statistics_are_as_the_formulas_say(void **state)
{
    (void)state;
    struct rz_diagnose_config config = {
        .mode = RZ_DIAGNOSE_ADD, .factor = 5 * MS, .threshold_max = 60 * RZ_SECOND};
    struct rz_diagnose_statistics s = {.threshold = 8 * RZ_SECOND};
    rz_diagnose_measure(&s, 48 * MS, &config);
    assert_true(s.mean == 48 * MS && s.spread == 24 * MS && s.threshold == 149 * MS);
    rz_diagnose_measure(&s, 58 * MS, &config);
    assert_true(s.spread == 22600000 && s.mean == 49 * MS && s.threshold == 144400000);
    rz_diagnose_measure(&s, 48 * MS, &config);
    assert_true(s.spread == 20440000 && s.mean == 48900000 && s.threshold == 135660000);
    config.mode = RZ_DIAGNOSE_MULTIPLY;
    config.factor = 2500;
    rz_diagnose_measure(&s, 48900000, &config);
    assert_true(s.spread == 18396000 && s.mean == 48900000);
    assert_true(s.threshold == (48900000 + 4 * 18396000) * UINT64_C(5) / 2);
    config.threshold_max = 100 * MS;
    rz_diagnose_measure(&s, UINT64_MAX, &config);
    assert_true(s.threshold == 100 * MS);
    s = (struct rz_diagnose_statistics){0};
    config.threshold_min = 20 * MS;
    rz_diagnose_measure(&s, MS, &config);
    assert_true(s.threshold == 20 * MS); /* not 7.5 ms */
}

/* A group that continues: 1 has been excluded before, 2 is new and must be voted in. */
static void a_group_begins_with_counters(void **state)
{
    (void)state;
    struct fixture *f = make(3, 0);
    const uint64_t items[] = {RZ_DIAGNOSE_ITEM(1, 4), RZ_DIAGNOSE_ITEM(2, 1)};
    step(f, &(struct rz_event){
                .kind = RZ_EVENT_CALL, .call = RZ_DIAGNOSE_BEGIN, .items = items, .n_items = 2});
    assert_int_equal(f->count, 2); /* both are reported to the host */
    assert_int_equal(rz_diagnose_counter(f->diagnose, 1), 4);
    assert_true(rz_diagnose_has(f->diagnose, 1) && !rz_diagnose_has(f->diagnose, 2));
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 2);
    rz_time now = 0;
    for (uint32_t i = 0; i < 5; i++) {
        interval(f, &now, RZ_ID_NONE);
    }
    assert_int_equal(rz_diagnose_okrun(f->diagnose, 2), 5);
    release(f);
}

static void the_first_threshold_is_eight_seconds(void **state)
{
    (void)state;
    struct fixture *f = make(2, 0);
    tick(f, 0);
    assert_true(rz_diagnose_deadline(f->diagnose) == RZ_SECOND);
    for (rz_time now = RZ_SECOND; now < 16 * RZ_SECOND; now += RZ_SECOND) {
        tick(f, now);
        assert_int_equal(f->count, 0); /* the first test is still under way */
        assert_int_equal(rz_diagnose_counter(f->diagnose, 1), 0);
    }
    tick(f, 16 * RZ_SECOND); /* twice the threshold: lost */
    assert_int_equal(rz_diagnose_counter(f->diagnose, 1), 1);
    release(f);
}

static void late_answers_adapt_the_threshold_after_the_diagnosis(void **state)
{
    (void)state;
    struct fixture *f = make(3, 0);
    rz_time now = 0;
    for (uint32_t i = 0; i < 50; i++) {
        interval(f, &now, RZ_ID_NONE);
    }
    rz_time threshold = rz_diagnose_threshold(f->diagnose, 1);
    assert_true(threshold < 123 * MS && threshold > 119 * MS); /* 2.5 * 48 ms, and what is left */
    tick(f, now);
    reply(f, 1, 51, now, now + 200 * MS, 0); /* late, though the threshold grows by it */
    assert_int_equal(rz_diagnose_counter(f->diagnose, 1), 1);
    assert_true(rz_diagnose_threshold(f->diagnose, 1) > 200 * MS);
    tick(f, now + 2 * threshold); /* 2 has not answered: lost, nothing is learnt */
    assert_int_equal(rz_diagnose_counter(f->diagnose, 2), 1);
    assert_true(rz_diagnose_threshold(f->diagnose, 2) == threshold);
    reply(f, 2, 51, now, now + 300 * MS, 0); /* after all: statistics, no second result */
    assert_true(rz_diagnose_threshold(f->diagnose, 2) > threshold);
    assert_int_equal(rz_diagnose_counter(f->diagnose, 2), 1);
    rz_time once = rz_diagnose_threshold(f->diagnose, 2);
    reply(f, 2, 51, now, now + 300 * MS, 0);
    assert_true(rz_diagnose_threshold(f->diagnose, 2) == once); /* the second copy */
    release(f);
}

static void events_of_an_interval_are_one_message_to_the_group(void **state)
{
    (void)state;
    struct fixture *f = make(5, 0);
    rz_time now = 0;
    for (uint32_t i = 0; i < 20; i++) {
        interval(f, &now, RZ_ID_NONE);
    }
    tick(f, now);
    for (rz_id k = 1; k < 5; k++) {
        reply(f, k, 21, now, now + (k <= 2 ? 500 : 48) * MS, 0);
    }
    tick(f, now + RZ_SECOND);
    const struct rz_action *events = find(f, RZ_ACTION_SEND, RZ_DIAGNOSE_EVENTS);
    assert_non_null(events);
    assert_int_equal(events->n_to, 2);
    assert_int_equal(events->to[0], 3);
    assert_int_equal(events->message.n_items, 2);
    assert_true(events->items[0] == RZ_DIAGNOSE_ITEM(1, 1));
    const struct rz_action *tests = find(f, RZ_ACTION_SEND, RZ_DIAGNOSE_TEST);
    assert_int_equal(tests->n_to, 4); /* all others are tested, members or not */
    assert_int_equal(tests->message.n_items, 2);
    for (rz_id k = 1; k < 5; k++) {
        reply(f, k, 22, now + RZ_SECOND, now + RZ_SECOND + 48 * MS, 0);
    }
    tick(f, now + 2 * RZ_SECOND);
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 3);
    assert_null(find(f, RZ_ACTION_SEND, RZ_DIAGNOSE_EVENTS));
    release(f);
}

static void only_members_are_believed_and_the_larger_counter_holds(void **state)
{
    (void)state;
    struct fixture *f = make(5, 0);
    const uint64_t first[] = {RZ_DIAGNOSE_ITEM(2, 1)}, second[] = {RZ_DIAGNOSE_ITEM(3, 1)};
    test(f, 1, first, 1);
    test(f, 4, first, 1); /* two report the same event */
    assert_int_equal(rz_diagnose_counter(f->diagnose, 2), 1);
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 4);
    test(f, 2, second, 1); /* an excluded member is not believed, but answered */
    assert_int_equal(rz_diagnose_counter(f->diagnose, 3), 0);
    assert_non_null(find(f, RZ_ACTION_SEND, RZ_DIAGNOSE_REPLY));
    const uint64_t back[] = {RZ_DIAGNOSE_ITEM(2, 2), RZ_DIAGNOSE_ITEM(4, 1)};
    test(f, 2, back, 2); /* but a readmitted one is */
    assert_int_equal(rz_diagnose_counter(f->diagnose, 2), 2);
    assert_int_equal(rz_diagnose_counter(f->diagnose, 4), 1);
    reply(f, 3, 0, 0, 0, 1);
    assert_int_equal(rz_diagnose_counter(f->diagnose, 3), 0); /* an answer to no test */
    release(f);
}

static void five_good_tests_ask_for_a_rejoin(void **state)
{
    (void)state;
    struct fixture *f = make(3, 0);
    rz_time now = 0;
    for (uint32_t i = 0; i < 3; i++) {
        interval(f, &now, RZ_ID_NONE);
    }
    const uint64_t out[] = {RZ_DIAGNOSE_ITEM(2, 1)};
    test(f, 1, out, 1);
    for (uint32_t i = 1; i <= 10; i++) {
        interval(f, &now, RZ_ID_NONE);
        assert_int_equal(rz_diagnose_okrun(f->diagnose, 2), i);
        const struct rz_action *want = find(f, RZ_ACTION_NOTIFY, RZ_DIAGNOSE_WANT_REJOIN);
        assert_int_equal(want != NULL, i % 5 == 0);
        assert_int_equal(rz_diagnose_would_readmit(f->diagnose, 2, 1), i >= 3);
        assert_false(rz_diagnose_would_readmit(f->diagnose, 2, 3));
    }
    readmit(f, 2, 1);
    readmit(f, 2, 1); /* once is enough */
    assert_int_equal(rz_diagnose_counter(f->diagnose, 2), 2);
    assert_int_equal(rz_diagnose_okrun(f->diagnose, 2), 0);
    assert_true(rz_diagnose_has(f->diagnose, 2));
    release(f);
}

static void an_excluded_member_takes_the_counters_of_the_group(void **state)
{
    (void)state;
    struct fixture *f = make(4, 3);
    tick(f, 0);
    tick(f, 16 * RZ_SECOND); /* a slow tester: no member answered it in time */
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 1);
    const uint64_t out[] = {RZ_DIAGNOSE_ITEM(3, 1)};
    test(f, 1, out, 1); /* not a member, as it thinks: not believed */
    assert_true(rz_diagnose_has(f->diagnose, 3));
    for (rz_id k = 0; k < 3; k++) {
        readmit(f, k, 1);
    }
    test(f, 1, out, 1);
    assert_false(rz_diagnose_has(f->diagnose, 3));
    assert_int_equal(rz_diagnose_counter(f->diagnose, 0), 0); /* its own findings are dropped */
    tick(f, 40 * RZ_SECOND);
    assert_null(find(f, RZ_ACTION_SEND, RZ_DIAGNOSE_TEST)); /* it tests no member */
    test(f, 2, NULL, 0);                                    /* a member that knows less about it */
    assert_int_equal(rz_diagnose_counter(f->diagnose, 3), 1);
    assert_int_equal(find(f, RZ_ACTION_SEND, RZ_DIAGNOSE_REPLY)->message.word[1], 1);
    const uint64_t back[] = {RZ_DIAGNOSE_ITEM(0, 1), RZ_DIAGNOSE_ITEM(3, 2)};
    test(f, 2, back, 2);
    assert_true(rz_diagnose_has(f->diagnose, 3));
    assert_false(rz_diagnose_has(f->diagnose, 0));
    release(f);
}

/* Rank 1 waits patience * 2 intervals of silence; after a message in between, it waits again. */
static void a_member_that_is_not_tested_takes_over(void **state)
{
    (void)state;
    struct fixture *f = make(3, 1);
    const uint64_t out[] = {RZ_DIAGNOSE_ITEM(1, 1)};
    rz_time now = 0;
    test(f, 0, out, 1);
    for (uint32_t i = 0; i < 20; i++, now += RZ_SECOND) {
        tick(f, now);
    }
    test(f, 0, out, 1);
    for (uint32_t i = 0; i < 20; i++, now += RZ_SECOND) {
        tick(f, now);
        assert_int_equal(f->count, 0);
    }
    tick(f, now);
    const struct rz_action *alone = find(f, RZ_ACTION_NOTIFY, RZ_DIAGNOSE_ALONE);
    assert_non_null(alone);
    assert_int_equal(alone->arg[1], 2);
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 1);
    assert_true(rz_diagnose_has(f->diagnose, 1));
    assert_int_equal(find(f, RZ_ACTION_SEND, RZ_DIAGNOSE_TEST)->n_to, 2);
    release(f);
}

/* Excluded by a member that is not believed: its own report is enough. */
static void a_member_that_holds_itself_for_excluded_is_excluded(void **state)
{
    (void)state;
    struct fixture *f = make(3, 0);
    rz_time now = 0;
    interval(f, &now, RZ_ID_NONE);
    tick(f, now);
    reply(f, 2, 2, now, now + 48 * MS, 3);
    assert_int_equal(rz_diagnose_counter(f->diagnose, 2), 3);
    reply(f, 1, 2, now, now + 48 * MS, 2); /* a claim to be back needs a decision */
    assert_int_equal(rz_diagnose_counter(f->diagnose, 1), 0);
    tick(f, now + RZ_SECOND);
    assert_int_equal(find(f, RZ_ACTION_SEND, RZ_DIAGNOSE_EVENTS)->n_to, 1); /* the others hear */
    tick(f, now + 9 * RZ_SECOND); /* woken late: the intervals missed are not made up for */
    assert_true(rz_diagnose_deadline(f->diagnose) > now + 9 * RZ_SECOND);
    release(f);
}

static void a_readmission_ends_one_event_and_no_later_one(void **state)
{
    (void)state;
    struct fixture *f = make(5, 0);
    readmit(f, 2, 1); /* before the news of what it ends */
    assert_int_equal(rz_diagnose_counter(f->diagnose, 2), 2);
    const uint64_t again[] = {RZ_DIAGNOSE_ITEM(2, 3)};
    test(f, 1, again, 1);
    readmit(f, 2, 1);
    assert_int_equal(rz_diagnose_counter(f->diagnose, 2), 3);
    release(f);
}

/* Also to those it holds for out: they may be in, for what it knows. And its own tests end. */
static void an_excluded_member_listens_to_all_and_assesses_none(void **state)
{
    (void)state;
    struct fixture *f = make(4, 3);
    tick(f, 0);
    const uint64_t out[] = {RZ_DIAGNOSE_ITEM(1, 1), RZ_DIAGNOSE_ITEM(3, 1)};
    test(f, 2, out, 2);
    tick(f, 17 * RZ_SECOND);
    assert_int_equal(rz_diagnose_counter(f->diagnose, 0), 0);
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 2);
    const uint64_t back[] = {RZ_DIAGNOSE_ITEM(3, 2)};
    test(f, 1, back, 1);
    assert_true(rz_diagnose_has(f->diagnose, 3) && rz_diagnose_has(f->diagnose, 1));
    release(f);
}

static void a_late_answer_is_no_answer_to_the_next_test(void **state)
{
    (void)state;
    struct fixture *f = make(2, 0);
    tick(f, 0);
    tick(f, 16 * RZ_SECOND); /* the first is lost, the second under way */
    assert_int_equal(rz_diagnose_interval(f->diagnose), 2);
    reply(f, 1, 1, 0, 16 * RZ_SECOND + 10 * MS, 0);
    assert_int_equal(rz_diagnose_okrun(f->diagnose, 1), 0);
    reply(f, 1, 2, 16 * RZ_SECOND, 16 * RZ_SECOND + 20 * MS, 0);
    assert_int_equal(rz_diagnose_okrun(f->diagnose, 1), 1);
    release(f);
}

static void strange_messages_are_dropped(void **state)
{
    (void)state;
    static const uint64_t strange[][2] = {{RZ_DIAGNOSE_ITEM(5, 1), 0},
                                          {RZ_DIAGNOSE_ITEM(2, 1), RZ_DIAGNOSE_ITEM(1, 1)},
                                          {RZ_DIAGNOSE_ITEM(2, 1), RZ_DIAGNOSE_ITEM(2, 3)},
                                          {RZ_DIAGNOSE_ITEM(1, 1), RZ_DIAGNOSE_ITEM(2, ~0u)}};
    struct fixture *f = make(5, 0);
    for (size_t i = 0; i < sizeof(strange) / sizeof(*strange); i++) {
        test(f, 1, strange[i], 2);
        assert_int_equal(f->count, 0);
        assert_int_equal(rz_diagnose_group_size(f->diagnose), 5);
    }
    tick(f, 0);
    struct rz_message message = {.type = RZ_DIAGNOSE_REPLY,
                                 .view = VIEW,
                                 .from = 1,
                                 .seq = 1,
                                 .word = {0, UINT64_C(1) << 32 | 1}}; /* a counter of 33 bits */
    step(f, &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .now = MS, .message = &message});
    assert_int_equal(rz_diagnose_counter(f->diagnose, 1), 0);
    release(f);
}

static void the_failed_are_tested_no_more(void **state)
{
    (void)state;
    struct fixture *f = make(12, 0);
    rz_id failed[9];
    for (rz_id k = 0; k < 9; k++) {
        failed[k] = k + 2;
    }
    crash(f, failed, 9);
    assert_int_equal(f->count, 9); /* nine changes reported, in two steps */
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 3);
    tick(f, 0);
    assert_int_equal(find(f, RZ_ACTION_SEND, RZ_DIAGNOSE_TEST)->n_to, 2);
    release(f);
}

static void the_agreed_view_is_by_the_agreed_counters_alone(void **state)
{
    (void)state;
    struct fixture *f = make(5, 0);
    const uint64_t agreed[] = {RZ_DIAGNOSE_ITEM(1, 2), RZ_DIAGNOSE_ITEM(2, 3)};
    const uint64_t newer[] = {RZ_DIAGNOSE_ITEM(4, 1)};
    test(f, 1, newer, 1);
    struct rz_event call = {
        .kind = RZ_EVENT_CALL, .call = RZ_DIAGNOSE_VIEW, .arg = {3}, .items = agreed, .n_items = 2};
    step(f, &call);
    uint64_t round;
    assert_int_equal(*rz_diagnose_view(f->diagnose, &round), 0x1B);
    assert_int_equal(round, 3);
    assert_false(rz_diagnose_has(f->diagnose, 4)); /* waits for the next round */
    call.arg[0] = 2;
    call.n_items = 0;
    step(f, &call);
    assert_int_equal(*rz_diagnose_view(f->diagnose, NULL), 0x1B);
    call.arg[0] = 3; /* the first word on a round holds */
    step(f, &call);
    assert_int_equal(*rz_diagnose_view(f->diagnose, NULL), 0x1B);
    const uint64_t no_member[] = {RZ_DIAGNOSE_ITEM(0, 1), RZ_DIAGNOSE_ITEM(1, 3),
                                  RZ_DIAGNOSE_ITEM(2, 3), RZ_DIAGNOSE_ITEM(3, 1),
                                  RZ_DIAGNOSE_ITEM(4, 1)};
    call = (struct rz_event){.kind = RZ_EVENT_CALL,
                             .call = RZ_DIAGNOSE_VIEW,
                             .arg = {4},
                             .items = no_member,
                             .n_items = 5};
    step(f, &call);
    assert_int_equal(*rz_diagnose_view(f->diagnose, NULL), 1); /* at least one */
    release(f);
}

/* 2N(N-1) messages per interval: exactly, where nothing happens. */
static void an_interval_costs_two_messages_per_pair(void **state)
{
    (void)state;
    struct fixture *member[N];
    uint64_t tests = 0, replies = 0, others = 0;
    for (rz_id id = 0; id < N; id++) {
        member[id] = make(N, id);
    }
    for (rz_time now = 0; now < 10 * RZ_SECOND; now += RZ_SECOND) {
        for (rz_id id = 0; id < N; id++) {
            tick(member[id], now);
            const struct rz_action *action = find(member[id], RZ_ACTION_SEND, RZ_DIAGNOSE_TEST);
            others += member[id]->count - 1;
            tests += action->n_to;
            struct rz_message message = action->message;
            for (rz_id to = 0; to < N; to++) {
                if (to == id) {
                    continue;
                }
                step(member[to],
                     &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .now = now, .message = &message});
                struct rz_message answer = member[to]->actions[0].message;
                replies += member[to]->count;
                step(member[id], &(struct rz_event){.kind = RZ_EVENT_RECEIVE,
                                                    .now = now + 48 * MS,
                                                    .message = &answer});
                others += member[id]->count;
            }
        }
    }
    assert_int_equal(tests, 10 * N * (N - 1));
    assert_int_equal(replies, 10 * N * (N - 1));
    assert_int_equal(others, 0);
    for (rz_id id = 0; id < N; id++) {
        release(member[id]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_are_as_the_formulas_say),
        cmocka_unit_test(a_group_begins_with_counters),
        cmocka_unit_test(the_first_threshold_is_eight_seconds),
        cmocka_unit_test(late_answers_adapt_the_threshold_after_the_diagnosis),
        cmocka_unit_test(events_of_an_interval_are_one_message_to_the_group),
        cmocka_unit_test(only_members_are_believed_and_the_larger_counter_holds),
        cmocka_unit_test(five_good_tests_ask_for_a_rejoin),
        cmocka_unit_test(an_excluded_member_takes_the_counters_of_the_group),
        cmocka_unit_test(a_member_that_is_not_tested_takes_over),
        cmocka_unit_test(a_member_that_holds_itself_for_excluded_is_excluded),
        cmocka_unit_test(a_readmission_ends_one_event_and_no_later_one),
        cmocka_unit_test(an_excluded_member_listens_to_all_and_assesses_none),
        cmocka_unit_test(a_late_answer_is_no_answer_to_the_next_test),
        cmocka_unit_test(strange_messages_are_dropped),
        cmocka_unit_test(the_failed_are_tested_no_more),
        cmocka_unit_test(the_agreed_view_is_by_the_agreed_counters_alone),
        cmocka_unit_test(an_interval_costs_two_messages_per_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
