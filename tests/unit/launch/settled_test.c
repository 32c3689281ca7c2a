/* SPDX-License-Identifier: BSD-3-Clause */
/* Which failures of nodes are handed on, from events in whatever order they come. */
#include "launch/settled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define NODES 4
#define SEEN RZ_EVENT_RECORD_FAILURE_SEEN
#define NEWS RZ_EVENT_RECORD_FAILURE_NEWS

static struct rz_settled settled;
static char told[1024]; /* "by>node " of each failure handed on, "by:kind " of other events */

static void deliver(void *arg, uint32_t by, const struct rz_launch_event *event)
{
    char one[32];
    bool failure = event->kind == SEEN || event->kind == NEWS;
    (void)arg;
    if (failure) {
        snprintf(one, sizeof(one), "%u%s%u ", by, event->kind == SEEN ? ">" : "~", event->node);
    } else {
        snprintf(one, sizeof(one), "%u:%u ", by, event->kind);
    }
    strcat(told, one);
    assert_string_equal(event->note, "silence");
}

static int open_it(void **state)
{
    (void)state;
    told[0] = 0;
    rz_settled_open(&settled, NODES, deliver, NULL);
    return 0;
}

static int close_it(void **state)
{
    (void)state;
    rz_settled_close(&settled);
    return 0;
}

static void tell(enum rz_event_record kind, uint32_t by, uint32_t node)
{
    char note[] = "silence"; /* it does not outlive the call */
    rz_settled_event(
        &settled, by,
        &(struct rz_launch_event){.kind = kind, .rank = RZ_ID_NONE, .node = node, .note = note});
    memset(note, 'x', sizeof(note) - 1);
}

static void test_what_the_cut_off_node_tells_counts_for_nothing(void **state)
{
    (void)state;
    tell(SEEN, 2, 1); /* 2 is cut off and hears no other */
    tell(NEWS, 2, 1);
    tell(SEEN, 3, 2);
    tell(NEWS, 1, 2);
    assert_string_equal(told, "");
    tell(RZ_EVENT_RECORD_EXCLUDED, 3, 2);
    assert_string_equal(told, "3>2 1~2 3:12 ");
    tell(SEEN, 2, 3); /* still cut off */
    tell(NEWS, 0, 2); /* settled already */
    tell(RZ_EVENT_RECORD_EPOCH, 2, 2);
    assert_string_equal(told, "3>2 1~2 3:12 0~2 ");
    rz_settled_gone(&settled,
                    1); /* later it fails indeed: the old failure report is no part of that */
    assert_string_equal(told, "3>2 1~2 3:12 0~2 ");
}

static void test_a_node_that_stops_itself_takes_its_words_back(void **state)
{
    (void)state;
    tell(SEEN, 2, 1);
    tell(SEEN, 0, 3);
    rz_settled_cut_off(&settled, 2);
    rz_settled_gone(&settled, 1);
    rz_settled_gone(&settled, 3);
    assert_string_equal(told, "0>3 ");
}

static void test_a_daemon_that_is_gone_is_failed_by_any_report(void **state)
{
    (void)state;
    tell(SEEN, 0, 1);
    tell(SEEN, 2, 1);
    rz_settled_gone(&settled, 1);
    tell(NEWS, 2, 1);
    assert_string_equal(told, "0>1 2>1 2~1 ");
}

static void test_noted_failures(void **state)
{
    (void)state;
    tell(SEEN, 0, 1);
    tell(RZ_EVENT_RECORD_NOTED, 0, 1);
    tell(RZ_EVENT_RECORD_LEFT, 0, 0); /* from now on both sides of a partition note failures */
    tell(SEEN, 0, 2);
    tell(RZ_EVENT_RECORD_NOTED, 0, 2);
    assert_string_equal(told, "0>1 0:9 0:8 0:9 ");
}

static void test_all_else_is_handed_on_at_once(void **state)
{
    const struct rz_launch_event rank = {.kind = SEEN, .rank = 5, .node = 1, .note = "silence"};
    (void)state;
    rz_settled_event(&settled, 1, &rank);
    tell(RZ_EVENT_RECORD_EPOCH, 1, 1);
    tell(SEEN, NODES, 1); /* nonsense */
    tell(RZ_EVENT_RECORD_EXCLUDED, 0, NODES);
    assert_string_equal(told, "1>1 1:3 0:12 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_it, close_it)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_what_the_cut_off_node_tells_counts_for_nothing),
                                       TEST(test_a_node_that_stops_itself_takes_its_words_back),
                                       TEST(test_a_daemon_that_is_gone_is_failed_by_any_report),
                                       TEST(test_noted_failures),
                                       TEST(test_all_else_is_handed_on_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
