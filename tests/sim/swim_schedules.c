/* SPDX-License-Identifier: BSD-3-Clause */
/* SWIM under schedules: small worlds whole, random runs with every kind of fault, mutants, and what
 * it costs. */
#include "schedules.h"

static void run(const char *name, uint32_t members, uint32_t crashes, uint64_t seeds)
{
    schedules_run("swim", name, members, crashes, seeds);
}

static void explore(const char *name)
{
    struct rz_sim_options options = schedules_of("swim", name, 0, UINT32_MAX);
    assert_int_equal(schedules_explore(&options).cycles, 0);
}

static void small_worlds_hold_in_every_schedule(void **state)
{
    (void)state;
    explore("tiny");
    explore("tiny-leave");
    explore("tiny-slow");
    explore("tiny-three");
}

static void all_crashes_are_found_and_no_other_is_suspected(void **state)
{
    (void)state;
    run("crash", 2, 1, 100);
    run("crash", 6, 3, 400);
    run("crash", 12, 6, 40);
    run("leave", 6, 2, 300);
    run("leave", 10, 3, 60);
}

static void a_member_that_lives_is_cleared_when_faults_end(void **state)
{
    (void)state;
    run("faulty", 6, 2, 300);
    run("faulty", 12, 3, 40);
    run("plain", 6, 2, 200);
    run("hasty", 6, 2, 300);
}

static void final_failures_stop_the_members_that_they_meet(void **state)
{
    (void)state;
    run("final", 6, 1, 300);
    run("final", 10, 2, 60);
}

static void lateness_of_seconds_is_survived(void **state)
{
    (void)state;
    run("late", 6, 2, 150);
    run("late", 12, 3, 20);
    run("late-final", 6, 1, 150);
    run("mutant-mute-late", 6, UINT32_MAX, 100);
}

static void parted_networks_find_their_failed(void **state)
{
    (void)state;
    run("parted", 6, 2, 200);
}

static void mutants_are_caught(void **state)
{
    (void)state;
    static const char *const names[] = {"mutant-timer", "mutant-tie",    "mutant-first",
                                        "mutant-forge", "mutant-self",   "mutant-endless",
                                        "mutant-mute",  "mutant-patient"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        run(names[i], 6, UINT32_MAX, 100);
    }
}

/* Without faults: a ping and an answer per member and period, and a whole exchange (two messages)
 * each fourth period: 70 periods of 100 ms in 7 s. Where each began its rounds decides whether one
 * more or less is seen at the end. */
static void cost_is_two_messages_per_member_and_period(void **state)
{
    (void)state;
    for (uint32_t members = 2; members <= 32; members *= 2) {
        struct rz_sim_options options = schedules_of("swim", "crash", members, 0);
        static struct rz_sim_result result;
        options.seed_first = options.seed_last = 1;
        options.plain = true;
        rz_sim_run(&options, &result);
        assert_false(result.violated);
        assert_in_range(result.messages, members * (2 * 69 + 2 * 17), members * (2 * 71 + 2 * 19));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_worlds_hold_in_every_schedule),
        cmocka_unit_test(all_crashes_are_found_and_no_other_is_suspected),
        cmocka_unit_test(a_member_that_lives_is_cleared_when_faults_end),
        cmocka_unit_test(final_failures_stop_the_members_that_they_meet),
        cmocka_unit_test(lateness_of_seconds_is_survived),
        cmocka_unit_test(parted_networks_find_their_failed),
        cmocka_unit_test(mutants_are_caught),
        cmocka_unit_test(cost_is_two_messages_per_member_and_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
