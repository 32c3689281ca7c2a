/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers with units on command lines: durations, counts, powers, shares and sizes. */
#include "cli/cli.h"
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
    } good[] = {{"900ms", 900 * RZ_MILLISECOND}, {"2s", 2 * RZ_SECOND},
                {"0.5s", RZ_SECOND / 2},         {"10us", 10 * RZ_MICROSECOND},
                {"1m", 60 * RZ_SECOND},          {"1h", 3600 * RZ_SECOND},
                {"1h30m", 5400 * RZ_SECOND},     {"1m0.5s", 60 * RZ_SECOND + RZ_SECOND / 2}};
    static const char *const bad[] = {"",    "s",     "2",     "2 s",  "-1s",  "2sec", "1e30h",
                                      "nan", "0x2s1", "30m1h", "1m1m", "1h30", "1h-1m"};
    rz_time ns;
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_true(rz_quantity_duration(good[i].text, &ns));
        assert_int_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (rz_quantity_duration(bad[i], &ns)) {
            fail_msg("'%s' was taken for a duration", bad[i]);
        }
    }
    assert_true(rz_quantity_seconds("90", &ns) && ns == 90 * RZ_SECOND);
    assert_true(rz_quantity_seconds("1m30s", &ns) && ns == 90 * RZ_SECOND);
    assert_false(rz_quantity_seconds("1.5", &ns));
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

static void test_powers(void **state)
{
    static const char *const bad[] = {"", "^", "2^", "^2", "2^64", "2^-1", "0^3", "2^3^4", "3^41"};
    uint64_t value;
    (void)state;
    assert_true(rz_quantity_power("2^20", 1, UINT64_MAX, &value) && value == 1048576);
    assert_true(rz_quantity_power("10^3", 1, 1000, &value) && value == 1000);
    assert_true(rz_quantity_power("5^0", 1, 1000, &value) && value == 1);
    assert_true(rz_quantity_power("4096", 1, 4096, &value) && value == 4096);
    assert_false(rz_quantity_power("2^4", 1, 15, &value));
    assert_false(rz_quantity_power("2^1", 3, 15, &value));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (rz_quantity_power(bad[i], 0, UINT64_MAX, &value)) {
            fail_msg("'%s' was taken for a number", bad[i]);
        }
    }
}

static void test_shares(void **state)
{
    static const char *const bad[] = {"", "%", "101%", "1.1", "-1%", "nan", "1 %", "5%%", "0x1"};
    double value;
    (void)state;
    assert_true(rz_quantity_share("0.1%", &value) && value == 0.1 / 100);
    assert_true(rz_quantity_share("0.25", &value) && value == 0.25);
    assert_true(rz_quantity_share("100%", &value) && value == 1);
    assert_true(rz_quantity_share("1e-3", &value) && value == 0.001);
    assert_true(rz_quantity_share("0", &value) && value == 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (rz_quantity_share(bad[i], &value)) {
            fail_msg("'%s' was taken for a share", bad[i]);
        }
    }
}

static void test_sizes(void **state)
{
    static const char *const bad[] = {"",       "KiB", "1kiB", "1 KiB",       "1K",
                                      "1.5MiB", "-1",  "0x1",  "16777216GiB", "17179869184GiB"};
    uint64_t value;
    (void)state;
    assert_true(rz_quantity_bytes("4096", 1, 4096, &value) && value == 4096);
    assert_true(rz_quantity_bytes("4KiB", 4096, 4096, &value) && value == 4096);
    assert_true(rz_quantity_bytes("3MiB", 0, UINT64_MAX, &value) && value == 3u << 20);
    assert_true(rz_quantity_bytes("2GiB", 0, UINT64_MAX, &value) && value == UINT64_C(2) << 30);
    assert_false(rz_quantity_bytes("4KiB", 4097, 8192, &value));
    assert_false(rz_quantity_bytes("4KiB", 0, 4095, &value));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (rz_quantity_bytes(bad[i], 0, UINT64_C(1) << 40, &value)) {
            fail_msg("'%s' was taken for a size", bad[i]);
        }
    }
}

static void test_nearest(void **state)
{
    static const char *const names[] = {"gossip1", "gossip2", "gossip3", "ring", "agree", NULL};
    (void)state;
    assert_string_equal(rz_cli_nearest("gosip3", names), "gossip3");
    assert_string_equal(rz_cli_nearest("rign", names), "ring");
    assert_string_equal(rz_cli_nearest("agre", names), "agree");
    assert_null(rz_cli_nearest("paxos", names));
    assert_null(rz_cli_nearest("", names));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_powers),    cmocka_unit_test(test_shares),
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_nearest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
