/* SPDX-License-Identifier: BSD-3-Clause */
/* Local health: the reaction of a tester to an interval without answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diagnose_member.h"

#define HEALTH_MAX 3
#define SETTLED 60 /* intervals after which thresholds have come down */

static struct fixture *make_healthy(uint32_t n)
{
    return make_of(&(struct rz_diagnose_config){.n_members = n, .health_max = HEALTH_MAX}, 0);
}

/* Intervals in which all answer in time. */
static void good(struct fixture *f, rz_time *now, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        interval(f, now, RZ_ID_NONE);
    }
}

/* Intervals without answers; the result of the last one is seen at the end. */
static void deaf(struct fixture *f, rz_time *now, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, *now += RZ_SECOND) {
        tick(f, *now);
    }
}

static const struct rz_action *doubt_of(const struct fixture *f)
{
    return find(f, RZ_ACTION_NOTIFY, RZ_DIAGNOSE_DOUBT);
}

static void a_member_that_finds_all_slow_doubts_itself(void **state)
{
    (void)state;
    struct fixture *f = make_healthy(5);
    rz_time now = 0;
    good(f, &now, SETTLED);
    rz_time threshold = rz_diagnose_threshold(f->diagnose, 1);
    tick(f, now);
    now += RZ_SECOND;
    for (uint32_t doubts = 1; doubts <= HEALTH_MAX; doubts++) {
        deaf(f, &now, 1);
        assert_non_null(doubt_of(f));
        assert_int_equal(doubt_of(f)->arg[0], 4);
        assert_int_equal(doubt_of(f)->arg[1], 4);
        assert_int_equal(doubt_of(f)->arg[3], 0);
        assert_int_equal(rz_diagnose_health(f->diagnose), doubts);
        assert_int_equal(rz_diagnose_group_size(f->diagnose), 5);
        assert_true(rz_diagnose_threshold(f->diagnose, 1) == (1 + doubts) * threshold);
        assert_null(find(f, RZ_ACTION_SEND, RZ_DIAGNOSE_EVENTS));
    }
    for (rz_id k = 1; k < 5; k++) { /* of the test sent last */
        reply(f, k, rz_diagnose_interval(f->diagnose), now - RZ_SECOND, now - RZ_SECOND + 48 * MS,
              0);
    }
    for (uint32_t health = HEALTH_MAX - 1; health < HEALTH_MAX; health--) {
        good(f, &now, 1);
        assert_null(doubt_of(f));
        assert_int_equal(rz_diagnose_health(f->diagnose), health);
        assert_int_equal(rz_diagnose_doubts(f->diagnose), 0);
    }
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 5);
    release(f);
}

/* HEALTH_MAX + 1 intervals, to the interval. */
static void the_last_one_finds_that_all_others_are_gone(void **state)
{
    (void)state;
    struct fixture *f = make_healthy(7);
    rz_time now = 0;
    good(f, &now, SETTLED);
    deaf(f, &now, 1 + HEALTH_MAX);
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 7);
    deaf(f, &now, 1);
    assert_int_equal(doubt_of(f)->arg[3], 1);
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 1);
    assert_true(rz_diagnose_has(f->diagnose, 0));
    assert_int_equal(rz_diagnose_health(f->diagnose), 0);
    release(f);
}

static void half_of_them_or_a_single_one_is_no_doubt(void **state)
{
    (void)state;
    struct fixture *f = make_healthy(5);
    rz_time now = 0;
    good(f, &now, SETTLED);
    tick(f, now);
    reply(f, 1, SETTLED + 1, now, now + 48 * MS, 0);
    reply(f, 2, SETTLED + 1, now, now + 48 * MS, 0);
    reply(f, 3, SETTLED + 1, now, now + 500 * MS, 0);
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 5); /* until the interval ends */
    tick(f, now + RZ_SECOND);
    assert_null(doubt_of(f));
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 3);
    assert_non_null(find(f, RZ_ACTION_SEND, RZ_DIAGNOSE_EVENTS));
    release(f);
    f = make_healthy(2);
    now = 0;
    good(f, &now, SETTLED);
    deaf(f, &now, 2);
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 1);
    release(f);
}

static void a_doubted_test_ends_no_run_of_good_ones(void **state)
{
    (void)state;
    struct fixture *f = make_healthy(5);
    const uint64_t out[] = {RZ_DIAGNOSE_ITEM(4, 1)};
    rz_time now = 0;
    good(f, &now, SETTLED);
    test(f, 1, out, 1);
    good(f, &now, 3);
    assert_int_equal(rz_diagnose_okrun(f->diagnose, 4), 3);
    deaf(f, &now, 1);
    good(f, &now, 1);
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 4);
    assert_int_equal(rz_diagnose_okrun(f->diagnose, 4), 4);
    interval(f, &now, 4); /* a failure of 4 alone does */
    tick(f, now);
    assert_int_equal(rz_diagnose_okrun(f->diagnose, 4), 0);
    release(f);
}

static void a_failure_told_is_beyond_doubt(void **state)
{
    (void)state;
    static const rz_id failed[] = {2, 3};
    struct fixture *f = make_healthy(5);
    rz_time now = 0;
    good(f, &now, SETTLED);
    deaf(f, &now, 1);
    crash(f, failed, 2);
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 3);
    tick(f, now);
    assert_int_equal(doubt_of(f)->arg[1], 2); /* the failed processes were not tested */
    assert_int_equal(rz_diagnose_group_size(f->diagnose), 3);
    release(f);
}

/* Two failed among three whose tests take longer than an interval, first by 8 s, then by what the
 * third one takes: members that answer in each interval do not reset the tester's health
 * repeatedly. */
static void long_tests_do_not_put_doubts_off_for_ever(void **state)
{
    (void)state;
    struct fixture *f = make_healthy(4);
    rz_time now = 0;
    uint32_t intervals = 0;
    while (rz_diagnose_group_size(f->diagnose) > 2 && intervals < 100) {
        tick(f, now);
        reply(f, 3, rz_diagnose_interval(f->diagnose), now, now + 900 * MS, 0);
        assert_true(rz_diagnose_threshold(f->diagnose, 3) > 2 * RZ_SECOND);
        now += RZ_SECOND;
        intervals++;
    }
    assert_true(rz_diagnose_has(f->diagnose, 3));
    assert_false(rz_diagnose_has(f->diagnose, 1) || rz_diagnose_has(f->diagnose, 2));
    assert_in_range(intervals, 1 + 8 + HEALTH_MAX * 2, 1 + (HEALTH_MAX + 1) * 8);
    release(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_that_finds_all_slow_doubts_itself),
        cmocka_unit_test(the_last_one_finds_that_all_others_are_gone),
        cmocka_unit_test(half_of_them_or_a_single_one_is_no_doubt),
        cmocka_unit_test(a_doubted_test_ends_no_run_of_good_ones),
        cmocka_unit_test(a_failure_told_is_beyond_doubt),
        cmocka_unit_test(long_tests_do_not_put_doubts_off_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
