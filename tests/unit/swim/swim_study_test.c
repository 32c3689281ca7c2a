/* SPDX-License-Identifier: BSD-3-Clause */
/* What SWIM does at scale is what its paper's formulas say: the study against them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "study/compare.h"
#include "study/study.h"

#include <math.h>
#include <string.h>

static struct rz_table *study(const struct rz_study_options *options)
{
    const char *why = NULL;
    struct rz_table *table = rz_table_create("");
    struct rz_chart *chart = rz_chart_create("", "", "");
    if (!rz_study_find("swim")->run(options, table, chart, &why)) {
        fail_msg("%s", why);
    }
    rz_chart_destroy(chart);
    return table;
}

static struct rz_study_options options_of(uint64_t members, uint32_t trials)
{
    struct rz_study_options options;
    rz_study_defaults(&options);
    options.members = members;
    options.trials = trials;
    return options;
}

/* Each other member probes the failed one once in n-1 periods: probes come at a rate of one per
 * period, so that the first one begins in period 1, 2, ... with mean 1/(1 - 1/e) = 1.58, after one
 * period on average; its failure is known a period later. */
static void first_suspicion_comes_when_the_formula_says(void **state)
{
    (void)state;
    struct rz_study_options options = options_of(256, 400);
    struct rz_table *table = study(&options);
    double found = rz_table_spread(table, "detect_first_periods").mean;
    double period = rz_table_spread(table, "detect_round").mean;
    rz_table_destroy(table);
    assert_true(fabs(found - 2) < 4 / sqrt(400));
    assert_true(fabs(period - 1.58) < 4 * 0.96 / sqrt(400));
}

/* A ping fails where one of two messages is lost, and of each helper one of four. */
static void false_suspicions_are_as_many_as_the_formula_says(void **state)
{
    (void)state;
    static const double losses[] = {0.05, 0.1, 0.2};
    for (size_t i = 0; i < 3; i++) {
        struct rz_study_options options = options_of(128, 10);
        options.kill = 0;
        options.loss = losses[i];
        options.until = 60 * options.cycle;
        struct rz_table *table = study(&options);
        double all = rz_table_spread(table, "false_suspicions").mean * 10;
        rz_table_destroy(table);
        double p = 1 - losses[i];
        double expected = 10 * 128 * 60 * (1 - p * p) * pow(1 - p * p * p * p, 3);
        /* Suspects are no helpers, and what is under way at the end is not counted: some less. */
        if (fabs(all - expected) > 4 * sqrt(expected) + 0.06 * expected) {
            fail_msg("%g false suspicions where %g are expected", all, expected);
        }
    }
}

static void lifeguard_reports_fewer_where_members_are_slow(void **state)
{
    (void)state;
    struct rz_study_options options = options_of(128, 4);
    options.kill = 0;
    options.slow = 8;
    options.slow_by = 5 * options.cycle / 2;
    options.until = 60 * options.cycle;
    struct rz_table *table = study(&options);
    double without = rz_table_spread(table, "false_suspicions").mean;
    rz_table_destroy(table);
    options.lifeguard = true;
    table = study(&options);
    double with = rz_table_spread(table, "false_suspicions").mean;
    rz_table_destroy(table);
    assert_true(with < without / 2);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    const char *why = NULL;
    struct rz_study_options options = options_of(1, 1);
    struct rz_table *table = rz_table_create("");
    assert_false(rz_study_find("swim")->run(&options, table, NULL, &why));
    assert_non_null(why);
    options = options_of(16, 1);
    options.profile = "moon";
    why = NULL;
    assert_false(rz_study_find("swim")->run(&options, table, NULL, &why));
    assert_non_null(why);
    rz_table_destroy(table);
}

static void comparison_has_a_row_for_each_detector(void **state)
{
    (void)state;
    const char *why = NULL;
    struct rz_study_options options = options_of(64, 1);
    struct rz_table *table = rz_table_create("");
    struct rz_chart *chart = rz_chart_create("", "", "");
    assert_false(rz_compare(&options, 8, table, chart, &why));
    assert_non_null(why);
    assert_true(rz_compare(&options, 16, table, chart, &why));
    static const char *const names[] = {"ring and broadcast", "SWIM",     "SWIM with Lifeguard",
                                        "gossip 1",           "gossip 2", "gossip 3"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        uint32_t failures = 0;
        for (uint32_t row = 0; row < rz_table_rows(table); row++) {
            if (strcmp(rz_table_text_at(table, row, "protocol"), names[i]) == 0 &&
                strcmp(rz_table_text_at(table, row, "case"), "one failure") == 0) {
                failures++;
                double found = rz_table_at(table, row, "detect_periods");
                double known = rz_table_at(table, row, "known_periods");
                const char *note = rz_table_text_at(table, row, "note");
                assert_true((found > 0 && known >= found && known < 60) || note[0] != 0);
            }
        }
        assert_int_equal(failures, 1);
    }
    rz_chart_destroy(chart);
    rz_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_suspicion_comes_when_the_formula_says),
        cmocka_unit_test(false_suspicions_are_as_many_as_the_formula_says),
        cmocka_unit_test(lifeguard_reports_fewer_where_members_are_slow),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(comparison_has_a_row_for_each_detector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
