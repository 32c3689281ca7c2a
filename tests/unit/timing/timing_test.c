/* SPDX-License-Identifier: BSD-3-Clause */
/* Timing runs: dates by the LogGP arithmetic, order, service, ticks, counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timing_toy.h"

#include <string.h>

static struct toy_log record;

static void assert_received(rz_id member, uint32_t i, rz_time at, rz_id from)
{
    const struct toy_line *line = toy_line(&record, TOY_RECEIVED, member, i);
    assert_non_null(line);
    assert_int_equal(line->at, at);
    assert_int_equal(line->arg[0], from);
}

/* ---- the network ---- */

static void sends_of_a_multicast_leave_one_after_the_other(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(4, &record);
    setup.network.send_overhead = 10;
    struct rz_timing *timing = rz_timing_create(&setup);
    toy_send(timing, 500, 0, TOY_NEWS, 1, (uint64_t[]){3, 1, 2}, 3);
    rz_timing_run(timing);
    assert_received(3, 0, 500 + 10 + 1000, 0);
    assert_received(1, 0, 500 + 20 + 1000, 0);
    assert_received(2, 0, 500 + 30 + 1000, 0);
    rz_timing_destroy(timing);
}

static void bandwidth_and_overheads_add_up(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(3, &record);
    setup.network.send_overhead = 10;
    setup.network.receive_overhead = 7;
    setup.network.bytes_per_second = RZ_SECOND / 2; /* 2 ns a byte */
    struct rz_timing *timing = rz_timing_create(&setup);
    rz_timing_call(timing, 0, 0, 0,
                   &(struct rz_timing_request){.call = TOY_SEND,
                                               .arg = (const uint64_t[4]){TOY_PING, 1, 4},
                                               .items = (uint64_t[]){1, 2},
                                               .n_items = 2});
    rz_timing_run(timing);
    rz_time each = 10 + 2 * (48 + 4 * 8);
    assert_received(1, 0, each + 1000 + 7, 0);
    assert_received(2, 0, 2 * each + 1000 + 7, 0);
    /* The answers carry no payload. */
    assert_received(0, 0, each + 1000 + 7 + 10 + 2 * 48 + 1000 + 7, 1);
    struct rz_timing_counts news = rz_timing_count(timing, 0, TOY_NEWS);
    assert_int_equal(news.messages, 2);
    assert_int_equal(news.bytes, 2 * 48);
    assert_int_equal(rz_timing_count(timing, 0, UINT32_MAX).bytes, 2 * 48 + 2 * 80);
    struct rz_timing_hot hot = rz_timing_hottest(timing);
    assert_int_equal(hot.sent, 2);
    assert_int_equal(hot.bytes_sent, 160);
    assert_int_equal(hot.received, 2);
    assert_int_equal(rz_timing_member_traffic(timing, 1).bytes_received, 80);
    rz_timing_destroy(timing);
}

static void members_of_one_node_use_the_local_figures(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(4, &record);
    setup.network.per_node = 2;
    setup.network.send_overhead = 10;
    setup.network.send_overhead_local = 3;
    setup.network.receive_overhead = 7;
    setup.network.receive_overhead_local = 2;
    setup.network.latency_local = 100;
    setup.network.loss = setup.network.duplication = 1.0; /* between nodes, as jitter */
    setup.network.jitter = 1000000;
    struct rz_timing *timing = rz_timing_create(&setup);
    toy_send(timing, 0, 0, TOY_NEWS, 1, (uint64_t[]){2, 1}, 2);
    rz_timing_run(timing);
    assert_received(1, 0, 10 + 3 + 100 + 2, 0);
    assert_int_equal(toy_count(&record, TOY_RECEIVED, RZ_ID_NONE), 1);
    assert_int_equal(rz_timing_count(timing, 0, UINT32_MAX).lost, 2);
    rz_timing_destroy(timing);
}

/* Three messages at the same time: each waits for the one before, and for the answer to it. */
static void a_busy_member_serves_in_order_of_arrival(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(4, &record);
    setup.network.receive_overhead = 50;
    setup.network.send_overhead = 20;
    struct rz_timing *timing = rz_timing_create(&setup);
    for (rz_id id = 3; id >= 1; id--) {
        toy_send(timing, id == 2 ? 1 : 2, id, TOY_PING, id, (uint64_t[]){0}, 1);
    }
    rz_timing_run(timing);
    rz_time first = 1 + 20 + 1000 + 50;
    assert_received(0, 0, first, 2);
    assert_received(0, 1, first + 70, 3);
    assert_received(0, 2, first + 140, 1);
    assert_received(1, 0, first + 140 + 20 + 1000 + 50, 0);
    rz_timing_destroy(timing);
}

