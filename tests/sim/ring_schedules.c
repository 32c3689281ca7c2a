/* SPDX-License-Identifier: BSD-3-Clause */
/* The heartbeat ring under schedules: small worlds whole, larger ones at random, a mutant, and what
 * it costs. */
#include "schedules.h"

static struct rz_sim_result explore(const char *name, uint32_t members, uint32_t crashes,
                                    bool whole)
{
    struct rz_sim_options options = schedules_of("ring", name, members, crashes);
    options.whole = whole;
    struct rz_sim_result result = schedules_explore(&options);
    assert_int_equal(result.cycles, 0);
    return result;
}

/* The order of members within a tick makes no difference to how runs end. */
static void explore_both(const char *name, uint32_t members, uint32_t crashes)
{
    struct rz_sim_result whole = explore(name, members, crashes, true);
    struct rz_sim_result turns = explore(name, members, crashes, false);
    assert_int_equal(turns.quiescent, whole.quiescent);
    assert_int_equal(turns.finals, whole.finals);
    assert_true(turns.states < whole.states);
}

static void run(const char *name, uint32_t members, uint32_t crashes, uint64_t seeds)
{
    schedules_run("ring", name, members, crashes, seeds);
}

static void ring_mends_in_every_schedule(void **state)
{
    (void)state;
    for (uint32_t members = 1; members <= 4; members++) {
        explore("tiny", members, members < 3 ? members - 1 : 2, false);
    }
    explore("tiny", 5, 1, false);
}

static void ring_mends_without_news_in_every_schedule(void **state)
{
    (void)state;
    for (uint32_t members = 2; members <= 5; members++) {
        explore("tiny-silent", members, members < 3 ? 1 : 2, false);
    }
}

static void heartbeats_need_no_common_phase(void **state)
{
    (void)state;
    explore("tiny-phases", 2, 1, false);
    explore("tiny-phases", 3, 2, false);
    explore("tiny-phases", 4, 2, false);
    run("phases", 2, 1, 200);
    run("phases", 12, 1, 400);
    run("phases", 12, 5, 400);
    run("phases", 64, 5, 60);
}

static void leaving_is_no_failure_in_every_schedule(void **state)
{
    (void)state;
    explore("tiny-leave", 3, 1, false);
    explore("tiny-leave", 4, 0, false);
    explore("tiny-leave", 4, 1, false);
}

static void news_may_lag_in_every_schedule(void **state)
{
    (void)state;
    explore("tiny-lag", 4, 2, false);
}

/* Period 1, timeout 2: each member in its turn within a tick. */
static void turns_end_as_all_orders_do(void **state)
{
    (void)state;
    explore_both("turns", 3, 2);
    explore_both("turns", 4, 2);
    explore_both("turns-silent", 3, 2);
    explore_both("turns-silent", 4, 3);
    explore_both("turns-jitter", 3, 1);
    explore_both("turns-leave", 3, 1);
}

static void ring_mends_after_three_failures_in_every_turn(void **state)
{
    (void)state;
    explore("turns", 4, 3, false);
    explore("turns", 5, 3, false);
    explore("turns-silent", 6, 3, false);
    explore("turns-jitter", 4, 2, false);
    explore("turns-leave", 4, 2, false);
}

static void ring_mends_in_random_schedules(void **state)
{
    (void)state;
    run("news", 12, 5, 400);
    run("news", 13, 5, 400);
    run("news", 64, 5, 60);
    run("silent", 12, 5, 400);
    run("silent", 100, 5, 30);
    run("leave", 13, 4, 400);
    run("leave", 64, 4, 60);
    run("leave-calm", 12, 0, 100);
    run("rough", 12, 6, 200);
}

static void latency_of_one_detection_is_within_its_bound(void **state)
{
    (void)state;
    run("single", 2, 1, 200);
    run("single", 12, 1, 400);
    run("single", 64, 1, 40);
}

/* Scheduling delays of seconds, reported in heartbeats. */
static void a_member_that_is_late_and_says_so_is_not_suspected(void **state)
{
    (void)state;
    run("late", 12, 3, 800);
    run("late", 2, 0, 300);
    run("late-single", 12, 1, 800);
    run("late-single", 2, 1, 300);
    run("late-pauses", 12, 2, 100);
    run("mutant-hasty", 12, 0, 100);
}

static void numbers_of_heartbeats_are_each_members_own(void **state)
{
    (void)state;
    run("uneven", 12, 5, 100);
    run("mutant-keep-heard", 12, 2, 100);
}

static void too_short_a_timeout_is_caught(void **state)
{
    (void)state;
    explore("mutant-impatient", 4, 0, false);
    run("mutant-impatient", 4, 0, 100);
    explore("mutant-phases-impatient", 4, 0, false);
}

/* Members stop for longer than the timeout. */
static void a_member_that_is_suspected_in_error_is_fenced(void **state)
{
    (void)state;
    run("errors", 12, 3, 300);
    run("errors", 64, 3, 20);
}

static void known_bugs_are_caught(void **state)
{
    (void)state;
    run("mutant-keep-observed", 12, 2, 100);
    run("mutant-keep-observer", 12, 2, 100);
    run("mutant-not-fenced", 12, 0, 100);
    run("mutant-quit-astray", 12, 0, 100);
    explore("mutant-any-request", 4, 2, false);
    explore("mutant-turns-impatient", 4, 1, false);
    explore("mutant-turns-impatient", 4, 1, true);
}

/* Without failures and delays: one heartbeat per member and period, and nothing else. Ten seconds
 * of 100 ms. */
static void cost_is_one_heartbeat_per_member_and_period(void **state)
{
    (void)state;
    for (uint32_t members = 2; members <= 256; members *= 2) {
        struct rz_sim_options options = schedules_of("ring", "news", members, 0);
        static struct rz_sim_result result;
        options.seed_first = options.seed_last = 1;
        options.plain = true;
        rz_sim_run(&options, &result);
        assert_false(result.violated);
        assert_int_equal(result.messages, members * 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_mends_in_every_schedule),
        cmocka_unit_test(ring_mends_without_news_in_every_schedule),
        cmocka_unit_test(heartbeats_need_no_common_phase),
        cmocka_unit_test(leaving_is_no_failure_in_every_schedule),
        cmocka_unit_test(news_may_lag_in_every_schedule),
        cmocka_unit_test(turns_end_as_all_orders_do),
        cmocka_unit_test(ring_mends_after_three_failures_in_every_turn),
        cmocka_unit_test(ring_mends_in_random_schedules),
        cmocka_unit_test(latency_of_one_detection_is_within_its_bound),
        cmocka_unit_test(a_member_that_is_late_and_says_so_is_not_suspected),
        cmocka_unit_test(numbers_of_heartbeats_are_each_members_own),
        cmocka_unit_test(too_short_a_timeout_is_caught),
        cmocka_unit_test(a_member_that_is_suspected_in_error_is_fenced),
        cmocka_unit_test(known_bugs_are_caught),
        cmocka_unit_test(cost_is_one_heartbeat_per_member_and_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
