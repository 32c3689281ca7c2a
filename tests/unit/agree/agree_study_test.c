/* SPDX-License-Identifier: BSD-3-Clause */
/* The studies of agreement: counts that are exact, failures that all members survive, and costs
 * that do not grow with the ranks. */
#include "study/study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static struct rz_study_options options_of(const char *name)
{
    struct rz_study_options options;
    const struct rz_study *study = rz_study_find(name);
    assert_non_null(study);
    rz_study_defaults(&options);
    study->defaults(&options);
    return options;
}

static struct rz_table *run(const char *name, const struct rz_study_options *options)
{
    const char *why = NULL;
    struct rz_table *table = rz_table_create(name);
    if (!rz_study_find(name)->run(options, table, NULL, &why)) {
        fail_msg("%s: %s", name, why);
    }
    assert_int_equal(rz_table_rows(table), options->trials);
    for (uint32_t i = 0; i < options->trials; i++) {
        assert_true(rz_table_at(table, i, "undecided") == 0);
        assert_true(rz_table_at(table, i, "disagreeing") == 0);
    }
    return table;
}

static double number(const char *name, const struct rz_study_options *options, const char *column)
{
    struct rz_table *table = run(name, options);
    double value = rz_table_at(table, 0, column);
    rz_table_destroy(table);
    return value;
}

static void without_failures_exactly_two_messages_per_edge(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 2, 3, 17, 100, 1000, 16384};
    struct rz_study_options options = options_of("agree");
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        double formula = 2 * (double)(sizes[i] - 1);
        options.members = sizes[i];
        for (uint32_t tree = RZ_STUDY_TREE_BINARY; tree <= RZ_STUDY_TREE_BIN_BIN; tree++) {
            options.tree = (enum rz_study_tree)tree;
            options.operations = 1 + i % 3;
            assert_true(number("agree", &options, "messages") == formula * options.operations);
        }
        options.operations = 1;
        assert_true(number("twophase", &options, "messages") == formula);
        assert_true(number("shrink", &options, "messages") == 4 * formula);
    }
}

/* What 64 times as many ranks cost each of them: nothing but the width of the queue. */
static void memory_per_rank_does_not_grow(void **state)
{
    (void)state;
    struct rz_study_options few = options_of("agree"), many = few;
    few.members = 1 << 12;
    many.members = 1 << 18;
    double of_few = number("agree", &few, "bytes_member");
    double of_many = number("agree", &many, "bytes_member");
    assert_true(of_many < 1.1 * of_few);
}

/* The path up and down grows by the same for each doubling. */
static void time_grows_with_the_logarithm(void **state)
{
    (void)state;
    struct rz_study_options options = options_of("agree");
    double at[3];
    for (uint32_t i = 0; i < 3; i++) {
        options.members = UINT64_C(1) << (8 + 4 * i);
        at[i] = number("agree", &options, "decided_ms");
    }
    double first = at[1] - at[0], second = at[2] - at[1];
    assert_true(fabs(first - second) < 0.25 * first);
}

static void every_living_rank_agrees_despite_any_failure(void **state)
{
    (void)state;
    static const char *const studies[] = {"agree", "twophase", "twophase-scans", "shrink",
                                          "shrink-twophase"};
    for (uint32_t i = 0; i < sizeof(studies) / sizeof(*studies); i++) {
        struct rz_study_options options = options_of(studies[i]);
        options.members = 200;
        options.trials = 20;
        options.detector_lag = 100 * RZ_MICROSECOND;
        for (uint32_t kind = 0; kind < 4; kind++) {
            options.victims = (enum rz_study_victims)kind;
            options.kill = 1 + 11 * (kind % 3);
            options.kill_during = kind % 2;
            options.operations = 1 + kind;
            options.tree = (enum rz_study_tree)(kind % 3);
            rz_table_destroy(run(studies[i], &options));
        }
    }
    struct rz_study_options rounds = options_of("rounds");
    rounds.trials = 50;
    rounds.kill = 4;
    rounds.detector_lag = 50 * RZ_MICROSECOND;
    rz_table_destroy(run("rounds", &rounds));
}

/* The root fails at every microsecond of an operation of thousands. */
static void the_root_may_fail_at_any_time(void **state)
{
    (void)state;
    struct rz_study_options options = options_of("agree");
    options.members = 2048;
    options.victims = RZ_STUDY_VICTIMS_FIRST;
    options.kill = 1;
    options.detector_lag = 5 * RZ_MICROSECOND;
    for (options.kill_at = 0; options.kill_at < 50 * RZ_MICROSECOND;
         options.kill_at += RZ_MICROSECOND) {
        rz_table_destroy(run("agree", &options));
    }
}

/* Four agreements, and one more for failures that are new. */
static void a_shrink_is_so_many_agreements(void **state)
{
    (void)state;
    struct rz_study_options options = options_of("shrink");
    options.members = 256;
    assert_true(number("shrink", &options, "operations") == 4);
    options.kill = 32;
    options.victims = RZ_STUDY_VICTIMS_RACK;
    assert_true(number("shrink", &options, "operations") == 5);
}

static void an_empty_group_is_refused(void **state)
{
    (void)state;
    const char *why = NULL;
    struct rz_study_options options = options_of("agree");
    struct rz_table *table = rz_table_create("refused");
    options.kill = (uint32_t)options.members;
    assert_false(rz_study_find("agree")->run(&options, table, NULL, &why));
    assert_non_null(why);
    rz_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_failures_exactly_two_messages_per_edge),
        cmocka_unit_test(memory_per_rank_does_not_grow),
        cmocka_unit_test(time_grows_with_the_logarithm),
        cmocka_unit_test(every_living_rank_agrees_despite_any_failure),
        cmocka_unit_test(the_root_may_fail_at_any_time),
        cmocka_unit_test(a_shrink_is_so_many_agreements),
        cmocka_unit_test(an_empty_group_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
