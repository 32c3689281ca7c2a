/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of another host by this host's clock. */
#include "launch/clock_offset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_without_an_exchange_times_stay(void **state)
{
    const struct rz_clock_offset offset = {0};
    (void)state;
    assert_int_equal(rz_clock_offset_here(&offset, 77), 77);
    assert_int_equal(rz_clock_offset_here(&offset, 0), 0);
}

static void test_the_answer_is_in_the_middle(void **state)
{
    struct rz_clock_offset ahead = {0}, behind = {0};
    (void)state;
    rz_clock_offset_take(&ahead, 1000, 501500, 2000); /* 1500 here is 501500 there */
    assert_int_equal(ahead.ahead, 500000);
    assert_int_equal(rz_clock_offset_here(&ahead, 501500), 1500);
    rz_clock_offset_take(&behind, 501000, 1500, 502000);
    assert_int_equal(behind.ahead, -500000);
    assert_int_equal(rz_clock_offset_here(&behind, 1500), 501500);
    assert_int_equal(rz_clock_offset_here(&behind, 0), 0);
}

static void test_the_shortest_round_trip_counts(void **state)
{
    struct rz_clock_offset offset = {0};
    (void)state;
    rz_clock_offset_take(&offset, 1000, 5000, 1400);
    rz_clock_offset_take(&offset, 2000, 90000, 2900);
    assert_int_equal(offset.ahead, 3800);
    rz_clock_offset_take(&offset, 3000, 7010, 3020);
    assert_int_equal(offset.ahead, 4000);
}

static void test_for_a_minute(void **state)
{
    struct rz_clock_offset offset = {0};
    rz_time later = 61 * RZ_SECOND;
    (void)state;
    rz_clock_offset_take(&offset, 1000, 5000, 1010);
    rz_clock_offset_take(&offset, later, later + 5000, later + 800);
    assert_int_equal(offset.ahead, 4600);
    rz_clock_offset_take(&offset, later, later + 9000, later - 1); /* no time passes backwards */
    assert_int_equal(offset.ahead, 4600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_an_exchange_times_stay),
        cmocka_unit_test(test_the_answer_is_in_the_middle),
        cmocka_unit_test(test_the_shortest_round_trip_counts),
        cmocka_unit_test(test_for_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
