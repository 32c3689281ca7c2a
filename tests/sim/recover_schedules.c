/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery under schedules: small worlds whole, larger ones at random, and mutants that must be
 * caught. */
#include "schedules.h"

static void explore(const char *name)
{
    struct rz_sim_options options = schedules_of("recover", name, 0, UINT32_MAX);
    assert_true(schedules_explore(&options).states > 100);
}

static void run(const char *name, uint32_t members, uint32_t crashes, uint64_t seeds)
{
    schedules_run("recover", name, members, crashes, seeds);
}

static const struct {
    uint32_t members, crashes;
} worlds[] = {{4, 2}, {5, 4}, {7, 3}, {8, 4}, {12, 4}};

/* Of each world; tools/torture runs as many as there is time for. */
enum { SEEDS = 200 };

static void run_worlds(const char *name)
{
    for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
        run(name, worlds[i].members, worlds[i].crashes, SEEDS);
    }
}

static void failures_of_daemons_hold_in_every_schedule(void **state)
{
    (void)state;
    explore("tiny-daemons");
    explore("tiny-silent");
}

static void a_process_and_a_daemon_fail_in_every_schedule(void **state)
{
    (void)state;
    explore("tiny");
}

static void spawns_hold_in_every_schedule(void **state)
{
    (void)state;
    explore("tiny-replace");
    explore("tiny-spawn");
    /* Three daemons; with a daemon's failure the whole is 5.3 million states. */
    struct rz_sim_options options = schedules_of("recover", "tiny-asker", 0, 0);
    assert_true(schedules_explore(&options).states > 100);
}

static void all_begin_anew_in_every_schedule(void **state)
{
    (void)state;
    run_worlds("rewind");
    /* With a daemon's failure: 1.3 million states. */
    struct rz_sim_options options = schedules_of("recover", "tiny-rewind", 0, 0);
    assert_true(schedules_explore(&options).states > 100);
}

static void the_failed_are_replaced_at_random(void **state)
{
    (void)state;
    run_worlds("replace");
}

static void cohorts_are_spawned_at_random(void **state)
{
    (void)state;
    run_worlds("spawn");
    run_worlds("spawn-silent");
}

static void spawns_and_a_job_that_repairs_itself_hold_at_random(void **state)
{
    (void)state;
    run_worlds("spawn-reinit");
}

static void jobs_that_repair_themselves_hold_at_random(void **state)
{
    (void)state;
    run_worlds("job");
}

static void jobs_that_do_not_hold_at_random(void **state)
{
    (void)state;
    run_worlds("unrepaired");
}

static void silent_failures_stop_all_or_none(void **state)
{
    (void)state;
    run_worlds("quorum");
}

static void a_job_is_given_up_everywhere_or_nowhere(void **state)
{
    (void)state;
    run_worlds("restarts");
}

static void slots_that_are_limits_hold_at_random(void **state)
{
    (void)state;
    run_worlds("tight");
    run_worlds("tight-spawns");
    run_worlds("tight-reinit");
}

static void of_a_partition_never_do_both_sides_go_on(void **state)
{
    (void)state;
    for (uint32_t members = 2; members <= 8; members++) {
        run("parted", members, 0, 1000);
    }
    run("parted", 16, 0, 100);
    for (uint32_t members = 2; members <= 8; members++) {
        run("parted-asking", members, 0, 300);
    }
}

static void of_two_that_report_each_other_one_goes_on(void **state)
{
    (void)state;
    run("parted-two", 2, 0, 1000);
}

static void each_mutant_is_caught(void **state)
{
    static const char *const mutants[] = {
        "mutant-late-reached",    "mutant-deathless-barrier", "mutant-own-placement",
        "mutant-any-incarnation", "mutant-own-generation",    "mutant-own-spawn-place",
        "mutant-any-cohort",      "mutant-keep-reached",      "mutant-any-spawn",
        "mutant-known-free",      "mutant-own-refusal",       "mutant-one-entered",
        "mutant-own-slots",       "mutant-crowded-spawn",     "mutant-obey-any",
        "mutant-any-half",        "mutant-no-electorate"};
    (void)state;
    for (size_t i = 0; i < sizeof(mutants) / sizeof(*mutants); i++) {
        run(mutants[i], 0, UINT32_MAX, 20000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_of_daemons_hold_in_every_schedule),
        cmocka_unit_test(a_process_and_a_daemon_fail_in_every_schedule),
        cmocka_unit_test(all_begin_anew_in_every_schedule),
        cmocka_unit_test(spawns_hold_in_every_schedule),
        cmocka_unit_test(the_failed_are_replaced_at_random),
        cmocka_unit_test(cohorts_are_spawned_at_random),
        cmocka_unit_test(spawns_and_a_job_that_repairs_itself_hold_at_random),
        cmocka_unit_test(jobs_that_repair_themselves_hold_at_random),
        cmocka_unit_test(jobs_that_do_not_hold_at_random),
        cmocka_unit_test(silent_failures_stop_all_or_none),
        cmocka_unit_test(a_job_is_given_up_everywhere_or_nowhere),
        cmocka_unit_test(slots_that_are_limits_hold_at_random),
        cmocka_unit_test(of_a_partition_never_do_both_sides_go_on),
        cmocka_unit_test(of_two_that_report_each_other_one_goes_on),
        cmocka_unit_test(each_mutant_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
