/* SPDX-License-Identifier: BSD-3-Clause */
/* Timing runs: failures, pauses, partitions, loss, duplication, and that a run repeats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timing_toy.h"

#include <string.h>

static struct toy_log record;

/* ---- failures ---- */

static uint32_t failures;

static void count_failure(struct rz_timing *timing, rz_id member)
{
    assert_false(rz_timing_alive(timing, member));
    failures++;
}

/* Messages that have left are delivered; those that the sender was still sending are lost; one that
 * leaves at that very moment has left. */
static void a_failure_cuts_a_multicast(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(8, &record);
    setup.network.send_overhead = 10;
    setup.network.jitter = 3000;
    setup.failed = count_failure;
    failures = 0;
    struct rz_timing *timing = rz_timing_create(&setup);
    toy_send(timing, 0, 0, TOY_NEWS, 1, (uint64_t[]){7, 6, 5, 4, 3, 2, 1}, 7);
    rz_timing_kill(timing, 0, 30);
    rz_timing_kill(timing, 0, 31);
    rz_timing_run(timing);
    assert_int_equal(failures, 1);
    assert_int_equal(toy_count(&record, TOY_RECEIVED, RZ_ID_NONE), 3);
    for (rz_id id = 5; id <= 7; id++) {
        assert_int_equal(toy_count(&record, TOY_RECEIVED, id), 1);
    }
    assert_int_equal(rz_timing_count(timing, 0, TOY_NEWS).messages, 7);
    assert_int_equal(rz_timing_count(timing, 0, TOY_NEWS).lost, 4);
    rz_timing_destroy(timing);
}

/* Neither waiting nor later messages for the failed member are served. */
static void the_failed_do_nothing(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(3, &record);
    setup.network.receive_overhead = 100;
    struct rz_timing *timing = rz_timing_create(&setup);
    for (uint32_t i = 0; i < 5; i++) {
        toy_send(timing, 0, i % 2, TOY_PING, i, (uint64_t[]){2}, 1);
    }
    rz_timing_call(
        timing, 2, 0, 0,
        &(struct rz_timing_request){.call = TOY_TIMER, .arg = (const uint64_t[4]){5000}});
    toy_send(timing, 6000, 0, TOY_PING, 9, (uint64_t[]){2}, 1);
    rz_timing_kill(timing, 2, 1250);
    rz_timing_run(timing);
    assert_int_equal(toy_count(&record, TOY_RECEIVED, 2), 2);
    assert_int_equal(toy_count(&record, TOY_TICKED, 2), 0);
    assert_int_equal(rz_timing_member_traffic(timing, 2).received, 5);
    assert_int_equal(rz_timing_member_traffic(timing, 2).sent, 2);
    rz_timing_destroy(timing);
}

static void kill_self(struct rz_timing *timing, rz_id member, const struct rz_action *notice)
{
    if (notice->what != TOY_RECEIVED || member != 1) {
        return;
    }
    toy_send(timing, 0, 1, TOY_NEWS, 5, (uint64_t[]){2}, 1); /* follows the step: too late */
    rz_timing_kill(timing, 1, 0);
}

static void a_host_stops_in_the_middle_of_a_step(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(3, &record);
    struct rz_timing *timing = rz_timing_create(&setup);
    record.also = kill_self;
    toy_send(timing, 0, 0, TOY_PING, 1, (uint64_t[]){1}, 1); /* the answer comes after the notice */
    rz_timing_run(timing);
    assert_int_equal(record.n, 1);
    assert_int_equal(rz_timing_count(timing, 0, UINT32_MAX).messages, 1);
    rz_timing_destroy(timing);
}

/* ---- pauses ---- */

