/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of processes that have ended: how long the end of the job waits for what they have left,
 * and what it says then. */
#include "daemon/process/output.h"
#include "port/clock.h"
#include "port/descriptor.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define WAIT_NS (100 * RZ_SECOND)
/* A time at which the wait is over already. */
#define LONG_AGO (rz_clock_now() - 2 * WAIT_NS)

static struct {
    struct rz_own_node own;
    struct rz_outputs *outputs;
    char shown[256], said[1024];
    unsigned ends;
} test;

static void show(void *arg, const struct rz_launch_message *message)
{
    (void)arg;
    if (message->type == RZ_LAUNCH_OUTPUT) {
        strncat(test.shown, (const char *)message->output.data, message->output.data_length);
    }
}

static bool keep_line(void *arg, const char *line)
{
    (void)arg;
    strncat(test.said, line, sizeof(test.said) - strlen(test.said) - 1);
    return true;
}

static void count_end(void *arg)
{
    (void)arg;
    test.ends++;
}

static int set_up(void **state)
{
    (void)state;
    memset(&test, 0, sizeof(test));
    test.own.base = event_base_new();
    test.own.job.n_ranks = 8;
    test.own.job.output_wait_ns = WAIT_NS;
    test.own.report.sink = (struct rz_report_sink){.send = show};
    test.own.report.tap = (struct rz_report_tap){.line = keep_line};
    assert_int_equal(rz_outputs_open(&test.outputs, &test.own), RZ_OK);
    rz_outputs_on_end(test.outputs, count_end, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rz_outputs_close(test.outputs);
    event_base_free(test.own.base);
    return 0;
}

/* A process of rank writes this and ends; returns the end of the pipe that it has left open. */
static int leaves(uint32_t rank, uint32_t stream, const char *text, bool awaited)
{
    struct rz_output *output;
    int ends[2];
    assert_int_equal(rz_descriptor_pipe(ends), RZ_OK);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(rz_output_open(&output, test.outputs, rank, stream, ends[0]), RZ_OK);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    rz_output_drain(output);
    rz_output_leave(output, awaited);
    return ends[1];
}

static void what_is_left_is_awaited_until_its_end(void **state)
{
    (void)state;
    rz_time now = rz_clock_now();
    assert_int_equal(rz_outputs_await(test.outputs, now), 0);
    int end = leaves(3, 1, "early ", true);
    assert_int_equal(rz_outputs_await(test.outputs, now), now + WAIT_NS);
    assert_int_equal(write(end, "late", 4), 4);
    event_base_loop(test.own.base, EVLOOP_ONCE);
    assert_string_equal(test.shown, "early late");
    assert_int_equal(test.ends, 0);
    close(end);
    event_base_loop(test.own.base, EVLOOP_ONCE);
    assert_int_equal(test.ends, 1);
    assert_int_equal(rz_outputs_await(test.outputs, now), 0);
    assert_string_equal(test.said, "");
}

/* What a failed process has left is killed, and not awaited. */
static void a_failed_process_is_not_awaited(void **state)
{
    (void)state;
    int end = leaves(3, 1, "", false);
    assert_int_equal(rz_outputs_await(test.outputs, rz_clock_now()), 0);
    close(end);
    event_base_loop(test.own.base, EVLOOP_ONCE);
    assert_int_equal(test.ends, 0);
}

static void the_wait_is_bounded_and_says_so(void **state)
{
    (void)state;
    int ends[] = {leaves(1, 1, "", true), leaves(1, 2, "", true), leaves(4, 1, "", true)};
    assert_int_equal(write(ends[0], "last", 4), 4);
    assert_int_equal(rz_outputs_await(test.outputs, LONG_AGO), 0);
    assert_string_equal(test.shown, "last");
    assert_non_null(strstr(test.said, "rank 1 has ended"));
    assert_non_null(strstr(test.said, "standard output after 100 s (--output-wait)"));
    assert_non_null(strstr(test.said, "the same for 1 more ranks here"));
    for (unsigned i = 0; i < 3; i++) {
        close(ends[i]);
    }
}

static void time_of_a_slow_reader_does_not_count(void **state)
{
    (void)state;
    int end = leaves(3, 1, "", true);
    rz_outputs_hold(test.outputs, true);
    rz_time before = rz_clock_now();
    assert_true(rz_outputs_await(test.outputs, LONG_AGO) >= before + WAIT_NS);
    rz_outputs_hold(test.outputs, false);
    before = rz_clock_now();
    rz_time until = rz_outputs_await(test.outputs, LONG_AGO);
    assert_true(until > LONG_AGO + WAIT_NS && until <= before + WAIT_NS);
    assert_string_equal(test.said, "");
    close(end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_left_is_awaited_until_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_process_is_not_awaited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_wait_is_bounded_and_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(time_of_a_slow_reader_does_not_count, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
