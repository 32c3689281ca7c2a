/* SPDX-License-Identifier: BSD-3-Clause */
/* Exhaustive mode with claims: a false one is a violation, which replays; without use of the claims
 * it is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/sim.h"
#include "toy.h"

#include <string.h>

static struct rz_sim_result result;

static bool all_void(struct rz_sim *sim, rz_id member, const struct rz_message *message,
                     const uint64_t *items)
{
    (void)sim, (void)member, (void)message, (void)items;
    return true;
}

static struct rz_sim_scenario scenario_of(enum toy_kind kind)
{
    struct rz_sim_scenario scenario = toy_scenarios[kind];
    scenario.safety = scenario.liveness = NULL;
    return scenario;
}

static void explore(const struct rz_sim_scenario *scenario, bool whole)
{
    struct rz_sim_options options = {
        .scenario = scenario, .crashes = UINT32_MAX, .whole = whole, .quiet = true};
    rz_sim_explore(&options, &result);
}

static void is_caught(const struct rz_sim_scenario *scenario, const char *reason)
{
    explore(scenario, true);
    assert_true(rz_sim_passed(scenario, &result));
    explore(scenario, false);
    assert_true(result.violated);
    assert_non_null(strstr(result.reason, reason));
    char path[sizeof(result.replay)];
    assert_int_equal(sscanf(strstr(result.replay, "--path "), "--path %8191s", path), 1);
    struct rz_sim_options options = {
        .scenario = scenario, .crashes = UINT32_MAX, .path = path, .quiet = true};
    rz_sim_replay(&options, &result);
    assert_true(result.violated);
    assert_non_null(strstr(result.reason, reason));
}

static void message_that_matters_is_not_void(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = scenario_of(TOY_GAP);
    scenario.claims.message_void = all_void;
    is_caught(&scenario, "claimed to be void");
}

static void second_copy_that_matters_is_not_void(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = scenario_of(TOY_GAP);
    scenario.claims.copies_void = true;
    is_caught(&scenario, "claimed to be void");
}

static void news_whose_order_matters_do_not_commute(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = scenario_of(TOY_ORDER_FAILURES);
    scenario.claims.news_first = true;
    is_caught(&scenario, "claimed to commute");
}

static void news_that_no_member_looks_at_commute(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = scenario_of(TOY_GAP);
    scenario.crashes = 1; /* the toy remembers the order of failures */
    scenario.detector = RZ_SIM_DETECTOR_PERFECT;
    explore(&scenario, true);
    struct rz_sim_result whole = result;
    scenario.claims.news_first = true;
    explore(&scenario, false);
    assert_false(result.violated);
    assert_int_equal(result.quiescent, whole.quiescent);
    assert_int_equal(result.finals, whole.finals);
    assert_true(result.states < whole.states);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_that_matters_is_not_void),
        cmocka_unit_test(second_copy_that_matters_is_not_void),
        cmocka_unit_test(news_whose_order_matters_do_not_commute),
        cmocka_unit_test(news_that_no_member_looks_at_commute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