/* Messages that arrive when a service ends, or when the last send has left, follow those that wait
 * already. */
static void no_process_jumps_the_queue(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(3, &record);
    setup.network.receive_overhead = 100;
    struct rz_timing *timing = rz_timing_create(&setup);
    toy_send(timing, 0, 0, TOY_PING, 1, (uint64_t[]){2}, 1);
    toy_send(timing, 100, 1, TOY_PING, 2, (uint64_t[]){2}, 1); /* there when the first is served */
    rz_timing_run(timing);
    assert_received(2, 0, 1100, 0);
    assert_received(2, 1, 1200, 1);
    rz_timing_destroy(timing);

    setup = toy_setup(3, &record);
    setup.network.receive_overhead = 100;
    setup.network.send_overhead = 20;
    timing = rz_timing_create(&setup);
    toy_send(timing, 0, 0, TOY_PING, 1, (uint64_t[]){2}, 1);
    toy_send(timing, 100, 1, TOY_PING, 2, (uint64_t[]){2}, 1);
    rz_timing_run(timing);
    assert_received(2, 0, 1120, 0);
    assert_received(2, 1, 1120 + 20 + 100, 1); /* after the answer to the first */
    rz_timing_destroy(timing);

    setup = toy_setup(3, &record);
    setup.network.send_overhead = 50;
    timing = rz_timing_create(&setup);
    toy_send(timing, 2000, 2, TOY_NEWS, 1, (uint64_t[]){0}, 1); /* busy until 2050 */
    toy_send(timing, 970, 0, TOY_NEWS, 2, (uint64_t[]){2}, 1);  /* arrives at 2020, waits */
    toy_send(timing, 1000, 1, TOY_NEWS, 3, (uint64_t[]){2}, 1); /* arrives at 2050 */
    rz_timing_run(timing);
    assert_received(2, 0, 2050, 0);
    assert_received(2, 1, 2050, 1);
    rz_timing_destroy(timing);
}

static void overheads_of_zero_cost_no_events(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(8, &record);
    for (rz_time overhead = 0; overhead < 2; overhead++) {
        memset(&record, 0, sizeof(record));
        setup.network.receive_overhead = overhead;
        struct rz_timing *timing = rz_timing_create(&setup);
        toy_send(timing, 0, 0, TOY_NEWS, 1, (uint64_t[]){1, 2, 3, 4, 5, 6, 7}, 7);
        rz_timing_run(timing);
        assert_int_equal(toy_count(&record, TOY_RECEIVED, RZ_ID_NONE), 7);
        assert_int_equal(rz_timing_cost(timing).events, 1 + 7 * (1 + overhead));
        assert_int_equal(rz_timing_cost(timing).steps, 8);
        rz_timing_destroy(timing);
    }
}

static rz_time slow_link(struct rz_timing *timing, rz_id from, rz_id to)
{
    (void)timing;
    return from == 0 && to == 1 ? 9000 : to == 2 ? RZ_TIME_NEVER : 0;
}

static void a_study_delays_and_loses_transfers(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(4, &record);
    setup.delay = slow_link;
    struct rz_timing *timing = rz_timing_create(&setup);
    toy_send(timing, 0, 0, TOY_NEWS, 1, (uint64_t[]){1, 2, 3}, 3);
    rz_timing_run(timing);
    assert_received(3, 0, 1000, 0);
    assert_received(1, 0, 10000, 0);
    assert_int_equal(toy_count(&record, TOY_RECEIVED, 2), 0);
    assert_int_equal(rz_timing_count(timing, 0, UINT32_MAX).lost, 1);
    rz_timing_destroy(timing);
}

/* ---- steps ---- */

static void equal_dates_are_served_in_order_of_queueing(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(6, &record);
    struct rz_timing *timing = rz_timing_create(&setup);
    static const rz_id order[] = {4, 2, 5, 1, 3};
    for (uint32_t i = 0; i < 5; i++) {
        toy_send(timing, 7, order[i], TOY_NEWS, i, (uint64_t[]){0}, 1);
    }
    rz_timing_run(timing);
    for (uint32_t i = 0; i < 5; i++) {
        assert_received(0, i, 1007, order[i]);
    }
    rz_timing_destroy(timing);
}

