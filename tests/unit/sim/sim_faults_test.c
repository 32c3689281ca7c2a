/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong in random runs: each fault is seen, ends when it must, replays, and is left out
 * of the printed plan where it is not needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/sim.h"
#include "toy.h"

#include <stdlib.h>
#include <string.h>

#define SENT 10 /* messages of member 0 in the toy's sound kind, to 1, 2, 3, 1, ... */

struct record {
    uint32_t got[4];
    rz_time first[4];
};

static struct rz_sim_result result;
static bool destinations_seen[8]; /* by bits: member 1, 2, 3 got something */

static void notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    (void)notice;
    struct record *record = rz_sim_record(sim);
    if (record->got[member]++ == 0) {
        record->first[member] = rz_sim_now(sim);
    }
}

static bool none_missing(struct rz_sim *sim)
{
    const struct record *record = rz_sim_record(sim);
    uint32_t got = record->got[1] + record->got[2] + record->got[3];
    return got >= SENT || rz_sim_say(sim, "a message is missing");
}

static bool none_twice(struct rz_sim *sim)
{
    const struct record *record = rz_sim_record(sim);
    uint32_t got = record->got[1] + record->got[2] + record->got[3];
    return got <= SENT || rz_sim_say(sim, "a message came twice");
}

static bool nothing_late(struct rz_sim *sim)
{
    return rz_sim_now(sim) <= 100000 || rz_sim_say(sim, "something came late");
}

static bool second_waits(struct rz_sim *sim)
{
    const struct record *record = rz_sim_record(sim);
    return record->first[2] == 0 || record->first[2] >= 20000 ||
           rz_sim_say(sim, "2 was not paused");
}

static bool not_just_the_last_rack(struct rz_sim *sim)
{
    bool last_only = rz_sim_alive(sim, 0) && rz_sim_alive(sim, 1) && !rz_sim_alive(sim, 2) &&
                     !rz_sim_alive(sim, 3);
    return !last_only || rz_sim_say(sim, "the last rack has failed");
}

static bool note_destinations(struct rz_sim *sim)
{
    const struct record *record = rz_sim_record(sim);
    uint32_t bits = 0;
    for (rz_id id = 1; id < 4; id++) {
        bits |= (uint32_t)(record->got[id] > 0) << (id - 1);
    }
    destinations_seen[bits] = true;
    return true;
}

static struct rz_sim_scenario quiet_scenario(bool (*liveness)(struct rz_sim *sim))
{
    struct rz_sim_scenario scenario = toy_scenarios[TOY_SOUND];
    scenario.crashes = 0;
    scenario.record_bytes = sizeof(struct record);
    scenario.notified = notified;
    scenario.liveness = liveness;
    return scenario;
}

static void run(const struct rz_sim_scenario *scenario, const char *plan)
{
    struct rz_sim_options options = {.scenario = scenario,
                                     .crashes = UINT32_MAX,
                                     .seed_first = 1,
                                     .seed_last = 1000,
                                     .plan = plan,
                                     .quiet = true};
    rz_sim_run(&options, &result);
}

