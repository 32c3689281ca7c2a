/* SPDX-License-Identifier: BSD-3-Clause */
/* The stream to rzrun: sends reports, limits what is queued, decodes the orders and calls the
 * handler that is registered for each type. */
#include "daemon/launcher/launcher.h"

#include "base/assert.h"
#include "base/trace.h"
#include "daemon/state/loop.h"
#include "port/clock.h"
#include "port/descriptor.h"
#include "port/process.h"

#include <stdlib.h>
#include <unistd.h>

/* Output is held back when QUEUE_HIGH bytes are queued for rzrun, and let go again below
 * QUEUE_LOW. */
#define QUEUE_HIGH (1u << 20)
#define QUEUE_LOW (256u << 10)
/* Above this, marks of progress are dropped: they are many, and the next one says more. */
#define QUEUE_FULL (8u << 20)

struct rz_launcher {
    struct rz_launcher_config config;
    struct rz_stream *stream;
    struct event *readable, *writable;
    bool in_job;
    bool full;      /* more than QUEUE_HIGH bytes are queued */
    bool told_hold; /* rzrun said so, because its own readers are slow */
    bool gone;
    struct {
        rz_launcher_handler_fn call;
        void *arg;
        enum rz_launcher_when when;
    } handler[RZ_LAUNCH_TYPE_COUNT];
    uint8_t buffer[RZ_LAUNCH_FRAME_MAX];
};

/* rzrun has gone: no more is sent. */
static void rzrun_gone(struct rz_launcher *launcher)
{
    if (launcher->gone) {
        return;
    }
    launcher->gone = true;
    event_del(launcher->readable);
    event_del(launcher->writable);
    launcher->config.backed_up(launcher->config.arg, false);
    launcher->config.lost(launcher->config.arg);
}

static void look_at_queue(struct rz_launcher *launcher)
{
    size_t queued = rz_stream_queued(launcher->stream);
    if (queued > 0) {
        event_add(launcher->writable, NULL);
    }
    launcher->full = launcher->full ? queued > QUEUE_LOW : queued > QUEUE_HIGH;
    launcher->config.backed_up(launcher->config.arg, launcher->full || launcher->told_hold);
}

static void launcher_writable(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launcher *launcher = arg;
    (void)fd, (void)what;
    if (rz_stream_flush(launcher->stream) == RZ_ERR_CLOSED) {
        rzrun_gone(launcher);
    } else {
        look_at_queue(launcher);
    }
}

static void send_to_rzrun(void *arg, const struct rz_launch_message *message)
{
    struct rz_launcher *launcher = arg;
    if (launcher->gone ||
        (message->type == RZ_LAUNCH_MARK && rz_stream_queued(launcher->stream) > QUEUE_FULL)) {
        return;
    }
    size_t n = rz_launch_encode(message, launcher->buffer, sizeof(launcher->buffer));
    rz_assert(n > 0);
    if (rz_stream_send(launcher->stream, launcher->buffer, n) == RZ_ERR_CLOSED) {
        /* The end of the stream is handled from the loop, not inside the caller. */
        event_active(launcher->readable, EV_READ, 0);
    } else {
        look_at_queue(launcher);
    }
}

/* ---- orders ---- */

static void refuse_job(struct rz_launcher *launcher, const char *reason)
{
    const struct rz_launch_message message = {.type = RZ_LAUNCH_REFUSED,
                                              .refused = {.reason = reason}};
    rz_report_send(&launcher->config.own->report, &message);
    launcher->config.refused(launcher->config.arg);
}

static const char *on_hold_output(void *arg, const struct rz_launch_message *message)
{
    struct rz_launcher *launcher = arg;
    launcher->told_hold = message->hold_output.hold != 0;
    look_at_queue(launcher);
    return NULL;
}

/* The answer to ALIVE is the same message. */
static const char *on_alive(void *arg, const struct rz_launch_message *message)
{
    const struct rz_launcher *launcher = arg;
    rz_report_send(&launcher->config.own->report, message);
    return NULL;
}

/* The daemon's time, for an rzrun on another host. */
static const char *on_clock(void *arg, const struct rz_launch_message *message)
{
    const struct rz_launcher *launcher = arg;
    const struct rz_launch_message answer = {
        .type = RZ_LAUNCH_CLOCK,
        .clock = {.asked_ns = message->clock.asked_ns, .now_ns = rz_clock_now()}};
    rz_report_send(&launcher->config.own->report, &answer);
    return NULL;
}

/* What changes the course of the job is always traced. */
static void trace_message(enum rz_launch_type type)
{
    if (type == RZ_LAUNCH_JOB || type == RZ_LAUNCH_SHUTDOWN || type == RZ_LAUNCH_LEAVE ||
        type == RZ_LAUNCH_FINISH || type == RZ_LAUNCH_INJECT || type == RZ_LAUNCH_SIGNAL) {
        RZ_TRACE(ORDER, type, 0, 0);
    } else {
        RZ_TRACE(RZRUN_SAID, type, 0, 0);
    }
}

static void obey_rzrun(struct rz_launcher *launcher, const struct rz_launch_message *message)
{
    rz_launcher_handler_fn call = launcher->handler[message->type].call;
    enum rz_launcher_when when = launcher->handler[message->type].when;
    const char *why = "a message that rzrun does not send";
    if ((!call || when != RZ_LAUNCHER_ALWAYS) && launcher->config.deaf(launcher->config.arg)) {
        return;
    }
    if ((!call || when == RZ_LAUNCHER_IN_JOB) && !launcher->in_job) {
        why = "JOB must come first";
    } else if (call) {
        why = call(launcher->handler[message->type].arg, message);
    }
    if (why) {
        refuse_job(launcher, why);
    }
}