/* Messages first, in order of arrival, then the tick that came due meanwhile. */
static void a_pause_defers_everything(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(3, &record);
    struct rz_timing *timing = rz_timing_create(&setup);
    rz_timing_call(
        timing, 2, 0, 0,
        &(struct rz_timing_request){.call = TOY_TIMER, .arg = (const uint64_t[4]){1500}});
    rz_timing_pause(timing, 2, 1200, 4000);
    rz_timing_pause(timing, 2, 1300, 3000); /* inside the other */
    for (uint32_t i = 0; i < 4; i++) {
        toy_send(timing, 1000 * i, i % 2, TOY_NEWS, i, (uint64_t[]){2}, 1);
    }
    rz_timing_run(timing);
    static const rz_time at[] = {1000, 4000, 4000, 4000, 4000};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(toy_line(&record, TOY_RECEIVED, 2, i)->at, at[i]);
        assert_int_equal(toy_line(&record, TOY_RECEIVED, 2, i)->arg[1], i);
    }
    assert_int_equal(toy_line(&record, TOY_TICKED, 2, 0)->at, 4000);
    rz_timing_destroy(timing);
}

static void a_pause_stops_a_service(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(2, &record);
    setup.network.receive_overhead = 100;
    struct rz_timing *timing = rz_timing_create(&setup);
    rz_timing_pause(timing, 1, 1050, 2000);
    toy_send(timing, 0, 0, TOY_NEWS, 1, (uint64_t[]){1}, 1);
    toy_send(timing, 10, 0, TOY_NEWS, 2, (uint64_t[]){1}, 1);
    rz_timing_run(timing);
    assert_int_equal(toy_line(&record, TOY_RECEIVED, 1, 0)->at, 2000);
    assert_int_equal(toy_line(&record, TOY_RECEIVED, 1, 1)->at, 2100);
    rz_timing_destroy(timing);
}

/* ---- partitions ---- */

static void a_partition_loses_what_crosses_it_until_it_heals(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(4, &record);
    struct rz_timing *timing = rz_timing_create(&setup);
    rz_timing_partition(timing, (const uint8_t[]){0, 0, 1, 1}, 2000, 4000);
    for (uint32_t i = 0; i < 6; i++) {
        toy_send(timing, 1000 * i, 0, TOY_NEWS, i, (uint64_t[]){1, 2}, 2);
    }
    rz_timing_run(timing);
    assert_int_equal(toy_count(&record, TOY_RECEIVED, 1), 6);
    assert_int_equal(toy_count(&record, TOY_RECEIVED, 2), 4);
    assert_int_equal(toy_line(&record, TOY_RECEIVED, 2, 1)->arg[1], 1); /* was under way */
    assert_int_equal(toy_line(&record, TOY_RECEIVED, 2, 2)->arg[1], 4);
    assert_int_equal(rz_timing_count(timing, 0, TOY_NEWS).lost, 2);
    rz_timing_destroy(timing);
}

/* ---- loss and duplication ---- */

static void copies_add_up(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(2, &record);
    setup.network.loss = 0.2;
    setup.network.duplication = 0.1;
    struct rz_timing *timing = rz_timing_create(&setup);
    rz_timing_call(
        timing, 0, 0, 0,
        &(struct rz_timing_request){.call = TOY_MANY, .arg = (const uint64_t[4]){2000, 1}});
    rz_timing_run(timing);
    struct rz_timing_counts counts = rz_timing_count(timing, 0, UINT32_MAX);
    uint32_t received = toy_count(&record, TOY_RECEIVED, 1);
    assert_int_equal(counts.messages, 2000);
    assert_int_equal(received, 2000 + counts.duplicated - counts.lost);
    assert_in_range(counts.lost, 360, 520);       /* 440 expected, deviation 19 */
    assert_in_range(counts.duplicated, 140, 260); /* 200 expected, deviation 13 */
    rz_timing_destroy(timing);
}

static void a_copy_goes_its_own_way(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(2, &record);
    setup.network.jitter = 1000000;
    setup.network.duplication = 1;
    setup.network.loss = 0.5;
    struct rz_timing *timing = rz_timing_create(&setup);
    rz_timing_call(
        timing, 0, 0, 0,
        &(struct rz_timing_request){.call = TOY_MANY, .arg = (const uint64_t[4]){400, 1}});
    rz_timing_run(timing);
    uint32_t copies[401] = {0}, times[3] = {0};
    for (uint32_t i = 0; i < record.n; i++) {
        copies[record.lines[i].arg[1]]++;
    }
    for (uint32_t i = 1; i <= 400; i++) {
        times[copies[i]]++;
    }
    for (uint32_t i = 0; i < 3; i++) { /* 100, 200, 100 expected */
        assert_in_range(times[i], i == 1 ? 160 : 65, i == 1 ? 240 : 135);
    }
    rz_timing_destroy(timing);
}

