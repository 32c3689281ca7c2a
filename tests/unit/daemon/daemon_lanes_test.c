/* SPDX-License-Identifier: BSD-3-Clause */
/* The book of lanes: which process each serves, and when it may serve another. */
#include "daemon/process/lanes.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LANES = 130 }; /* more than two words of bits */

static struct rz_lanes *lanes;

static int setup(void **state)
{
    (void)state;
    return rz_lanes_open(&lanes, LANES) == RZ_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    rz_lanes_close(lanes);
    return 0;
}

static uint32_t take(uint32_t rank, uint32_t incarnation)
{
    uint32_t lane = LANES;
    assert_true(rz_lanes_take(lanes, rank, incarnation, &lane));
    return lane;
}

/* Its owner is reaped; those with the lanes in `others` live. */
static void over(uint32_t lane, const uint32_t *others, unsigned n)
{
    uint32_t next = 0, rank, incarnation;
    rz_lanes_ended(lanes, lane, 0);
    assert_true(rz_lanes_next_over(lanes, &next, &rank, &incarnation));
    assert_int_equal(next, lane);
    for (unsigned i = 0; i < n; i++) {
        rz_lanes_ask(lanes, lane, others[i]);
    }
    rz_lanes_asked(lanes, lane);
}

static void a_lane_waits_for_all_that_lived(void **state)
{
    (void)state;
    uint32_t a = take(0, 1), b = take(1, 1), c = take(2, 1);
    assert_int_equal(a, 0);
    assert_int_equal(c, 2);
    over(b, (uint32_t[]){a, c}, 2);
    assert_int_equal(take(1, 2), 3);
    assert_true(rz_lanes_closed(lanes, b, 1, 1, a));
    assert_false(rz_lanes_closed(lanes, b, 1, 1, a)); /* once each */
    assert_int_equal(take(7, 1), 4);
    assert_true(rz_lanes_closed(lanes, b, 1, 1, c));
    assert_int_equal(take(8, 1), b);
}

static void a_process_that_leaves_or_ends_is_not_waited_for(void **state)
{
    (void)state;
    uint32_t a = take(0, 1), b = take(1, 1), c = take(2, 1);
    over(b, (uint32_t[]){a, c}, 2);
    rz_lanes_left(lanes, a);
    over(c, (uint32_t[]){a}, 1);
    rz_lanes_left(lanes, c);
    assert_int_equal(take(3, 1), b);
    rz_lanes_left(lanes, a);
    assert_int_equal(take(4, 1), c);
    over(a, NULL, 0);
    assert_int_equal(take(5, 1), a); /* there was no process to ask */
}

static void answers_that_fit_nothing_are_refused(void **state)
{
    (void)state;
    uint32_t a = take(0, 1), b = take(1, 1), c = take(2, 1);
    assert_false(rz_lanes_closed(lanes, b, 1, 1, a)); /* in use */
    over(b, (uint32_t[]){a}, 1);
    assert_false(rz_lanes_closed(lanes, b, 1, 1, c));
    assert_false(rz_lanes_closed(lanes, b, 1, 2, a));
    assert_false(rz_lanes_closed(lanes, b, 2, 1, a));
    assert_false(rz_lanes_closed(lanes, LANES, 1, 1, a));
    assert_true(rz_lanes_closed(lanes, b, 1, 1, a));
    assert_false(rz_lanes_closed(lanes, b, 1, 1, a)); /* free */
}

/* A lane with outstanding questions to the former owner of a lane that belongs to another by
 * now. */
static void a_later_owner_is_not_taken_for_the_one_that_was_asked(void **state)
{
    (void)state;
    uint32_t a = take(0, 1), b = take(1, 1), c = take(2, 1);
    over(a, (uint32_t[]){b, c}, 2);
    rz_lanes_left(lanes, b);
    over(b, (uint32_t[]){c}, 1);
    assert_true(rz_lanes_closed(lanes, b, 1, 1, c));
    assert_int_equal(take(9, 1), b);
    assert_false(rz_lanes_closed(lanes, a, 0, 1, b));
    assert_int_equal(take(9, 2), 3);
    assert_true(rz_lanes_closed(lanes, a, 0, 1, c));
    assert_int_equal(take(9, 3), a);
}

static void a_writer_that_still_runs_keeps_the_lane(void **state)
{
    (void)state;
    uint32_t a = take(0, 1), b = take(1, 1), next = 0, rank, incarnation;
    pid_t child = fork();
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    rz_lanes_ended(lanes, a, child);
    rz_lanes_ended(lanes, b, -1);
    assert_false(rz_lanes_next_over(lanes, &next, &rank, &incarnation));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    next = 0;
    assert_true(rz_lanes_next_over(lanes, &next, &rank, &incarnation));
    assert_int_equal(next, a);
    rz_lanes_asked(lanes, a);
    next = 0;
    assert_false(rz_lanes_next_over(lanes, &next, &rank, &incarnation));
    assert_int_equal(take(5, 1), a);
}

static void all_lanes_can_be_taken_and_then_none(void **state)
{
    (void)state;
    uint32_t lane, others[LANES];
    for (uint32_t i = 0; i < LANES; i++) {
        others[i] = take(i, 1);
    }
    assert_false(rz_lanes_take(lanes, 1, 2, &lane));
    over(129, others, LANES - 1);
    for (uint32_t i = 0; i < LANES - 1; i++) {
        assert_false(rz_lanes_take(lanes, 1, 2, &lane));
        assert_true(rz_lanes_closed(lanes, 129, 129, 1, i));
    }
    assert_int_equal(take(1, 2), 129);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lane_waits_for_all_that_lived, setup, teardown),
        cmocka_unit_test_setup_teardown(a_process_that_leaves_or_ends_is_not_waited_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(answers_that_fit_nothing_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_later_owner_is_not_taken_for_the_one_that_was_asked,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_writer_that_still_runs_keeps_the_lane, setup, teardown),
        cmocka_unit_test_setup_teardown(all_lanes_can_be_taken_and_then_none, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
