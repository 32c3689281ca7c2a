/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine on a toy protocol: what it must be able to find, and that what it prints replays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "sim/sim.h"
#include "sim/visited.h"
#include "toy.h"

#include <stdlib.h>
#include <string.h>

static struct rz_sim_result result;

static struct rz_sim_options options_of(enum toy_kind kind)
{
    return (struct rz_sim_options){.scenario = &toy_scenarios[kind],
                                   .crashes = UINT32_MAX,
                                   .seed_first = 1,
                                   .seed_last = 2000,
                                   .quiet = true};
}

static void run(enum toy_kind kind)
{
    struct rz_sim_options options = options_of(kind);
    rz_sim_run(&options, &result);
}

static void explore(enum toy_kind kind)
{
    struct rz_sim_options options = options_of(kind);
    rz_sim_explore(&options, &result);
}

/* The word after a flag of the printed command. */
static const char *word_after(const char *flag)
{
    static char word[sizeof(result.replay)];
    const char *at = strstr(result.replay, flag);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(flag), "%8191s", word), 1);
    return word;
}

static void replays(enum toy_kind kind)
{
    assert_true(result.violated);
    struct rz_sim_options options = options_of(kind);
    char reason[sizeof(result.reason)], text[sizeof(result.replay)];
    strcpy(reason, result.reason);
    if (strstr(result.replay, "--path")) {
        strcpy(text, word_after("--path"));
        options.path = text;
    } else {
        options.seed_first = strtoull(word_after("--seed"), NULL, 10);
        strcpy(text, word_after("--plan"));
        options.plan = text;
        options.plain = strstr(result.replay, "--plain") != NULL;
    }
    rz_sim_replay(&options, &result);
    assert_true(result.violated);
    assert_string_equal(result.reason, reason);
}

static void sound_protocol_runs_to_its_end(void **state)
{
    (void)state;
    run(TOY_SOUND);
    assert_false(result.violated);
    assert_int_equal(result.runs, 2000);
    assert_true(result.crashes > 1000);
    assert_true(rz_sim_passed(&toy_scenarios[TOY_SOUND], &result));
}

static void same_seed_is_the_same_run(void **state)
{
    (void)state;
    struct rz_sim_options options = options_of(TOY_SOUND);
    for (uint64_t seed = 1; seed < 50; seed++) {
        static struct rz_sim_result again;
        options.seed_first = options.seed_last = seed;
        rz_sim_run(&options, &result);
        rz_sim_run(&options, &again);
        assert_memory_equal(&result, &again, sizeof(result));
    }
}

static void crash_takes_any_part_of_a_multicast(void **state)
{
    (void)state;
    run(TOY_GAP);
    replays(TOY_GAP);
    explore(TOY_GAP);
    replays(TOY_GAP);
}

/* One crash is enough for the gap; the plan that is printed has no second one. */
static void fault_plan_is_shortened(void **state)
{
    (void)state;
    run(TOY_GAP);
    assert_null(strchr(word_after("--plan"), ','));
    assert_int_equal(atoi(word_after("--plan")), 0);
    explore(TOY_GAP);
    assert_true(strlen(word_after("--path")) <= 4);
}

static void messages_overtake_each_other(void **state)
{
    (void)state;
    run(TOY_ORDER);
    replays(TOY_ORDER);
    explore(TOY_ORDER);
    replays(TOY_ORDER);
}

static void failures_are_learnt_in_any_order(void **state)
{
    (void)state;
    run(TOY_ORDER_FAILURES);
    replays(TOY_ORDER_FAILURES);
    explore(TOY_ORDER_FAILURES);
    replays(TOY_ORDER_FAILURES);
}

static void assertion_in_a_protocol_is_a_violation(void **state)
{
    (void)state;
    run(TOY_ASSERT);
    assert_non_null(strstr(result.reason, "assertion failed"));
    replays(TOY_ASSERT);
    explore(TOY_ASSERT);
    assert_non_null(strstr(result.reason, "assertion failed"));
    replays(TOY_ASSERT);
}

static void cycles_are_counted(void **state)
{
    (void)state;
    explore(TOY_ENDLESS);
    assert_false(result.violated);
    assert_true(result.cycles > 0);
}

static void endless_run_is_a_violation(void **state)
{
    (void)state;
    struct rz_sim_options options = options_of(TOY_ENDLESS);
    options.plan = "none";
    options.seed_last = 1;
    rz_sim_replay(&options, &result);
    assert_true(result.violated);
    assert_non_null(strstr(result.reason, "no end"));
}

static void messages_keep_their_bound_in_timed_scenarios(void **state)
{
    (void)state;
    explore(TOY_LATE);
    assert_true(result.violated); /* the call itself may come at date 1, its message at date 3,
                                     after the tick */
    struct rz_sim_scenario scenario = toy_scenarios[TOY_LATE];
    scenario.crash_until = 0; /* the call comes at date 0, its message by date 2 */
    struct rz_sim_options options = options_of(TOY_LATE);
    options.scenario = &scenario;
    rz_sim_explore(&options, &result);
    assert_false(result.violated);
    assert_true(result.quiescent > 0);
}

