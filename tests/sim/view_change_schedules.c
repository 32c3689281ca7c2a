/* SPDX-License-Identifier: BSD-3-Clause */
/* Computing rounds under schedules: small worlds whole, larger ones at random; mutants. */
#include "schedules.h"

#include "proto/view_change/view_change.h"

static void explore(const char *name, uint32_t members, uint32_t crashes)
{
    struct rz_sim_options options = schedules_of("view_change", name, members, crashes);
    schedules_explore(&options);
}

static void one_decision_despite_any_failure(void **state)
{
    (void)state;
    for (uint32_t crashes = 0; crashes <= 2; crashes++) {
        explore("tiny", 3, crashes);
        explore("tiny-spare", 3, crashes);
    }
    explore("tiny", 2, 2);
    explore("tiny", 1, 0);
}

static void rounds_go_on_among_those_that_live(void **state)
{
    (void)state;
    for (uint32_t members = 2; members <= 8; members++) {
        schedules_run("view_change", "rounds", members, members - 1, 300);
    }
    schedules_run("view_change", "many", 8, 6, 300);
    schedules_run("view_change", "steady", 4, 3, 500);
    schedules_run("view_change", "rounds", 1, 0, 100);
}

static void messages_may_come_late_and_twice(void **state)
{
    (void)state;
    struct rz_sim_result result = schedules_run("view_change", "rough", 5, 3, 500);
    assert_true(result.doubled > 0 && result.waited > 0);
}

static void bugs_are_caught(void **state)
{
    (void)state;
    explore("mutant-later", 3, 1);
    schedules_run("view_change", "mutant-early", 4, 3, 1000);
    schedules_run("view_change", "mutant-absent", 4, 3, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_decision_despite_any_failure),
        cmocka_unit_test(rounds_go_on_among_those_that_live),
        cmocka_unit_test(messages_may_come_late_and_twice),
        cmocka_unit_test(bugs_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
