/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of SWIM: logarithms against the mathematics library, the parameters' formulas, the
 * order of probing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/swim/swim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ONE 4294967296.0L /* 2^32 */

static void logarithms_are_as_exact_as_they_say(void **state)
{
    (void)state;
    for (uint64_t x = 1; x < UINT64_C(1) << 40; x += 1 + x / 97) {
        long double log2_error = log2l((long double)x) * ONE - (long double)rz_swim_log2(x);
        long double log10_error = log10l((long double)x) * ONE - (long double)rz_swim_log10(x);
        assert_true(log2_error > -1e-6L && log2_error < 2);
        assert_true(log10_error > -1e-6L && log10_error < 2);
    }
    assert_true(rz_swim_log2(UINT64_C(1) << 63) == UINT64_C(63) << 32);
}

static void ceiling_of_the_decimal_logarithm_is_exact(void **state)
{
    (void)state;
    uint64_t power = 1;
    for (uint32_t digits = 0; digits < 19; digits++, power *= 10) {
        assert_int_equal(rz_swim_ceil_log10(power), digits);
        assert_int_equal(rz_swim_ceil_log10(power + 1), digits + 1);
        if (digits > 0) {
            assert_int_equal(rz_swim_ceil_log10(power - 1), digits == 1 ? 1 : digits);
        }
    }
}

static struct rz_swim *member_of(const struct rz_swim_config *config)
{
    struct rz_swim *swim = malloc(rz_swim_size(config));
    rz_swim_init(swim, config, 0, 0, 1);
    return swim;
}

/* memberlist's formulas, LAN: seconds to two digits, and transmissions. */
static void parameters_of_lan_are_as_the_formulas_give_them(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        double least, most;
        uint32_t limit;
    } rows[] = {{64, 7.22, 43.35, 8},
                {256, 9.63, 57.80, 12},
                {1024, 12.04, 72.25, 16},
                {4096, 14.45, 86.70, 16},
                {10000, 16.00, 96.00, 20}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rz_swim_config config = rz_swim_config_of(RZ_SWIM_LAN, rows[i].n);
        struct rz_swim *swim = member_of(&config);
        assert_int_equal(rz_swim_limit(swim), rows[i].limit);
        assert_true(fabs((double)rz_swim_patience(swim, 3) / 1e9 - rows[i].least) < 0.01);
        assert_true(fabs((double)rz_swim_patience(swim, 1) / 1e9 - rows[i].most) < 0.01);
        double middle = rows[i].most - (rows[i].most - rows[i].least) * log(2) / log(3);
        assert_true(fabs((double)rz_swim_patience(swim, 2) / 1e9 - middle) < 0.01);
        free(swim);
    }
}

static void small_groups_do_not_wait_for_confirmations(void **state)
{
    (void)state;
    struct rz_swim_config config = rz_swim_config_of(RZ_SWIM_LAN, 3);
    struct rz_swim *swim = member_of(&config);
    assert_true(rz_swim_patience(swim, 1) == 4 * RZ_SECOND);
    free(swim);
    config = rz_swim_config_of(RZ_SWIM_LAN, 4);
    swim = member_of(&config);
    assert_true(rz_swim_patience(swim, 1) == 24 * RZ_SECOND);
    free(swim);
}

static void order_is_a_permutation(void **state)
{
    (void)state;
    static bool seen[5000];
    for (uint32_t n = 1; n <= 5000; n += n < 70 ? 1 : 411) {
        for (uint64_t key = 0; key < 5; key++) {
            memset(seen, 0, sizeof(seen));
            for (uint32_t i = 0; i < n; i++) {
                uint32_t at = rz_swim_order(key * UINT64_C(0x9E3779B97F4A7C15), n, i);
                assert_true(at < n && !seen[at]);
                seen[at] = true;
            }
        }
    }
}

/* Over many keys each member comes at each place equally often, within five standard deviations. */
static void order_is_even(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 5, 8, 13};
    enum { KEYS = 20000 };
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        uint32_t n = sizes[s], counts[13][13] = {{0}};
        for (uint32_t key = 0; key < KEYS; key++) {
            for (uint32_t i = 0; i < n; i++) {
                counts[i][rz_swim_order(key * UINT64_C(0xD1342543DE82EF95) + 1, n, i)]++;
            }
        }
        double mean = (double)KEYS / n, deviation = sqrt(mean * (1 - 1.0 / n));
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t k = 0; k < n; k++) {
                if (fabs(counts[i][k] - mean) > 5 * deviation) {
                    fail_msg("of %u members, %u comes at place %u %u times, not about %g", n, k, i,
                             counts[i][k], mean);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms_are_as_exact_as_they_say),
        cmocka_unit_test(ceiling_of_the_decimal_logarithm_is_exact),
        cmocka_unit_test(parameters_of_lan_are_as_the_formulas_give_them),
        cmocka_unit_test(small_groups_do_not_wait_for_confirmations),
        cmocka_unit_test(order_is_a_permutation),
        cmocka_unit_test(order_is_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
