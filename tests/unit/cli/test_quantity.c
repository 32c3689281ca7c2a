#include "cli/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static void test_durations(void **state)
{
    static const struct {
        const char *text;
        rz_time ns;
    } good[] = {{"900ms", 900 * RZ_MILLISECOND}, {"2s", 2 * RZ_SECOND},  {"0.5s", RZ_SECOND / 2},
                {"10us", 10 * RZ_MICROSECOND},   {"1m", 60 * RZ_SECOND}, {"1h", 3600 * RZ_SECOND}};
    static const char *const bad[] = {"", "s", "2", "2 s", "-1s", "2sec", "1e30h", "nan", "0x2s1"};
    rz_time ns;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(rz_quantity_duration(good[i].text, &ns));
        assert_int_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (rz_quantity_duration(bad[i], &ns))
            fail_msg("'%s' was taken for a duration", bad[i]);
}

static void test_numbers(void **state)
{
    uint64_t value;
    (void)state;
    assert_true(rz_quantity_number("7", 1, 9, &value) && value == 7);
    assert_true(rz_quantity_number("18446744073709551615", 0, UINT64_MAX, &value) &&
                value == UINT64_MAX);
    assert_false(rz_quantity_number("0", 1, 9, &value));
    assert_false(rz_quantity_number("10", 1, 9, &value));
    assert_false(rz_quantity_number("18446744073709551616", 0, UINT64_MAX, &value));
    assert_false(rz_quantity_number("-1", 0, 9, &value));
    assert_false(rz_quantity_number("7x", 0, 9, &value));
    assert_false(rz_quantity_number("", 0, 9, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_durations),
                                       cmocka_unit_test(test_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