static void too_many_states_are_an_error(void **state)
{
    (void)state;
    struct rz_sim_options options = options_of(TOY_ORDER_FAILURES);
    struct rz_sim_scenario scenario = toy_scenarios[TOY_ORDER_FAILURES];
    scenario.safety = NULL;
    options.scenario = &scenario;
    rz_sim_explore(&options, &result);
    assert_true(rz_sim_passed(&scenario, &result));
    options.states_max = result.states;
    rz_sim_explore(&options, &result);
    assert_true(rz_sim_passed(&scenario, &result));
    options.states_max = result.states - 1;
    rz_sim_explore(&options, &result);
    assert_true(result.over_budget);
    assert_false(result.violated);
    assert_false(rz_sim_passed(&scenario, &result));
    scenario.violation_expected = true;
    assert_false(rz_sim_passed(&scenario, &result));
}

static void mutant_must_be_caught(void **state)
{
    (void)state;
    struct rz_sim_scenario mutant = toy_scenarios[TOY_SOUND];
    mutant.violation_expected = true;
    run(TOY_SOUND);
    assert_false(rz_sim_passed(&mutant, &result));
    run(TOY_GAP);
    assert_true(rz_sim_passed(&mutant, &result));
}

static void plans_are_read_as_printed(void **state)
{
    (void)state;
    assert_true(rz_sim_plan_valid("none"));
    assert_true(rz_sim_plan_valid("3@12:4294967295:0"));
    assert_true(rz_sim_plan_valid("3@12:1:7,0@0:0:0"));
    assert_false(rz_sim_plan_valid("3"));
    assert_false(rz_sim_plan_valid("3@1:2"));
    assert_false(rz_sim_plan_valid("3@1:2:3;4@5:6:7"));
}

static void plan_fits_the_members_that_it_names(void **state)
{
    (void)state;
    assert_true(rz_sim_plan_fits("none", 1));
    assert_true(rz_sim_plan_fits("3@12:1:7,0@0:0:0", 4));
    assert_false(rz_sim_plan_fits("0@0:0:0,3@12:1:7", 3));
    assert_true(rz_sim_plan_fits("pause:2@3-4,loss:900@0-50", 3));
    assert_false(rz_sim_plan_fits("loss:900@0-50,pause:2@3-4", 2));
    assert_false(rz_sim_plan_fits("3", 8));
}

static void visited_set_keeps_each_state_once(void **state)
{
    (void)state;
    struct rz_visited visited;
    rz_visited_init(&visited);
    for (uint64_t i = 0; i < 300000; i++) {
        assert_int_equal(rz_visited_enter(&visited, rz_mix(7, i)), RZ_VISIT_NEW);
    }
    for (uint64_t i = 0; i < 300000; i++) {
        assert_int_equal(rz_visited_enter(&visited, rz_mix(7, i)), RZ_VISIT_ON_PATH);
    }
    rz_visited_leave(&visited, rz_mix(7, 5));
    assert_int_equal(rz_visited_enter(&visited, rz_mix(7, 5)), RZ_VISIT_SEEN);
    assert_int_equal(visited.count, 300000);
    rz_visited_free(&visited);
}

static void every_scenario_is_found_by_its_name(void **state)
{
    (void)state;
    const struct rz_sim_scenario *scenario;
    size_t n = 0;
    for (; (scenario = rz_sim_scenario_at(n)); n++) {
        assert_ptr_equal(rz_sim_find(scenario->protocol->name, scenario->name), scenario);
        assert_non_null(scenario->summary);
        assert_non_null(scenario->config);
    }
    assert_true(n > 5);
    assert_null(rz_sim_find("ring", "no such scenario"));
    assert_null(rz_sim_find("no such protocol", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_protocol_runs_to_its_end),
        cmocka_unit_test(same_seed_is_the_same_run),
        cmocka_unit_test(crash_takes_any_part_of_a_multicast),
        cmocka_unit_test(fault_plan_is_shortened),
        cmocka_unit_test(messages_overtake_each_other),
        cmocka_unit_test(failures_are_learnt_in_any_order),
        cmocka_unit_test(assertion_in_a_protocol_is_a_violation),
        cmocka_unit_test(cycles_are_counted),
        cmocka_unit_test(endless_run_is_a_violation),
        cmocka_unit_test(messages_keep_their_bound_in_timed_scenarios),
        cmocka_unit_test(too_many_states_are_an_error),
        cmocka_unit_test(mutant_must_be_caught),
        cmocka_unit_test(plans_are_read_as_printed),
        cmocka_unit_test(plan_fits_the_members_that_it_names),
        cmocka_unit_test(visited_set_keeps_each_state_once),
        cmocka_unit_test(every_scenario_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