/* ---- repetition ---- */

/* Storms of pings with everything that is drawn. Returns the hash of all notices. */
static uint64_t storm(uint64_t seed, rz_time kill_at)
{
    struct rz_timing_setup setup = toy_setup(16, &record);
    setup.seed = seed;
    setup.network = (struct rz_timing_network){.latency = 1000,
                                               .latency_local = 100,
                                               .jitter = 500,
                                               .send_overhead = 5,
                                               .receive_overhead = 9,
                                               .bytes_per_second = RZ_SECOND,
                                               .per_node = 4,
                                               .loss = 0.1,
                                               .duplication = 0.1};
    struct rz_timing *timing = rz_timing_create(&setup);
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t to[3];
        rz_id from = (rz_id)rz_timing_random(timing, 15);
        for (uint32_t k = 0; k < 3; k++) {
            to[k] = (from + 1 + rz_timing_random(timing, 15)) % 16;
        }
        toy_send(timing, rz_timing_random(timing, 5000), from, TOY_PING, i, to, 3);
    }
    rz_timing_pause(timing, 3, 1000, 2000);
    rz_timing_kill(timing, 15, kill_at);
    rz_timing_run(timing);
    rz_timing_destroy(timing);
    return record.hash;
}

static void a_run_is_a_function_of_its_setup(void **state)
{
    (void)state;
    uint64_t first = storm(1, 3000);
    assert_true(record.n > 400);
    assert_int_equal(storm(1, 3000), first);
    assert_true(storm(2, 3000) != first);
    assert_true(storm(1, 2000) != first);
}

/* When each of the messages of 0 to 1 arrived. */
static void arrivals(bool others, rz_time at[20])
{
    struct rz_timing_setup setup = toy_setup(4, &record);
    setup.network.jitter = 100000;
    struct rz_timing *timing = rz_timing_create(&setup);
    for (uint32_t i = 0; i < 20; i++) {
        toy_send(timing, i, 0, TOY_NEWS, i, (uint64_t[]){1}, 1);
        if (others) {
            toy_send(timing, i, 2, TOY_NEWS, i, (uint64_t[]){3}, 1);
        }
    }
    rz_timing_run(timing);
    assert_int_equal(toy_count(&record, TOY_RECEIVED, 1), 20);
    for (uint32_t i = 0; i < 20; i++) {
        at[toy_line(&record, TOY_RECEIVED, 1, i)->arg[1]] =
            toy_line(&record, TOY_RECEIVED, 1, i)->at;
    }
    rz_timing_destroy(timing);
}

static void delays_do_not_depend_on_what_others_do(void **state)
{
    (void)state;
    rz_time alone[20], among[20];
    arrivals(false, alone);
    arrivals(true, among);
    assert_memory_equal(alone, among, sizeof(alone));
    bool differ = false;
    for (uint32_t i = 1; i < 20; i++) {
        differ |= alone[i] - i != alone[0];
    }
    assert_true(differ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_cuts_a_multicast),
        cmocka_unit_test(the_failed_do_nothing),
        cmocka_unit_test(a_host_stops_in_the_middle_of_a_step),
        cmocka_unit_test(a_pause_defers_everything),
        cmocka_unit_test(a_pause_stops_a_service),
        cmocka_unit_test(a_partition_loses_what_crosses_it_until_it_heals),
        cmocka_unit_test(copies_add_up),
        cmocka_unit_test(a_copy_goes_its_own_way),
        cmocka_unit_test(a_run_is_a_function_of_its_setup),
        cmocka_unit_test(delays_do_not_depend_on_what_others_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
