/* SPDX-License-Identifier: BSD-3-Clause */
/* Gossip under schedules: failures before and during the run, lost messages, a small world whole,
 * and mutants. */
#include "schedules.h"

static void run(const char *name, uint32_t members, uint32_t crashes, uint64_t seeds)
{
    schedules_run("gossip", name, members, crashes, seeds);
}

static void matrix_finds_all_the_failed(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 5, 12, 33};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        run("matrix", sizes[i], sizes[i] / 2, sizes[i] < 32 ? 100 : 4);
        run("matrix-during", sizes[i], sizes[i] / 2, sizes[i] < 32 ? 60 : 4);
    }
}

static void list_finds_all_that_failed_before(void **state)
{
    (void)state;
    run("list", 5, 2, 120);
    run("list", 12, 4, 120);
    run("list", 64, 4, 5);
}

static void sum_finds_all_the_failed(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 5, 12, 40};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        run("sum", sizes[i], sizes[i] / 2, sizes[i] < 32 ? 70 : 2);
        run("sum-during", sizes[i], sizes[i] / 2, sizes[i] < 32 ? 60 : 2);
        run("sum-before", sizes[i], sizes[i] / 2, sizes[i] < 32 ? 70 : 2);
    }
}

static void a_detector_may_take_the_place_of_silence(void **state)
{
    (void)state;
    run("matrix-told", 0, UINT32_MAX, 100);
    run("list-told", 0, UINT32_MAX, 100);
    run("sum-told", 0, UINT32_MAX, 100);
    run("sum-before-told", 0, UINT32_MAX, 100);
    run("sum-lossy", 0, UINT32_MAX, 100);
    run("sum-deaf", 0, UINT32_MAX, 100);
}

static void a_small_world_is_explored_whole(void **state)
{
    (void)state;
    struct rz_sim_options options = schedules_of("gossip", "tiny-sum", 0, UINT32_MAX);
    assert_true(schedules_explore(&options).states > 1000);
}

static void mutants_are_caught(void **state)
{
    (void)state;
    static const char *const names[] = {
        "mutant-naive",      "mutant-naive-before",     "mutant-no-indirect",
        "mutant-lose-half",  "mutant-lose-half-before", "mutant-by-place",
        "mutant-silent",     "mutant-published-during", "mutant-other-row",
        "mutant-list-during"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        run(names[i], 0, UINT32_MAX, 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_finds_all_the_failed),
        cmocka_unit_test(list_finds_all_that_failed_before),
        cmocka_unit_test(sum_finds_all_the_failed),
        cmocka_unit_test(a_detector_may_take_the_place_of_silence),
        cmocka_unit_test(a_small_world_is_explored_whole),
        cmocka_unit_test(mutants_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
