/* SPDX-License-Identifier: BSD-3-Clause */
/* The traces of the job's processes, and what --verbose says: a line for each event of the job;
 * given twice, the traces too, as they come. */
#include "launch/session.h"

#include "base/no_memory.h"
#include "outcome/exit_codes.h"
#include "port/clock.h"

#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>

#define SHOW_EVERY_MS 100
#define DUMPS_MAX 32 /* a job may hang again and again */

static void show_collected_traces(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    (void)fd, (void)what;
    rz_traces_show(&session->traces, stderr, session->attempts->begun);
}

void rz_session_trace_open(struct rz_launch_session *session)
{
    const struct rz_rzrun_options *options = session->options;
    const struct timeval every = {.tv_usec = SHOW_EVERY_MS * 1000};
    rz_traces_open(&session->traces, options->layout.n_nodes, options->n_ranks, &options->levels);
    for (uint32_t i = 0; i < options->layout.n_nodes; i++) {
        session->nodes[i].trace_fd = session->traces.fds[i];
        if (options->trace && session->traces.fds[i] < 0) {
            fprintf(stderr, "rzrun: --trace: there is no memory for the trace of node %u\n", i);
        }
    }
    if (session->cases) {
        rz_cases_trace(session->cases, &session->traces);
    }
    if (options->verbosity > 1) {
        session->show_traces =
            event_new(session->base, -1, EV_PERSIST, show_collected_traces, session);
        rz_need_memory(session->show_traces, "for the traces of the job");
        event_add(session->show_traces, &every);
    }
}

void rz_session_trace_end(struct rz_launch_session *session)
{
    if (session->show_traces) {
        rz_traces_show(&session->traces, stderr, session->attempts->begun);
    }
    if (session->attempts->trace.out.file) {
        rz_trace_file_add(&session->attempts->trace, &session->traces, session->job);
    }
}

void rz_session_dump(struct rz_launch_session *session, const char *what, const char *why)
{
    if (session->cases && session->attempts->n_dumps < DUMPS_MAX) {
        rz_cases_dump(session->cases, what, ++session->attempts->n_dumps, why);
    }
}

void rz_session_trace_close(struct rz_launch_session *session)
{
    if (session->show_traces) {
        event_free(session->show_traces);
    }
    rz_traces_close(&session->traces);
}

/* ---- --verbose ---- */

static void say(const struct rz_launch_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct rz_launch_session *session, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fprintf(stderr, "rzrun: %.3f s: %s\n",
            (double)(rz_clock_now() - session->attempts->begun) / 1e9, line);
}

/* Several daemons report the same; only the first report is a line. The last reports are enough to
 * know. */
static bool is_told(struct rz_launch_session *session, const struct rz_launch_event *event)
{
    bool of_node = event->kind == RZ_EVENT_RECORD_EXCLUDED || event->kind == RZ_EVENT_RECORD_NOTED;
    const struct rz_told_event told = {event->kind, event->epoch, event->rank,
                                       of_node && event->rank == RZ_ID_NONE ? event->node : 0,
                                       event->incarnation};
    for (uint32_t i = 0; i < RZ_TOLD_EVENTS; i++) {
        if (memcmp(&session->told[i], &told, sizeof(told)) == 0) {
            return true;
        }
    }
    session->told[session->n_told++ % RZ_TOLD_EVENTS] = told;
    return false;
}

static void name_failed(const struct rz_launch_event *event, char *text, size_t bytes)
{
    if (event->rank == RZ_ID_NONE) {
        snprintf(text, bytes, "node %u", event->node);
    } else {
        snprintf(text, bytes, "rank %u (incarnation %u)", event->rank, event->incarnation);
    }
}

/* What only one daemon reports, or each for itself. */
static bool tell_own(const struct rz_launch_session *session, uint32_t by,
                     const struct rz_launch_event *event)
{
    char failed[64];
    name_failed(event, failed, sizeof(failed));
    switch ((enum rz_event_record)event->kind) {
    case RZ_EVENT_RECORD_JOINED:
        say(session, "rank %u, incarnation %u, has joined on node %u", event->rank,
            event->incarnation, by);
        return true;
    case RZ_EVENT_RECORD_FAILURE_SEEN:
        say(session, "%s has %s; node %u has noticed it: %s", failed,
            event->rank != RZ_ID_NONE && event->value == RZ_FAILURE_HUNG ? "hung" : "failed", by,
            event->note);
        return true;
    case RZ_EVENT_RECORD_INJECTED:
        say(session, "a fault is injected on node %u: %s", by, event->note);
        return true;
    case RZ_EVENT_RECORD_RESTORED:
        say(session, "rank %u has its piece of checkpoint %llu", event->rank,
            (unsigned long long)event->value);
        return true;
    default:
        return false;
    }
}