static void more_and_need_are_served(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(2, &record);
    struct rz_timing *timing = rz_timing_create(&setup);
    rz_timing_call(
        timing, 0, 0, 0,
        &(struct rz_timing_request){.call = TOY_MANY, .arg = (const uint64_t[4]){1000, 1}});
    for (uint64_t more = 8; more <= 100000; more *= 5) {
        rz_timing_call(
            timing, 0, 0, 0,
            &(struct rz_timing_request){.call = TOY_GROW, .arg = (const uint64_t[4]){more}});
    }
    rz_timing_run(timing);
    assert_int_equal(toy_count(&record, TOY_RECEIVED, 1), 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(toy_line(&record, TOY_RECEIVED, 1, i)->arg[1], 1000 - i);
    }
    assert_int_equal(toy_count(&record, TOY_GROWN, 0), 6);
    assert_true(rz_timing_cost(timing).bytes_peak > 25000);
    rz_timing_destroy(timing);
}

static void tick_to(struct rz_timing *timing, rz_time at, rz_time deadline)
{
    rz_timing_call(
        timing, 0, 0, at,
        &(struct rz_timing_request){.call = TOY_TIMER, .arg = (const uint64_t[4]){deadline}});
}

/* Put off twice, the tick occurs once, at the last date; brought forward, at the earlier one. */
static void ticks_follow_the_deadline(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(1, &record);
    struct rz_timing *timing = rz_timing_create(&setup);
    tick_to(timing, 0, 100);
    tick_to(timing, 50, 200);
    tick_to(timing, 150, 300);
    tick_to(timing, 400, 900);
    tick_to(timing, 500, 700);
    tick_to(timing, 800, 850);
    rz_timing_run(timing);
    assert_int_equal(toy_count(&record, TOY_TICKED, 0), 3);
    assert_int_equal(toy_line(&record, TOY_TICKED, 0, 0)->at, 300);
    assert_int_equal(toy_line(&record, TOY_TICKED, 0, 1)->at, 700);
    assert_int_equal(toy_line(&record, TOY_TICKED, 0, 2)->at, 850);
    rz_timing_destroy(timing);
}

/* At most one tick is pending: an overtaken one is dropped, and one that waits is not doubled. */
static void ticks_do_not_multiply(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(1, &record);
    struct rz_timing *timing = rz_timing_create(&setup);
    tick_to(timing, 0, 900);
    tick_to(timing, 10, 700);
    tick_to(timing, 800, 950);
    rz_timing_run(timing);
    assert_int_equal(toy_count(&record, TOY_TICKED, 0), 2);
    assert_int_equal(rz_timing_cost(timing).events, 3 + 3);
    rz_timing_destroy(timing);

    setup = toy_setup(2, &record);
    setup.network.receive_overhead = 100;
    timing = rz_timing_create(&setup);
    tick_to(timing, 0, 1150);
    for (uint32_t i = 0; i < 5; i++) {
        toy_send(timing, 0, 1, TOY_NEWS, i, (uint64_t[]){0}, 1);
    }
    rz_timing_run(timing);
    assert_int_equal(toy_line(&record, TOY_TICKED, 0, 0)->at, 1500); /* after what came before */
    assert_int_equal(rz_timing_cost(timing).events, 6 + 5 * 2 + 1);
    rz_timing_destroy(timing);
}

static void a_run_ends_at_its_date_and_goes_on(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(1, &record);
    setup.until = 250;
    struct rz_timing *timing = rz_timing_create(&setup);
    tick_to(timing, 0, 300);
    rz_timing_run(timing);
    assert_int_equal(rz_timing_now(timing), 250);
    assert_int_equal(record.n, 0);
    tick_to(timing, 0, 260); /* a date before now means now */
    rz_timing_until(timing, 1000);
    rz_timing_run(timing);
    assert_int_equal(toy_line(&record, TOY_TICKED, 0, 0)->at, 260);
    rz_timing_destroy(timing);
}

/* ---- hosts ---- */

/* As a host joins two protocols: the output of one is passed to the other at once. */
static void host(struct rz_timing *timing, rz_id member, const struct rz_action *notice)
{
    if (notice->what != TOY_RECEIVED || member != 1) {
        return;
    }
    rz_id failed[] = {5, 6};
    rz_timing_tell_news(timing, 1, 1, 0,
                        &(struct rz_timing_news){.failed = failed, .n_failed = 2, .arg = 77});
    rz_timing_call(timing, 1, 0, 0,
                   &(struct rz_timing_request){.call = TOY_SEND,
                                               .arg = (const uint64_t[4]){TOY_NEWS, 9},
                                               .items = (uint64_t[]){2},
                                               .n_items = 1});
    rz_timing_tell(timing, 2, 0, 0, failed, 1);
}

