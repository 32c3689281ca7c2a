/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes lines for the user to standard error, and passes messages for rzrun to the tap and the
 * sink. */
#include "daemon/state/report.h"

#include "port/clock.h"
#include "port/terminal.h"

#include <rhizome/types.h>

#include <stdarg.h>
#include <stdio.h>

void rz_report_log(const struct rz_report *report, uint32_t level, const char *format, ...)
{
    char line[512], said[sizeof(line) + 24];
    va_list arguments;
    if (level > report->verbosity) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (report->tap.line && report->tap.line(report->tap.arg, line)) {
        return;
    }
    int n = snprintf(said, sizeof(said), "rzd[%u]: %s\n", report->node, line);
    rz_terminal_say(said, (size_t)n);
}

void rz_report_send(const struct rz_report *report, const struct rz_launch_message *message)
{
    if (report->tap.message && !report->tap.message(report->tap.arg, message)) {
        return;
    }
    if (report->sink.send) {
        report->sink.send(report->sink.arg, message);
    }
}

void rz_report_event(const struct rz_report *report, const struct rz_launch_event *event)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_EVENT, .event = *event};
    if (event->node == RZ_ID_NONE) {
        message.event.node = report->node;
    }
    if (event->at_ns == 0) {
        message.event.at_ns = rz_clock_now();
    }
    if (!event->note) {
        message.event.note = "";
    }
    rz_report_send(report, &message);
}

void rz_report_aborted(const struct rz_report *report, uint32_t rank, uint32_t code,
                       const char *reason)
{
    const struct rz_launch_message message = {
        .type = RZ_LAUNCH_ABORTED, .aborted = {.rank = rank, .code = code, .reason = reason}};
    rz_report_send(report, &message);
}
