/* SPDX-License-Identifier: BSD-3-Clause */
/* The two-phase commit under schedules: small worlds whole, larger ones at random, and mutants that
 * must be caught. */
#include "schedules.h"

static void explore(const char *name, uint32_t members, uint32_t crashes)
{
    struct rz_sim_options options = schedules_of("twophase", name, members, crashes);
    assert_true(schedules_explore(&options).states > 100);
}

static void run(const char *name, uint32_t members, uint32_t crashes, uint64_t seeds)
{
    schedules_run("twophase", name, members, crashes, seeds);
}

static void one_operation_holds_in_every_schedule(void **state)
{
    (void)state;
    explore("tiny", 3, 1);
    explore("tiny", 3, 2);
    explore("tiny", 4, 1);
    explore("tiny", 4, 2);
    explore("tiny", 4, 3);
    explore("tiny", 5, 1);
}

static void operations_in_a_row_hold_in_every_schedule(void **state)
{
    (void)state;
    explore("tiny-row", 3, 1);
    explore("tiny-row", 3, 2);
}

static void all_holds_at_random(void **state)
{
    (void)state;
    static const struct {
        uint32_t members, crashes;
    } worlds[] = {{4, 2}, {5, 3}, {8, 4}, {15, 6}};
    for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
        run("one", worlds[i].members, worlds[i].crashes, 1000);
        run("row", worlds[i].members, worlds[i].crashes, 500);
        run("extremes", worlds[i].members, worlds[i].crashes, 500);
    }
    run("row", 40, 20, 100);
}

/* Within how many seeds the lack must be seen at random; 0: it is looked for in every schedule of a
 * small world, for it takes a rare one. */
static const struct {
    const char *name;
    uint64_t seeds;
} mutants[] = {
    {"mutant-committing-early", 100},     {"mutant-no-fence", 0},    {"mutant-old-decision", 0},
    {"mutant-no-termination", 1000},      {"mutant-no-query", 1000}, {"mutant-no-askers", 10000},
    {"mutant-not-serving-voters", 20000},
};

static void each_mutant_is_caught(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mutants) / sizeof(*mutants); i++) {
        struct rz_sim_options options = schedules_of("twophase", mutants[i].name, 0, UINT32_MAX);
        if (mutants[i].seeds > 0) {
            run(mutants[i].name, 0, UINT32_MAX, mutants[i].seeds);
        } else {
            schedules_explore(&options);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_operation_holds_in_every_schedule),
        cmocka_unit_test(operations_in_a_row_hold_in_every_schedule),
        cmocka_unit_test(all_holds_at_random),
        cmocka_unit_test(each_mutant_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
