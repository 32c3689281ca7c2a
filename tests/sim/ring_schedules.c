/* The heartbeat ring under schedules: small worlds whole, larger ones at random, a mutant, and what
 * it costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/sim.h"

static struct rz_sim_options options_of(const char *name, uint32_t members, uint32_t crashes)
{
    struct rz_sim_options options = {
        .scenario = rz_sim_find("ring", name), .members = members, .crashes = crashes};
    if (!options.scenario)
        fail_msg("there is no scenario %s", name);
    return options;
}

static void explore(const char *name, uint32_t members, uint32_t crashes)
{
    struct rz_sim_options options = options_of(name, members, crashes);
    static struct rz_sim_result result;
    rz_sim_explore(&options, &result);
    if (!rz_sim_passed(options.scenario, &result))
        fail_msg("%s: %s", result.over_budget ? "too many states" : result.reason, result.replay);
    assert_int_equal(result.cycles, 0);
}

static void run(const char *name, uint32_t members, uint32_t crashes, uint64_t seeds)
{
    struct rz_sim_options options = options_of(name, members, crashes);
    static struct rz_sim_result result;
    options.seed_first = 1;
    options.seed_last = seeds;
    rz_sim_run(&options, &result);
    if (!rz_sim_passed(options.scenario, &result))
        fail_msg("%s: %s", result.reason, result.replay);
}

static void ring_mends_in_every_schedule(void **state)
{
    (void)state;
    for (uint32_t members = 1; members <= 4; members++)
        explore("tiny", members, members < 3 ? members - 1 : 2);
    explore("tiny", 5, 1);
}

static void ring_mends_without_news_in_every_schedule(void **state)
{
    (void)state;
    for (uint32_t members = 2; members <= 5; members++)
        explore("tiny-silent", members, members < 3 ? 1 : 2);
}

static void leaving_is_no_death_in_every_schedule(void **state)
{
    (void)state;
    explore("tiny-leave", 3, 1);
    explore("tiny-leave", 4, 0);
    explore("tiny-leave", 4, 1);
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
}

static void latency_of_one_detection_is_within_its_bound(void **state)
{
    (void)state;
    run("single", 2, 1, 200);
    run("single", 12, 1, 400);
    run("single", 64, 1, 40);
}

static void too_short_a_timeout_is_caught(void **state)
{
    (void)state;
    explore("mutant-impatient", 4, 0);
    run("mutant-impatient", 4, 0, 100);
}

/* Without deaths and delays: one heartbeat per member and period, and nothing else. Ten seconds of
 * 100 ms. */
static void cost_is_one_heartbeat_per_member_and_period(void **state)
{
    (void)state;
    for (uint32_t members = 2; members <= 256; members *= 2) {
        struct rz_sim_options options = options_of("news", members, 0);
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
        cmocka_unit_test(leaving_is_no_death_in_every_schedule),
        cmocka_unit_test(ring_mends_in_random_schedules),
        cmocka_unit_test(latency_of_one_detection_is_within_its_bound),
        cmocka_unit_test(too_short_a_timeout_is_caught),
        cmocka_unit_test(cost_is_one_heartbeat_per_member_and_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
