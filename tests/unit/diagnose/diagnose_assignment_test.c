/* SPDX-License-Identifier: BSD-3-Clause */
/* The assignment of tests in the cube: the cost of an interval, and that no member is left without
 * a tester. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diagnose_member.h"

#define N_MAX 20

static struct fixture *make_cube(uint32_t n, rz_id self)
{
    return make_of(&(struct rz_diagnose_config){.n_members = n, .assignment = RZ_DIAGNOSE_CUBE},
                   self);
}

/* Clusters of k with a process that is in the view. */
static uint32_t testers_of(uint64_t view, uint32_t n, rz_id k)
{
    uint32_t testers = 0;
    for (uint32_t s = 1; s <= rz_diagnose_dimensions(n); s++) {
        testers += rz_diagnose_partner(&view, n, k, s) != RZ_ID_NONE;
    }
    return testers;
}

/* Tests and replies of one interval by the members of the view; the others are out and answer. */
static uint64_t messages(uint32_t n, uint64_t view)
{
    struct fixture *member[N_MAX];
    uint64_t items[N_MAX], sent = 0;
    uint32_t n_items = 0;
    rz_id first = RZ_ID_NONE, second = RZ_ID_NONE;
    for (rz_id k = n; k-- > 0;) {
        if (view >> k & 1) {
            second = first;
            first = k;
        }
    }
    for (rz_id k = 0; k < n; k++) {
        if (!(view >> k & 1)) {
            items[n_items++] = RZ_DIAGNOSE_ITEM(k, 1);
        }
    }
    for (rz_id id = 0; id < n; id++) {
        member[id] = make_cube(n, id);
        if (n_items > 0) {
            test(member[id], id == first ? second : first, items, n_items);
        }
    }
    for (rz_id id = 0; id < n; id++) {
        tick(member[id], 0);
        const struct rz_action *tests = find(member[id], RZ_ACTION_SEND, RZ_DIAGNOSE_TEST);
        assert_int_equal(member[id]->count, tests != NULL);
        for (uint32_t i = 0; tests && i < tests->n_to; i++) {
            struct rz_event event = {
                .kind = RZ_EVENT_RECEIVE, .message = &tests->message, .items = tests->items};
            step(member[tests->to[i]], &event);
            assert_int_equal(member[tests->to[i]]->count, 1);
            sent += 2;
        }
    }
    for (rz_id id = 0; id < n; id++) {
        release(member[id]);
    }
    return sent;
}

static void an_interval_costs_two_messages_per_cluster(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= N_MAX; n++) {
        uint64_t all = (UINT64_C(1) << n) - 1, formula = 0;
        for (rz_id k = 0; k < n; k++) {
            formula += 2 * testers_of(all, n, k);
        }
        assert_int_equal(messages(n, all), formula);
        if ((n & (n - 1)) == 0) {
            assert_int_equal(formula, 2 * n * rz_diagnose_dimensions(n));
        }
        assert_in_range(formula, 2 * n, 2 * n * rz_diagnose_dimensions(n));
    }
}

static void an_excluded_member_is_tested_by_every_member(void **state)
{
    (void)state;
    static const uint64_t outs[] = {0x1, 0x8, 0x11, 0x3C, 0xF0, 0xFE0, 0x1555};
    for (uint32_t n = 13; n <= 16; n++) {
        for (size_t i = 0; i < sizeof(outs) / sizeof(*outs); i++) {
            uint64_t view = ((UINT64_C(1) << n) - 1) & ~outs[i], formula = 0;
            uint32_t in = (uint32_t)__builtin_popcountll(view);
            for (rz_id k = 0; k < n; k++) {
                formula += 2 * (view >> k & 1 ? testers_of(view, n, k) : in);
            }
            assert_int_equal(messages(n, view), formula);
        }
    }
}

/* The members that the members of the view test, by the objects themselves. */
static void tests_of_all(uint32_t n, uint64_t view, uint64_t *tests)
{
    for (rz_id id = 0; id < n; id++) {
        tests[id] = 0;
        if (!(view >> id & 1)) {
            continue;
        }
        struct fixture *f = make_cube(n, id);
        for (rz_id k = 0; k < n; k++) {
            if (!(view >> k & 1)) {
                crash(f, &k, 1);
            }
        }
        for (rz_id k = 0; k < n; k++) {
            tests[id] |= (uint64_t)rz_diagnose_tests(f->diagnose, k) << k;
        }
        release(f);
    }
}

/* In every group of two or more, news of any member reach every other one along the tests, and in
 * at most as many intervals as the cube has dimensions. */
static void news_reach_all_members_in_every_group(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 9; n++) {
        for (uint64_t view = 1; view < UINT64_C(1) << n; view++) {
            uint64_t tests[N_MAX];
            tests_of_all(n, view, tests);
            for (rz_id id = 0; id < n; id++) {
                uint64_t knows = UINT64_C(1) << id;
                for (uint32_t i = 0; i < rz_diagnose_dimensions(n); i++) {
                    for (uint64_t before = knows, k = 0; k < n; k++) {
                        knows |= before >> k & 1 ? tests[k] : 0;
                    }
                }
                if (view >> id & 1) {
                    assert_int_equal(knows, (UINT64_C(1) << n) - 1);
                }
            }
        }
    }
}

/* The threshold of member 0's first test of 3, which begins because `out` are excluded, after this
 * number of intervals in which the members it tested, 1, 2 and 4, have answered by this
 * threshold. */
static rz_time threshold_of_another(uint32_t intervals, const rz_id *out, uint32_t n_out,
                                    rz_time *measured)
{
    struct fixture *f = make_cube(8, 0);
    rz_time now = 0;
    for (uint32_t i = 0; i < intervals; i++, now += RZ_SECOND) {
        tick(f, now);
        for (rz_id k = 1; k <= 4; k *= 2) {
            reply(f, k, rz_diagnose_interval(f->diagnose), now, now + 48 * MS, 0);
        }
    }
    *measured = rz_diagnose_threshold(f->diagnose, 4);
    assert_false(rz_diagnose_tests(f->diagnose, 3));
    crash(f, out, n_out);
    tick(f, now);
    assert_true(rz_diagnose_tests(f->diagnose, 3));
    rz_time threshold = rz_diagnose_threshold(f->diagnose, 3);
    release(f);
    return threshold;
}

static void a_member_that_takes_over_tests_by_what_it_has_measured(void **state)
{
    (void)state;
    static const rz_id all[] = {1, 2, 4};
    rz_time measured;
    assert_true(threshold_of_another(20, all, 1, &measured) == measured);
    assert_true(measured > 48 * MS && measured < RZ_SECOND);
    assert_true(threshold_of_another(20, all, 3, &measured) == measured);
    /* In its first 8 s 3 may not be there yet. */
    assert_true(threshold_of_another(7, all, 1, &measured) == 8 * RZ_SECOND);
    assert_true(threshold_of_another(8, all, 1, &measured) == measured);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interval_costs_two_messages_per_cluster),
        cmocka_unit_test(an_excluded_member_is_tested_by_every_member),
        cmocka_unit_test(news_reach_all_members_in_every_group),
        cmocka_unit_test(a_member_that_takes_over_tests_by_what_it_has_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