static void a_host_calls_its_parts_at_once(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(3, &record);
    toy_add_part(&setup);
    struct rz_timing *timing = rz_timing_create(&setup);
    record.also = host;
    toy_send(timing, 0, 0, TOY_NEWS, 1, (uint64_t[]){1, 2}, 2);
    rz_timing_run(timing);
    assert_int_equal(record.n, 6);
    static const struct toy_line expected[] = {
        {1000, 1, 0, TOY_RECEIVED, {0, 1, 0}}, {1000, 1, 1, TOY_FAILURE, {5, 77, 0}},
        {1000, 1, 1, TOY_FAILURE, {6, 77, 0}}, {1000, 2, 0, TOY_RECEIVED, {0, 1, 0}},
        {1000, 2, 0, TOY_FAILURE, {5, 0, 0}},  {2000, 2, 0, TOY_RECEIVED, {1, 9, 0}},
    };
    for (uint32_t i = 0; i < 6; i++) {
        assert_memory_equal(&record.lines[i], &expected[i], sizeof(expected[i]));
    }
    rz_timing_destroy(timing);
}

static uint64_t alarms[4];
static uint32_t n_alarms;

static void alarm_rang(struct rz_timing *timing, uint64_t what)
{
    alarms[n_alarms++] = what;
    if (what == 1) {
        rz_timing_alarm(timing, rz_timing_now(timing) + 10, 2);
    } else {
        rz_timing_stop(timing);
    }
}

static void alarms_ring_and_stop_the_run(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(1, &record);
    setup.alarm = alarm_rang;
    struct rz_timing *timing = rz_timing_create(&setup);
    n_alarms = 0;
    rz_timing_alarm(timing, 30, 1);
    tick_to(timing, 0, 1000);
    rz_timing_run(timing);
    assert_int_equal(n_alarms, 2);
    assert_int_equal(alarms[1], 2);
    assert_int_equal(rz_timing_now(timing), 40);
    assert_int_equal(record.n, 0);
    rz_timing_run(timing);
    assert_int_equal(toy_count(&record, TOY_TICKED, 0), 1);
    rz_timing_destroy(timing);
}

static rz_id senders[4];
static uint32_t n_senders;

static void note_sender(struct rz_timing *timing, rz_id member, rz_id from)
{
    assert_int_equal(member, 1);
    assert_int_equal(toy_count(rz_timing_study(timing), TOY_RECEIVED, 1), n_senders);
    senders[n_senders++] = from;
}

static void a_study_sees_messages_before_their_member(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(3, &record);
    setup.received = note_sender;
    struct rz_timing *timing = rz_timing_create(&setup);
    n_senders = 0;
    toy_send(timing, 0, 2, TOY_NEWS, 1, (uint64_t[]){1}, 1);
    toy_send(timing, 5, 0, TOY_NEWS, 1, (uint64_t[]){1}, 1);
    rz_timing_run(timing);
    assert_int_equal(n_senders, 2);
    assert_int_equal(senders[0], 2);
    assert_int_equal(senders[1], 0);
    rz_timing_destroy(timing);
}

static rz_time one_by_one(struct rz_timing *timing, rz_id member)
{
    (void)timing;
    return 100 * member;
}

static void members_start_at_dates_of_their_own(void **state)
{
    (void)state;
    struct rz_timing_setup setup = toy_setup(3, &record);
    struct rz_timing *together = rz_timing_create(&setup);
    setup.starts = one_by_one;
    toy_add_part(&setup);
    struct rz_timing *apart = rz_timing_create(&setup);
    for (rz_id id = 0; id < 3; id++) {
        assert_int_equal(toy_started(rz_timing_state(together, id, 0)), 0);
        assert_int_equal(toy_started(rz_timing_state(apart, id, 0)), 100 * id);
        assert_int_equal(toy_started(rz_timing_state(apart, id, 1)), 100 * id);
    }
    rz_timing_destroy(together);
    rz_timing_destroy(apart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_of_a_multicast_leave_one_after_the_other),
        cmocka_unit_test(bandwidth_and_overheads_add_up),
        cmocka_unit_test(members_of_one_node_use_the_local_figures),
        cmocka_unit_test(a_busy_member_serves_in_order_of_arrival),
        cmocka_unit_test(no_process_jumps_the_queue),
        cmocka_unit_test(overheads_of_zero_cost_no_events),
        cmocka_unit_test(a_study_delays_and_loses_transfers),
        cmocka_unit_test(equal_dates_are_served_in_order_of_queueing),
        cmocka_unit_test(more_and_need_are_served),
        cmocka_unit_test(ticks_follow_the_deadline),
        cmocka_unit_test(ticks_do_not_multiply),
        cmocka_unit_test(a_run_ends_at_its_date_and_goes_on),
        cmocka_unit_test(a_host_calls_its_parts_at_once),
        cmocka_unit_test(alarms_ring_and_stop_the_run),
        cmocka_unit_test(a_study_sees_messages_before_their_member),
        cmocka_unit_test(members_start_at_dates_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
