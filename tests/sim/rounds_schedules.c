/* Agreement by rounds under schedules, mutants that must be caught, and the same deaths put to
 * `agree`: two protocols that share nothing but the specification. */
#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const struct rz_sim_scenario *scenario_of(const char *room, const char *name)
{
    const struct rz_sim_scenario *scenario = rz_sim_find(room, name);
    if (!scenario)
        fail_msg("there is no scenario %s of %s", name, room);
    return scenario;
}

static void run(const char *room, const char *name, uint32_t members, uint32_t crashes,
                uint64_t seed_first, uint64_t seed_last, const char *plan)
{
    struct rz_sim_options options = {.scenario = scenario_of(room, name),
                                     .members = members,
                                     .crashes = crashes,
                                     .seed_first = seed_first,
                                     .seed_last = seed_last,
                                     .plan = plan};
    struct rz_sim_result result;
    rz_sim_run(&options, &result);
    if (!rz_sim_passed(options.scenario, &result))
        fail_msg("%s %s, %u members, %u deaths: %s: %s", room, name, members, crashes,
                 result.reason, result.replay);
}

static void small_worlds_hold_in_every_schedule(void **state)
{
    (void)state;
    for (uint32_t crashes = 1; crashes <= 2; crashes++) {
        struct rz_sim_options options = {
            .scenario = scenario_of("rounds", "tiny"), .members = 3, .crashes = crashes};
        struct rz_sim_result result;
        rz_sim_explore(&options, &result);
        if (!rz_sim_passed(options.scenario, &result))
            fail_msg("3 members, %u deaths: %s: %s", crashes,
                     result.over_budget ? "too many states" : result.reason, result.replay);
        assert_true(result.states > 100);
    }
}

static void larger_worlds_hold_at_random(void **state)
{
    (void)state;
    static const struct {
        uint32_t members, crashes;
    } worlds[] = {{1, 0}, {2, 1}, {4, 3}, {5, 4}, {6, 3}, {8, 5}, {16, 9}};
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
        run("rounds", "one", worlds[i].members, worlds[i].crashes, 1, 1000, NULL);
}

/* ALGORITHMS 8, item 4. A death: victim @ step of the victim : the last action of it that is done :
 * a word that says which destinations it reaches. Every victim, its first steps, whole and broken
 * multicasts; the values may differ, the specification may not. */
static void oracle_and_agree_hold_under_the_same_deaths(void **state)
{
    (void)state;
    static const char *const words[] = {"0:1", "1:1", "0:2863311530", "4294967295:0"};
    for (uint32_t members = 3; members <= 6; members++)
        for (uint32_t i = 0; i < 240; i++) {
            char plan[64];
            snprintf(plan, sizeof plan, "%u@%u:%s,%u@%u:%s", i % members, 1 + i / 7 % 4,
                     words[i % 4], (i + 1 + i / members) % members, 1 + i / 3 % 5,
                     words[i / 4 % 4]);
            if (i % members == (i + 1 + i / members) % members)
                continue;
            if (!rz_sim_plan_valid(plan))
                fail_msg("%s is no plan", plan);
            run("rounds", "one", members, 2, i + 1, i + 4, plan);
            run("agree", "one", members, 2, i + 1, i + 4, plan);
            run("agree", "star", members, 2, i + 1, i + 4, plan);
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
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        struct rz_sim_options options = {.scenario = scenario_of("rounds", mutants[i].name),
                                         .crashes = UINT32_MAX,
                                         .seed_first = 1,
                                         .seed_last = mutants[i].seeds,
                                         .quiet = true};
        struct rz_sim_result result;
        rz_sim_run(&options, &result);
        if (!result.violated)
            fail_msg("%s: no violation in %lu random runs", mutants[i].name,
                     (unsigned long)mutants[i].seeds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_worlds_hold_in_every_schedule),
        cmocka_unit_test(larger_worlds_hold_at_random),
        cmocka_unit_test(oracle_and_agree_hold_under_the_same_deaths),
        cmocka_unit_test(each_mutant_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
