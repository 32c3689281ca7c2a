/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes lines for the user to standard error, and passes messages for rzrun to the tap and the
 * sink. */
#include "daemon/state/report.h"

#include "base/printable.h"
#include "base/trace.h"
#include "port/clock.h"
#include "port/terminal.h"

#include <rhizome/types.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    rz_printable(line, strlen(line), "\t");
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

/* Each record is an event of the trace, too. */
static void trace_record(const struct rz_launch_event *event)
{
    switch ((enum rz_event_record)event->kind) {
#define OF(KIND, a, b, c)                                                                          \
    case RZ_EVENT_RECORD_##KIND:                                                                   \
        RZ_TRACE(RECORD_##KIND, event->a, event->b, event->c);                                     \
        break;
        OF(JOINED, rank, incarnation, node)
        OF(FAILURE_SEEN, rank, incarnation, node)
        OF(FAILURE_NEWS, rank, incarnation, node)
        OF(EPOCH, epoch, value, node)
        OF(READY, epoch, value, node)
        OF(RUN, epoch, value, node)
        OF(RESTORED, rank, value, node)
        OF(COMMITTED, epoch, value, node)
        OF(LEFT, epoch, value, node)
        OF(NOTED, rank, incarnation, node)
        OF(INJECTED, rank, value, node)
        OF(FLAT_NEWS, rank, value, node)
        OF(EXCLUDED, node, epoch, node)
        OF(SPAWNED, rank, incarnation, node)
        OF(ACKNOWLEDGED, rank, incarnation, value)
        OF(ENDED_BY, rank, incarnation, value)
        OF(BEGUN, rank, incarnation, node)
        OF(AT_START, rank, epoch, node)
        OF(PROTECTED, epoch, value, node)
        OF(FELL_BACK, epoch, value, node)
        OF(INTOLERANT, rank, incarnation, node)
        OF(SNAPSHOT, epoch, value, node)
#undef OF
    case RZ_EVENT_RECORD_COUNT:
        break;
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
    char note[RZ_REPORT_REASON_MAX];
    snprintf(note, sizeof(note), "%s", event->note ? event->note : "");
    rz_printable(note, strlen(note), "\t");
    message.event.note = note;
    trace_record(&message.event);
    rz_report_send(report, &message);
}

void rz_report_aborted(const struct rz_report *report, uint32_t rank, uint32_t code,
                       const char *reason)
{
    char words[RZ_REPORT_REASON_MAX]; /* a process, or a program of another MPI, may say more */
    snprintf(words, sizeof(words), "%s", reason);
    rz_printable(words, strlen(words), "\t");
    const struct rz_launch_message message = {
        .type = RZ_LAUNCH_ABORTED, .aborted = {.rank = rank, .code = code, .reason = words}};
    rz_report_send(report, &message);
}