static void launcher_readable(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launcher *launcher = arg;
    const struct rz_membership *membership = &launcher->config.own->membership;
    (void)fd, (void)what;
    rz_status_t status = rz_stream_read(launcher->stream);
    const void *bytes;
    size_t n;
    rz_status_t next = RZ_OK;
    while (!launcher->gone && (next = rz_stream_next(launcher->stream, &bytes, &n)) == RZ_OK) {
        struct rz_launch_message message;
        if (rz_launch_decode(&message, bytes, n) == RZ_OK) {
            trace_message(message.type);
            obey_rzrun(launcher, &message);
        } else if (!membership->ending) {
            refuse_job(launcher, "a malformed message");
        }
    }
    if (status == RZ_ERR_MALFORMED && !membership->ending) {
        refuse_job(launcher, "a message longer than allowed");
    }
    if (next == RZ_ERR_AUTHENTICATION) {
        rz_report_log(&launcher->config.own->report, 0,
                      "a message is not from rzrun, or was changed on the way; this node ends");
    }
    if (status != RZ_OK || next == RZ_ERR_AUTHENTICATION) {
        rzrun_gone(launcher);
    }
}

void rz_launcher_handle(struct rz_launcher *launcher, enum rz_launch_type type,
                        enum rz_launcher_when when, rz_launcher_handler_fn handler, void *arg)
{
    rz_assert(!launcher->handler[type].call);
    launcher->handler[type].call = handler;
    launcher->handler[type].arg = arg;
    launcher->handler[type].when = when;
}

void rz_launcher_in_job(struct rz_launcher *launcher)
{
    launcher->in_job = true;
}

/* ---- open and close ---- */

rz_status_t rz_launcher_open(struct rz_launcher **result, const struct rz_launcher_config *config)
{
    struct event_base *base = config->own->base;
    struct rz_launcher *launcher = calloc(1, sizeof(*launcher));
    if (!launcher) {
        return RZ_ERR_NO_MEMORY;
    }
    launcher->config = *config;
    launcher->stream = config->stream;
    int fd = rz_stream_fd(config->stream);
    rz_status_t status = rz_descriptor_no_wait(fd);
    if (status == RZ_OK) {
        status = rz_process_keep_on_exec(fd, false);
    }
    if (status == RZ_OK) {
        status =
            rz_loop_watch(base, &launcher->writable, fd, EV_WRITE, launcher_writable, launcher);
    }
    if (status == RZ_OK) {
        status = rz_loop_watch(base, &launcher->readable, fd, EV_READ | EV_PERSIST,
                               launcher_readable, launcher);
    }
    if (status != RZ_OK) {
        rz_launcher_close(launcher);
        return status;
    }
    config->own->report.sink = (struct rz_report_sink){.arg = launcher, .send = send_to_rzrun};
    rz_launcher_handle(launcher, RZ_LAUNCH_HOLD_OUTPUT, RZ_LAUNCHER_ALWAYS, on_hold_output,
                       launcher);
    rz_launcher_handle(launcher, RZ_LAUNCH_ALIVE, RZ_LAUNCHER_IN_JOB, on_alive, launcher);
    rz_launcher_handle(launcher, RZ_LAUNCH_CLOCK, RZ_LAUNCHER_ALWAYS, on_clock, launcher);
    *result = launcher;
    return RZ_OK;
}

void rz_launcher_say_listening(struct rz_launcher *launcher, uint32_t node,
                               const struct rz_overlay_peer *at,
                               const struct rz_overlay_peer *other)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_LISTENING,
                                        .listening = {.version = RZ_LAUNCH_VERSION,
                                                      .node = node,
                                                      .pid = (uint32_t)getpid(),
                                                      .ip = at->address.ip,
                                                      .ip_length = sizeof(at->address.ip),
                                                      .tcp_port = at->tcp_port,
                                                      .udp_port = at->udp_port}};
    if (other) {
        message.listening.other_ip = other->address.ip;
        message.listening.other_ip_length = sizeof(other->address.ip);
        message.listening.other_tcp_port = other->tcp_port;
        message.listening.other_udp_port = other->udp_port;
    }
    rz_report_send(&launcher->config.own->report, &message);
}

void rz_launcher_flush(struct rz_launcher *launcher, uint32_t timeout_ms)
{
    rz_time deadline = rz_clock_now() + timeout_ms * RZ_MILLISECOND, now;
    while (!launcher->gone && rz_stream_flush(launcher->stream) == RZ_IN_PROGRESS &&
           (now = rz_clock_now()) < deadline) {
        rz_descriptor_await_room(rz_stream_fd(launcher->stream),
                                 (int)((deadline - now) / RZ_MILLISECOND) + 1);
    }
}

void rz_launcher_close(struct rz_launcher *launcher)
{
    if (!launcher) {
        return;
    }
    launcher->config.own->report.sink = (struct rz_report_sink){0};
    rz_loop_free(launcher->readable);
    rz_loop_free(launcher->writable);
    if (launcher->stream) {
        rz_stream_close(launcher->stream);
    }
    free(launcher);
}