static const char *plan_of_result(void)
{
    static char plan[sizeof(result.replay)];
    const char *at = strstr(result.replay, "--plan ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "--plan %8191s", plan), 1);
    return plan;
}

/* The violation replays, and its plan has nothing but one fault, which begins so. */
static void needs_only(const struct rz_sim_scenario *scenario, const char *fault)
{
    assert_true(result.violated);
    char reason[sizeof(result.reason)], plan[sizeof(result.replay)];
    strcpy(reason, result.reason);
    strcpy(plan, plan_of_result());
    assert_int_equal(strncmp(plan, fault, strlen(fault)), 0);
    assert_null(strchr(plan, ','));
    struct rz_sim_options options = {
        .scenario = scenario, .crashes = UINT32_MAX, .plan = plan, .quiet = true};
    options.seed_first = strtoull(strstr(result.replay, "--seed ") + 7, NULL, 10);
    options.plain = strstr(result.replay, "--plain") != NULL;
    rz_sim_replay(&options, &result);
    assert_true(result.violated);
    assert_string_equal(result.reason, reason);
}

static void give_all_faults(struct rz_sim_scenario *scenario)
{
    scenario->crashes = 2;
    scenario->faults = (struct rz_sim_faults){.until = 20000,
                                              .loss = 200,
                                              .duplication = 200,
                                              .partitions = 3,
                                              .partition_max = 5000,
                                              .pauses = 3,
                                              .slow = 1000000};
}

static void without_faults_nothing_goes_wrong(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = quiet_scenario(none_missing);
    scenario.safety = none_twice;
    run(&scenario, NULL);
    assert_false(result.violated);
    assert_int_equal(result.messages, 1000 * SENT);
    assert_int_equal(result.lost + result.doubled + result.waited, 0);
}

static void messages_are_lost(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = quiet_scenario(none_missing);
    scenario.faults = (struct rz_sim_faults){.until = 100000, .loss = 100};
    run(&scenario, NULL);
    needs_only(&scenario, "loss:");
    scenario.liveness = NULL;
    run(&scenario, NULL);
    assert_int_equal(result.runs, 1000);
    assert_in_range(result.lost, 1, result.messages / 10);
    run(&scenario, "loss:1000@0-100000");
    assert_int_equal(result.lost, result.messages);
}

static void messages_come_twice(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = quiet_scenario(none_twice);
    scenario.faults = (struct rz_sim_faults){.until = 100000, .duplication = 100};
    run(&scenario, NULL);
    needs_only(&scenario, "double:");
}

static void partition_loses_what_is_sent_across(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = quiet_scenario(none_missing);
    scenario.faults = (struct rz_sim_faults){.until = 10000, .partitions = 2};
    run(&scenario, NULL);
    needs_only(&scenario, "part:");
}

static void slow_links_are_slower_than_all_others(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = quiet_scenario(NULL);
    scenario.safety = nothing_late;
    scenario.faults = (struct rz_sim_faults){.until = 10000, .slow = 1000000};
    run(&scenario, NULL);
    needs_only(&scenario, "slow:");
}

static void paused_member_does_nothing_and_goes_on(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = quiet_scenario(none_missing);
    scenario.safety = second_waits;
    run(&scenario, "pause:2@0-20000");
    assert_false(result.violated);
    assert_true(result.waited > 0);
    scenario.safety = NULL;
    scenario.faults = (struct rz_sim_faults){.until = 10000, .pauses = 4, .pause_max = 2000};
    run(&scenario, NULL);
    assert_false(result.violated);
    assert_true(result.waited > 0);
    scenario.safety = nothing_late;
    scenario.faults.until = 1000000;
    scenario.faults.pause_max = 0;
    run(&scenario, NULL);
    needs_only(&scenario, "pause:");
}

/* In the untimed toy nothing is sent at date 0; from date 1 on the network is kind. */
static void troubles_end_at_their_date(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = quiet_scenario(none_missing);
    scenario.safety = none_twice;
    scenario.faults = (struct rz_sim_faults){
        .until = 1, .loss = 1000, .duplication = 1000, .partitions = 4, .pauses = 4, .slow = 9};
    run(&scenario, NULL);
    assert_false(result.violated);
    assert_int_equal(result.messages, 1000 * SENT);
}

static void rack_fails_at_once(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = quiet_scenario(not_just_the_last_rack);
    scenario.crashes = 2;
    scenario.rack = 2;
    run(&scenario, NULL);
    assert_true(result.violated);
    rz_id victim[2];
    unsigned long long date[2];
    assert_int_equal(sscanf(plan_of_result(), "%u@d%llu:%*u:%*u,%u@d%llu", &victim[0], &date[0],
                            &victim[1], &date[1]),
                     4);
    assert_int_equal(victim[0] / 2, 1);
    assert_int_equal(victim[1] / 2, 1);
    assert_int_equal(date[0], date[1]);
}

static void plan_keeps_only_what_is_needed(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = quiet_scenario(none_twice);
    give_all_faults(&scenario);
    run(&scenario, NULL);
    needs_only(&scenario, "double:");
    scenario.crashes = 0; /* news of a failure may come late, too */
    scenario.liveness = NULL;
    scenario.safety = nothing_late;
    run(&scenario, NULL);
    needs_only(&scenario, "slow:");
}

static void all_faults_together_are_the_same_run_each_time(void **state)
{
    (void)state;
    struct rz_sim_scenario scenario = quiet_scenario(NULL);
    give_all_faults(&scenario);
    run(&scenario, NULL);
    struct rz_sim_result first = result;
    run(&scenario, NULL);
    assert_memory_equal(&first, &result, sizeof(result));
    assert_true(result.lost > 0 && result.doubled > 0 && result.waited > 0 && result.crashes > 0);
}

/* Member 0 fails before its call, after it, between two of its sends, and with any part of them. */
static void crash_comes_at_every_point_of_a_step(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        uint64_t messages;
    } points[] = {{"0@0:0:0", 0}, {"0@0:3:0", 3}, {"0@0:9:0", 9}, {"0@0:4294967295:0", SENT}};
    struct rz_sim_scenario scenario = quiet_scenario(NULL);
    for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
        run(&scenario, points[i].plan);
        assert_int_equal(result.messages, 1000 * points[i].messages);
        assert_int_equal(result.crashes, 1000);
    }
    scenario.liveness = note_destinations;
    for (uint32_t loss = 1; loss <= 100; loss++) {
        char plan[64];
        snprintf(plan, sizeof(plan), "0@0:3:%u", loss);
        run(&scenario, plan);
    }
    for (uint32_t bits = 0; bits < 8; bits++) {
        assert_true(destinations_seen[bits]);
    }
}

static void troubles_are_read_as_printed(void **state)
{
    (void)state;
    assert_true(rz_sim_plan_valid("loss:100@0-50,double:3@1-2,part:9@5-6,pause:2@3-4,slow:1@0-9"));
    assert_true(rz_sim_plan_valid("pause:2@3-4,3@d12:1:7,0@5:0:0"));
    assert_false(rz_sim_plan_valid("pause:2@4-4"));
    assert_false(rz_sim_plan_valid("pause:2@4"));
    assert_false(rz_sim_plan_valid("sleep:2@3-4"));
    assert_false(rz_sim_plan_valid("loss:1@2-3,"));
    assert_false(rz_sim_plan_valid(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_faults_nothing_goes_wrong),
        cmocka_unit_test(messages_are_lost),
        cmocka_unit_test(messages_come_twice),
        cmocka_unit_test(partition_loses_what_is_sent_across),
        cmocka_unit_test(slow_links_are_slower_than_all_others),
        cmocka_unit_test(paused_member_does_nothing_and_goes_on),
        cmocka_unit_test(troubles_end_at_their_date),
        cmocka_unit_test(rack_fails_at_once),
        cmocka_unit_test(plan_keeps_only_what_is_needed),
        cmocka_unit_test(all_faults_together_are_the_same_run_each_time),
        cmocka_unit_test(crash_comes_at_every_point_of_a_step),
        cmocka_unit_test(troubles_are_read_as_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
