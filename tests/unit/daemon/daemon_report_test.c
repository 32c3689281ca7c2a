/* SPDX-License-Identifier: BSD-3-Clause */
/* What a daemon reports: texts of processes reach no terminal as commands. */
#include "daemon/state/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define HOSTILE "\033]0;x\007 \302\233 ends\nrzrun: all is well"
#define SHOWN "?]0;x? ?? ends?rzrun: all is well"

static char told[RZ_REPORT_REASON_MAX];

static void take(void *arg, const struct rz_launch_message *message)
{
    (void)arg;
    snprintf(told, sizeof(told), "%s",
             message->type == RZ_LAUNCH_EVENT ? message->event.note : message->aborted.reason);
}

static bool take_line(void *arg, const char *line)
{
    (void)arg;
    snprintf(told, sizeof(told), "%s", line);
    return true;
}

static void texts_of_processes_are_made_printable(void **state)
{
    (void)state;
    const struct rz_report report = {.sink = {.send = take}, .tap = {.line = take_line}};
    rz_report_log(&report, 0, "a process says: %s", HOSTILE);
    assert_string_equal(told, "a process says: " SHOWN);
    rz_report_aborted(&report, 0, 1, HOSTILE);
    assert_string_equal(told, SHOWN);
    rz_report_event(&report, &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_ENDED_BY,
                                                       .note = "rank 1: " HOSTILE});
    assert_string_equal(told, "rank 1: " SHOWN);
    rz_report_event(&report, &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_LEFT});
    assert_string_equal(told, "");
}

/* Names of a user's language stay. */
static void other_text_stays(void **state)
{
    (void)state;
    const struct rz_report report = {.sink = {.send = take}};
    rz_report_aborted(&report, 0, 1, "\tgr\303\266\303\237er");
    assert_string_equal(told, "\tgr\303\266\303\237er");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_processes_are_made_printable),
        cmocka_unit_test(other_text_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
