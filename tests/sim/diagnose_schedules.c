/* SPDX-License-Identifier: BSD-3-Clause */
/* The dynamic group under schedules: a small world whole, larger ones at random with loss,
 * partitions, pauses and failures, in both assignments and with local health; mutants. */
#include "schedules.h"

#include "proto/diagnose/diagnose.h"

static void explore(const char *name, uint32_t members)
{
    struct rz_sim_options options = schedules_of("diagnose", name, members, 0);
    schedules_explore(&options);
}

static struct rz_sim_result run(const char *name, uint32_t members, uint32_t crashes,
                                uint64_t seeds)
{
    return schedules_run("diagnose", name, members, crashes, seeds);
}

static void late_and_lost_answers_in_every_schedule(void **state)
{
    (void)state;
    explore("tiny", 1);
    explore("tiny", 2);
    explore("tiny-cube", 3);
}

static void the_group_comes_together_again(void **state)
{
    (void)state;
    struct rz_sim_result result = run("group", 4, 2, 700);
    assert_true(result.lost > 0 && result.doubled > 0 && result.waited > 0);
    run("group", 2, 0, 200);
    run("group", 3, 0, 300);
    run("group", 9, 4, 100);
    run("group", 1, 0, 5);
}

static void tests_may_be_done_by_hosts(void **state)
{
    (void)state;
    run("hosts", 5, 1, 700);
    run("hosts", 3, 1, 300);
}

/* No member is excluded: with 2 members there is nothing to compare a slow tester with. */
static void a_slow_tester_excludes_no_member(void **state)
{
    (void)state;
    run("slow-tester", 5, 0, 500);
    run("slow-tester", 3, 0, 300);
    run("slow-tester", 9, 0, 50);
}

static void local_health_keeps_no_failed_member_in(void **state)
{
    (void)state;
    for (uint32_t members = 2; members <= 6; members++) {
        run("last-one", members, members - 1, 300);
    }
    struct rz_sim_result result = run("health", 5, 2, 500);
    assert_true(result.lost > 0 && result.waited > 0);
    run("health", 9, 4, 100);
}

static void few_testers_are_enough(void **state)
{
    (void)state;
    run("cube", 6, 2, 500);
    run("cube", 3, 1, 300);
    run("cube", 4, 3, 300);
    run("cube", 13, 5, 50);
    run("cube-health", 8, 6, 400);
    run("cube-health", 5, 4, 200);
}

static void bugs_are_caught(void **state)
{
    (void)state;
    run("mutant-maximum", 4, 0, 5000);
    run("mutant-order", 4, 0, 5000);
    run("mutant-reset", 4, 0, 5000);
    run("mutant-overruled", 4, 3, 100);
    run("mutant-health", 5, 0, 100);
    run("mutant-successor", 4, 3, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_and_lost_answers_in_every_schedule),
        cmocka_unit_test(the_group_comes_together_again),
        cmocka_unit_test(tests_may_be_done_by_hosts),
        cmocka_unit_test(a_slow_tester_excludes_no_member),
        cmocka_unit_test(local_health_keeps_no_failed_member_in),
        cmocka_unit_test(few_testers_are_enough),
        cmocka_unit_test(bugs_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
