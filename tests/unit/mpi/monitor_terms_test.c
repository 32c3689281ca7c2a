/* SPDX-License-Identifier: BSD-3-Clause */
/* What a group monitor takes from info, and what it says of the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mpi/monitor/monitor_terms.h"

/* Pairs of key and value, up to NULL. */
static int read_terms(const char *const *pairs, struct rz_monitor_terms *terms)
{
    struct rz_info *info;
    assert_int_equal(rzm_info_create(&info), MPI_SUCCESS);
    for (; *pairs; pairs += 2) {
        assert_int_equal(rzm_info_set(info, pairs[0], pairs[1]), MPI_SUCCESS);
    }
    int error = rz_monitor_terms_read(info, terms);
    rzm_info_free(info);
    return error;
}

static void without_info_all_is_as_documented(void **state)
{
    (void)state;
    struct rz_monitor_terms terms;
    assert_int_equal(rz_monitor_terms_read(NULL, &terms), MPI_SUCCESS);
    assert_true(terms.tests.interval == RZ_SECOND && terms.tests.zeta == 5);
    assert_true(terms.tests.mode == RZ_DIAGNOSE_MULTIPLY && terms.tests.factor == 2500);
    assert_true(terms.tests.threshold_first == 8 * RZ_SECOND);
    assert_true(terms.tests.threshold_min == 20 * RZ_MILLISECOND);
    assert_true(terms.tests.assignment == RZ_DIAGNOSE_FULL && terms.tests.health_max == 3);
    assert_string_equal(terms.name, "default");
}

static void all_keys_are_taken(void **state)
{
    (void)state;
    struct rz_monitor_terms terms;
    const char *const pairs[] = {"interval",
                                 "50ms",
                                 "zeta",
                                 "7",
                                 "factor",
                                 "2.5ms",
                                 "threshold",
                                 "add",
                                 "first_threshold",
                                 "1.5s",
                                 "assignment",
                                 "cube",
                                 "least_threshold",
                                 "100us",
                                 "local_health",
                                 "0",
                                 "name",
                                 "night",
                                 "unknown",
                                 "x",
                                 NULL};
    assert_int_equal(read_terms(pairs, &terms), MPI_SUCCESS);
    assert_true(terms.tests.interval == 50 * RZ_MILLISECOND && terms.tests.zeta == 7);
    assert_true(terms.tests.mode == RZ_DIAGNOSE_ADD);
    assert_true(terms.tests.factor == 5 * RZ_MILLISECOND / 2);
    assert_true(terms.tests.threshold_first == 3 * RZ_SECOND / 2);
    assert_true(terms.tests.threshold_min == 100 * 1000);
    assert_true(terms.tests.assignment == RZ_DIAGNOSE_CUBE && terms.tests.health_max == 0);
    assert_string_equal(terms.name, "night");
}

static void a_factor_is_per_mille(void **state)
{
    (void)state;
    struct rz_monitor_terms terms;
    assert_int_equal(read_terms((const char *const[]){"factor", "1.2345", NULL}, &terms),
                     MPI_SUCCESS);
    assert_true(terms.tests.factor == 1235);
}

/* Each value that cannot be is named with its key, and the terms stay as they were. */
static void wrong_values_are_named(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"interval", "1"},         {"interval", "0.5ms"}, {"interval", "3601s"},
        {"interval", "1s "},       {"zeta", "0"},         {"zeta", "1e99"},
        {"threshold", "Multiply"}, {"factor", "0.99"},    {"factor", "101"},
        {"factor", "inf"},         {"name", "a/b"},       {"first_threshold", "8"},
        {"least_threshold", "ms"}, {"assignment", "all"}, {"local_health", "101"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct rz_monitor_terms terms = {.tests.zeta = 99};
        const char *const pairs[] = {wrong[i][0], wrong[i][1], NULL};
        assert_int_equal(read_terms(pairs, &terms), MPI_ERR_INFO_VALUE);
        const char *reason = rzm_error_reason(MPI_ERR_INFO_VALUE);
        assert_non_null(reason);
        assert_non_null(strstr(reason, wrong[i][0]));
        assert_non_null(strstr(reason, wrong[i][1]));
        assert_int_equal(terms.tests.zeta, 99);
    }
}

static void other_terms_have_other_numbers(void **state)
{
    (void)state;
    static const char *const other[][2] = {
        {"interval", "2s"},        {"zeta", "6"},
        {"threshold", "add"},      {"factor", "3"},
        {"first_threshold", "9s"}, {"least_threshold", "1s"},
        {"assignment", "cube"},    {"local_health", "4"},
        {"name", "other"},
    };
    struct rz_monitor_terms terms;
    rz_monitor_terms_read(NULL, &terms);
    uint64_t number = rz_monitor_terms_number(&terms);
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        const char *const pairs[] = {other[i][0], other[i][1], NULL};
        assert_int_equal(read_terms(pairs, &terms), MPI_SUCCESS);
        assert_true(rz_monitor_terms_number(&terms) != number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_info_all_is_as_documented),
        cmocka_unit_test(all_keys_are_taken),
        cmocka_unit_test(a_factor_is_per_mille),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(other_terms_have_other_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
