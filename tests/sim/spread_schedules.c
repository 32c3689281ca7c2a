/* SPDX-License-Identifier: BSD-3-Clause */
/* Reliable broadcast under schedules: small worlds whole, larger ones at random, a mutant, and what
 * it costs. */
#include "schedules.h"

#include "proto/spread/spread.h"

static struct rz_sim_result explore(const char *name, uint32_t members, uint32_t crashes,
                                    bool whole)
{
    struct rz_sim_options options = schedules_of("spread", name, members, crashes);
    options.whole = whole;
    struct rz_sim_result result = schedules_explore(&options);
    assert_int_equal(result.cycles, 0);
    return result;
}

/* What is left out by the scenario's claims makes no difference to how runs end. */
static void explore_both(const char *name, uint32_t members, uint32_t crashes)
{
    struct rz_sim_result whole = explore(name, members, crashes, true);
    struct rz_sim_result part = explore(name, members, crashes, false);
    assert_int_equal(part.quiescent, whole.quiescent);
    assert_int_equal(part.finals, whole.finals);
    assert_true(part.states <= whole.states);
}

static void run(const char *name, uint32_t members, uint32_t crashes, uint64_t seeds)
{
    schedules_run("spread", name, members, crashes, seeds);
}

static void one_item_reaches_all_in_every_schedule(void **state)
{
    (void)state;
    for (uint32_t members = 1; members <= 4; members++) {
        for (uint32_t crashes = 0; crashes < members; crashes++) {
            explore_both("one", members, crashes);
        }
    }
    explore("one", 5, 4, false);
    explore("one", 6, 3, false);
}

static void several_items_reach_all_in_every_schedule(void **state)
{
    (void)state;
    explore_both("many", 2, 1);
    explore_both("many", 3, 2);
    explore("many", 4, 1, false);
}

static void items_reach_all_whatever_number_fail(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 5, 6, 8, 9, 12, 13, 16, 24, 64};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        run("one", sizes[i], sizes[i] - 1, sizes[i] < 32 ? 3000 : 500);
        run("many", sizes[i], sizes[i] - 1, sizes[i] < 32 ? 1500 : 300);
    }
    run("many", 200, 20, 60);
    run("rough", 12, 11, 1000);
}

/* Members put off what goes beside the tree, and may fail before it is sent. */
static void what_is_put_off_reaches_all_whatever_number_fail(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 5, 6, 8, 9, 12, 13, 16, 24, 64};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        run("late", sizes[i], sizes[i] - 1, sizes[i] < 32 ? 2000 : 300);
    }
    run("late", 200, 20, 60);
    run("late-rough", 12, 11, 1000);
    for (uint32_t members = 6; members <= 24; members++) {
        run("late-undetected", members, rz_spread_degree(members) - 1, 200);
    }
}

static void what_is_put_off_reaches_all_in_every_schedule(void **state)
{
    (void)state;
    explore("late-small", 2, 1, false);
    explore("late-small", 3, 2, false);
    explore("late-small", 4, 1, false);
}

static void fewer_undetected_failures_than_neighbours_do_no_harm(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {6, 7, 11, 12, 13, 16, 35};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        run("undetected", sizes[i], rz_spread_degree(sizes[i]) - 1, 2000);
    }
}

static void fewer_undetected_failures_do_no_harm_in_every_schedule(void **state)
{
    (void)state;
    explore_both("undetected-one", 4, 2);
    explore("undetected-one", 6, 3, false);
}

static void as_many_undetected_failures_are_caught(void **state)
{
    (void)state;
    explore("mutant-undetected", 6, 4, false);
    explore("mutant-undetected", 6, 4, true);
}

static void known_bugs_are_caught(void **state)
{
    (void)state;
    explore("mutant-offsets", 6, 3, false);
    explore("mutant-offsets", 6, 3, true);
    explore("mutant-open-ring", 6, 4, false);
    run("mutant-mark-late", 6, 2, 100);
    run("mutant-equal-sets", 6, 2, 100);
    run("mutant-tree-only", 6, 2, 100);
}

/* Each member sends an item to all its neighbours but the one it has it from. */
static void cost_is_a_copy_per_edge_and_direction(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 256; n += n < 40 ? 1 : 27) {
        struct rz_sim_options options = schedules_of("spread", "one", n, 0);
        static struct rz_sim_result result;
        options.seed_first = options.seed_last = n;
        rz_sim_run(&options, &result);
        assert_false(result.violated);
        assert_int_equal(result.messages, n * rz_spread_degree(n) - (n - 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_item_reaches_all_in_every_schedule),
        cmocka_unit_test(several_items_reach_all_in_every_schedule),
        cmocka_unit_test(items_reach_all_whatever_number_fail),
        cmocka_unit_test(what_is_put_off_reaches_all_whatever_number_fail),
        cmocka_unit_test(what_is_put_off_reaches_all_in_every_schedule),
        cmocka_unit_test(fewer_undetected_failures_than_neighbours_do_no_harm),
        cmocka_unit_test(fewer_undetected_failures_do_no_harm_in_every_schedule),
        cmocka_unit_test(as_many_undetected_failures_are_caught),
        cmocka_unit_test(known_bugs_are_caught),
        cmocka_unit_test(cost_is_a_copy_per_edge_and_direction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
