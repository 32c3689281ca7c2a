/* SPDX-License-Identifier: BSD-3-Clause */
/* Snapshots of a program under schedules, and mutants that must be caught. */
#include "schedules.h"

static void small_worlds_hold_in_every_schedule(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t members, crashes;
        uint64_t states_min;
    } worlds[] = {{"tiny", 2, 0, 100000},       {"tiny-prompt", 2, 1, 100},
                  {"tiny-prompt", 3, 0, 10000}, {"tiny-lazy", 3, 0, 100000},
                  {"tiny-row", 3, 1, 100},      {"tiny-row", 4, 0, 100},
                  {"tiny-two", 2, 1, 1000}};
    for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
        struct rz_sim_options options =
            schedules_of("snapshot", worlds[i].name, worlds[i].members, worlds[i].crashes);
        assert_true(schedules_explore(&options).states > worlds[i].states_min);
    }
}

static void larger_worlds_hold_at_random(void **state)
{
    (void)state;
    static const struct {
        uint32_t members;
        uint64_t seeds;
    } worlds[] = {{1, 200},  {2, 2000}, {3, 2000}, {4, 1500},
                  {5, 1000}, {8, 400},  {17, 60},  {40, 6}};
    for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
        uint32_t members = worlds[i].members;
        schedules_run("snapshot", "one", members, 0, worlds[i].seeds);
        schedules_run("snapshot", "row", members, 0, worlds[i].seeds);
        schedules_run("snapshot", "prompt", members, 0, worlds[i].seeds);
        if (members > 1) {
            schedules_run("snapshot", "failing", members, 1, worlds[i].seeds);
        }
    }
}

static const struct {
    const char *name;
    uint64_t seeds;
} mutants[] = {
    {"mutant-one-wave", 20000},    {"mutant-any-balance", 100000}, {"mutant-despite-busy", 1000},
    {"mutant-old-numbers", 50000}, {"mutant-no-changes", 1000},    {"mutant-no-barrier", 1000},
    {"mutant-save-unheard", 1000}, {"mutant-deaf", 1000},          {"mutant-no-early", 1000},
};

static void each_mutant_is_caught(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mutants) / sizeof(*mutants); i++) {
        schedules_run("snapshot", mutants[i].name, 0, UINT32_MAX, mutants[i].seeds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_worlds_hold_in_every_schedule),
        cmocka_unit_test(larger_worlds_hold_at_random),
        cmocka_unit_test(each_mutant_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