static void tell_event(struct rz_launch_session *session, uint32_t by,
                       const struct rz_launch_event *event)
{
    char failed[64];
    if (tell_own(session, by, event) || is_told(session, event)) {
        return;
    }
    name_failed(event, failed, sizeof(failed));
    switch ((enum rz_event_record)event->kind) {
    case RZ_EVENT_RECORD_EPOCH:
        say(session, "epoch %u begins, with checkpoint %llu", event->epoch,
            (unsigned long long)event->value);
        break;
    case RZ_EVENT_RECORD_RUN:
        say(session, "epoch %u runs: all ranks are at its start", event->epoch);
        break;
    case RZ_EVENT_RECORD_FELL_BACK:
        say(session, "checkpoint %llu cannot be restored and is given up",
            (unsigned long long)event->value);
        break;
    case RZ_EVENT_RECORD_EXCLUDED:
        say(session, "the others continue without node %u", event->node);
        break;
    case RZ_EVENT_RECORD_NOTED:
        say(session, "the failure of %s is agreed, and not repaired", failed);
        break;
    case RZ_EVENT_RECORD_ACKNOWLEDGED:
        say(session, "the program knows of the failure of %s", failed);
        break;
    case RZ_EVENT_RECORD_LEFT:
        say(session, "all ranks have left epoch %u", event->epoch);
        break;
    default:
        break;
    }
}

static void tell_exited(const struct rz_launch_session *session,
                        const struct rz_launch_exited *told)
{
    int status = (int)told->status;
    if (WIFSIGNALED(status)) {
        say(session, "rank %u, incarnation %u, was killed by signal %d", told->rank,
            told->incarnation, WTERMSIG(status));
    } else {
        say(session, "rank %u, incarnation %u, has exited with status %d", told->rank,
            told->incarnation, WEXITSTATUS(status));
    }
}

static void tell_listening(struct rz_launch_session *session, uint32_t node,
                           const struct rz_launch_listening *told)
{
    struct rz_address at;
    char text[RZ_ADDRESS_TEXT];
    bool good = rz_address_take(&at, told->ip, told->ip_length, told->tcp_port);
    say(session, "node %u is up: process %u, %s", node, told->pid,
        good ? rz_address_text(&at, text) : "no address");
}

void rz_session_tell(struct rz_launch_session *session, uint32_t node,
                     const struct rz_launch_message *message)
{
    if (message->type == RZ_LAUNCH_ABORTED) {
        rz_session_dump(session, "abort", message->aborted.reason);
    }
    if (session->options->verbosity == 0) {
        return;
    }
    switch (message->type) {
    case RZ_LAUNCH_LISTENING:
        tell_listening(session, node, &message->listening);
        break;
    case RZ_LAUNCH_STARTED:
        say(session, "rank %u, incarnation %u, is started on node %u: process %u",
            message->started.rank, message->started.incarnation, node, message->started.pid);
        break;
    case RZ_LAUNCH_EVENT:
        tell_event(session, node, &message->event);
        break;
    case RZ_LAUNCH_EXITED:
        tell_exited(session, &message->exited);
        break;
    case RZ_LAUNCH_ABORTED:
        say(session, "rank %u ends the job with code %u: %s", message->aborted.rank,
            message->aborted.code, message->aborted.reason);
        break;
    default:
        break;
    }
}

void rz_session_tell_node_end(const struct rz_launch_session *session, uint32_t node)
{
    if (session->options->verbosity > 0) {
        say(session, "node %u has ended", node);
    }
}

void rz_session_tell_end(const struct rz_launch_session *session, int status)
{
    if (session->options->verbosity > 0) {
        say(session, "the job has ended with status %d%s", status,
            session->attempts->again ? ", and restarts" : "");
    }
}
