/* The dynamic group under schedules: a small world whole, larger ones at random with loss,
 * partitions, pauses and deaths; mutants; and what an interval costs. */
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

static void bugs_are_caught(void **state)
{
    (void)state;
    run("mutant-maximum", 4, 0, 5000);
    run("mutant-order", 4, 0, 5000);
    run("mutant-reset", 4, 0, 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_and_lost_answers_in_every_schedule),
        cmocka_unit_test(the_group_comes_together_again),
        cmocka_unit_test(tests_may_be_done_by_hosts),
        cmocka_unit_test(bugs_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
