/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement by rounds under schedules, mutants that must be caught, and the same failures put to
 * `agree`: two protocols that share nothing but the specification. */
#include "schedules.h"

#include <stdio.h>

static void run(const char *protocol, const char *name, uint32_t members, uint32_t crashes,
                uint64_t seed_first, uint64_t seed_last, const char *plan)
{
    struct rz_sim_options options = schedules_of(protocol, name, members, crashes);
    struct rz_sim_result result;
    options.seed_first = seed_first;
    options.seed_last = seed_last;
    options.plan = plan;
    rz_sim_run(&options, &result);
    schedules_passed(&options, &result);
}

static void small_worlds_hold_in_every_schedule(void **state)
{
    (void)state;
    for (uint32_t crashes = 1; crashes <= 2; crashes++) {
        struct rz_sim_options options = schedules_of("rounds", "tiny", 3, crashes);
        assert_true(schedules_explore(&options).states > 100);
    }
}

static void larger_worlds_hold_at_random(void **state)
{
    (void)state;
    static const struct {
        uint32_t members, crashes;
    } worlds[] = {{1, 0}, {2, 1}, {4, 3}, {5, 4}, {6, 3}, {8, 5}, {16, 9}};
    for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
        run("rounds", "one", worlds[i].members, worlds[i].crashes, 1, 1000, NULL);
    }
}

/* A failure: victim @ step of the victim : the last action of it that is done :
 * a word that says which destinations it reaches. Every victim, its first steps, whole and broken
 * multicasts; the values may differ, the specification may not. */
static void oracle_and_agree_hold_under_the_same_failures(void **state)
{
    (void)state;
    static const char *const words[] = {"0:1", "1:1", "0:2863311530", "4294967295:0"};
    for (uint32_t members = 3; members <= 6; members++) {
        for (uint32_t i = 0; i < 240; i++) {
            char plan[64];
            snprintf(plan, sizeof(plan), "%u@%u:%s,%u@%u:%s", i % members, 1 + i / 7 % 4,
                     words[i % 4], (i + 1 + i / members) % members, 1 + i / 3 % 5,
                     words[i / 4 % 4]);
            if (i % members == (i + 1 + i / members) % members) {
                continue;
            }
            if (!rz_sim_plan_valid(plan)) {
                fail_msg("%s is no plan", plan);
            }
            run("rounds", "one", members, 2, i + 1, i + 4, plan);
            run("agree", "one", members, 2, i + 1, i + 4, plan);
            run("agree", "star", members, 2, i + 1, i + 4, plan);
        }
    }
}

static const struct {
    const char *name;
    uint64_t seeds;
} mutants[] = {
    {"mutant-one-round-early", 50000},
    {"mutant-no-fence", 1000},
    {"mutant-no-telling", 1000},
    {"mutant-own-eyes", 200000},
};

static void each_mutant_is_caught(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mutants) / sizeof(*mutants); i++) {
        run("rounds", mutants[i].name, 0, UINT32_MAX, 1, mutants[i].seeds, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_worlds_hold_in_every_schedule),
        cmocka_unit_test(larger_worlds_hold_at_random),
        cmocka_unit_test(oracle_and_agree_hold_under_the_same_failures),
        cmocka_unit_test(each_mutant_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
