#include "daemon/launcher.h"

#include "base/assert.h"
#include "daemon/detached.h"
#include "daemon/ending.h"
#include "daemon/input.h"
#include "daemon/loop.h"
#include "daemon/orders.h"
#include "daemon/output.h"
#include "port/channel.h"
#include "port/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* Between these marks of bytes queued towards rzrun output is held back, then let go on. */
#define QUEUE_HIGH (1u << 20)
#define QUEUE_LOW (256u << 10)
/* Above this, marks of progress are left out: they are many, and the next one says more. */
#define QUEUE_FULL (8u << 20)

/* How long processes may take to end by themselves when rzrun has gone. */
#define GONE_GRACE_MS 1000

struct rz_launcher {
    struct rz_daemon *daemon;
    struct rz_frames *frames;
    struct event *readable, *writable;
    bool full;      /* more is queued for rzrun than it may be */
    bool told_hold; /* by rzrun, whose own readers are slow */
    bool gone;
    uint8_t buffer[RZ_LAUNCH_FRAME_MAX];
};

/* rzrun is gone: nothing more is sent, and the daemon ends, unless rzrun went as it had said. */
static void gone(struct rz_launcher *launcher)
{
    if (launcher->gone)
        return;
    launcher->gone = true;
    event_del(launcher->readable);
    event_del(launcher->writable);
    rz_outputs_hold(launcher->daemon, false);
    rz_ending_release(launcher->daemon);
    if (launcher->daemon->detached && rz_detached_may_lose_rzrun(launcher->daemon->detached))
        return;
    rz_ending_begin(launcher->daemon, EXIT_FAILURE, RZ_ERR_JOB_ENDED, GONE_GRACE_MS);
}

static void look_at_queue(struct rz_launcher *launcher)
{
    size_t queued = rz_frames_queued(launcher->frames);
    if (queued > 0)
        event_add(launcher->writable, NULL);
    launcher->full = launcher->full ? queued > QUEUE_LOW : queued > QUEUE_HIGH;
    rz_outputs_hold(launcher->daemon, launcher->full || launcher->told_hold);
}

static void launcher_writable(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launcher *launcher = arg;
    (void)fd, (void)what;
    if (rz_frames_flush(launcher->frames) == RZ_ERR_CLOSED)
        gone(launcher);
    else
        look_at_queue(launcher);
}

void rz_daemon_tell_launcher(struct rz_daemon *daemon, const struct rz_launch_message *message)
{
    struct rz_launcher *launcher = daemon->launcher;
    if (daemon->detached && !rz_detached_told(daemon->detached, message))
        return;
    if (launcher->gone ||
        (message->type == RZ_LAUNCH_MARK && rz_frames_queued(launcher->frames) > QUEUE_FULL))
        return;
    size_t n = rz_launch_encode(message, launcher->buffer, sizeof launcher->buffer);
    rz_assert(n > 0);
    if (rz_frames_send(launcher->frames, launcher->buffer, n) == RZ_ERR_CLOSED)
        event_active(launcher->readable, EV_READ,
                     0); /* its end is dealt with from the loop, not inside the caller */
    else
        look_at_queue(launcher);
}

void rz_daemon_tell_aborted(struct rz_daemon *daemon, uint32_t rank, uint32_t code,
                            const char *reason)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_ABORTED,
                                        .aborted = {.rank = rank, .code = code, .reason = reason}};
    rz_daemon_tell_launcher(daemon, &message);
}

void rz_daemon_record(struct rz_daemon *daemon, const struct rz_launch_event *event)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_EVENT, .event = *event};
    if (event->node == RZ_ID_NONE)
        message.event.node = daemon->job.node;
    if (event->at_ns == 0)
        message.event.at_ns = rz_clock_now();
    if (!event->note)
        message.event.note = "";
    rz_daemon_tell_launcher(daemon, &message);
}

/* ---- orders */

static void refuse(struct rz_launcher *launcher, const char *reason)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_REFUSED, .refused = {.reason = reason}};
    rz_daemon_tell_launcher(launcher->daemon, &message);
    if (launcher->daemon->detached)
        rz_detached_dismiss(launcher->daemon->detached);
    rz_ending_begin(launcher->daemon, 2, RZ_ERR_INVALID, 0);
}

static void on_job(struct rz_launcher *launcher, const struct rz_launch_job *job)
{
    const char *why = "JOB came twice";
    if (launcher->daemon->has_job || rz_daemon_begin_job(launcher->daemon, job, &why) != RZ_OK)
        refuse(launcher, why);
}

static void obey(struct rz_launcher *launcher, const struct rz_launch_message *message)
{
    struct rz_daemon *daemon = launcher->daemon;
    if (message->type == RZ_LAUNCH_LEAVE) {
        rz_ending_release(daemon);
        return;
    }
    if (message->type == RZ_LAUNCH_SHUTDOWN) {
        if (daemon->detached)
            rz_detached_dismiss(daemon->detached);
        rz_ending_begin(daemon, EXIT_SUCCESS, RZ_ERR_JOB_ENDED, message->shutdown.grace_ms);
        return;
    }
    if (daemon->ending && !daemon->detached)
        return;
    if (message->type == RZ_LAUNCH_JOB) {
        on_job(launcher, &message->job);
        return;
    }
    if (message->type == RZ_LAUNCH_DETACH && daemon->detached) {
        rz_detached_wanted(daemon->detached);
        return;
    }
    if (message->type == RZ_LAUNCH_LET_GO && daemon->detached) {
        rz_detached_let_go(daemon->detached);
        return;
    }
    if (!daemon->has_job) {
        refuse(launcher, "JOB must come first");
        return;
    }
    switch (message->type) {
    case RZ_LAUNCH_STDIN:
        if (rz_input_feed(daemon->input, message->stdin_data.data, message->stdin_data.data_length,
                          message->stdin_data.end) != RZ_OK)
            refuse(launcher, "STDIN: more than was asked for");
        break;
    case RZ_LAUNCH_INJECT:
        rz_orders_inject(daemon, &message->inject);
        break;
    case RZ_LAUNCH_SIGNAL:
        rz_orders_signal(daemon, message->signal.number);
        break;
    case RZ_LAUNCH_HOLD_OUTPUT:
        launcher->told_hold = message->hold_output.hold != 0;
        look_at_queue(launcher);
        break;
    case RZ_LAUNCH_ALIVE:
        rz_daemon_tell_launcher(daemon, message);
        break;
    case RZ_LAUNCH_DUMP_WAITING:
        rz_orders_dump_waiting(daemon);
        break;
    default:
        refuse(launcher, "a message that rzrun does not send");
    }
}

static void launcher_readable(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launcher *launcher = arg;
    (void)fd, (void)what;
    rz_status_t status = rz_frames_read(launcher->frames);
    const void *bytes;
    size_t n;
    while (!launcher->gone && rz_frames_next(launcher->frames, &bytes, &n)) {
        struct rz_launch_message message;
        if (rz_launch_decode(&message, bytes, n) == RZ_OK)
            obey(launcher, &message);
        else if (!launcher->daemon->ending)
            refuse(launcher, "a malformed message");
    }
    if (status == RZ_ERR_MALFORMED && !launcher->daemon->ending)
        refuse(launcher, "a message longer than allowed");
    if (status != RZ_OK)
        gone(launcher);
}

/* ---- life */

rz_status_t rz_launcher_open(struct rz_launcher **result, struct rz_daemon *daemon, int fd)
{
    struct rz_launcher *launcher = calloc(1, sizeof *launcher);
    if (!launcher)
        return RZ_ERR_NO_MEMORY;
    launcher->daemon = daemon;
    int flags = fcntl(fd, F_GETFL);
    rz_status_t status = RZ_ERR_SYSTEM;
    if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
        fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
        status = rz_frames_open(&launcher->frames, fd, RZ_LAUNCH_JOB_MAX);
    if (status == RZ_OK)
        status = rz_loop_watch(daemon->base, &launcher->writable, fd, EV_WRITE, launcher_writable,
                               launcher);
    if (status == RZ_OK)
        status = rz_loop_watch(daemon->base, &launcher->readable, fd, EV_READ | EV_PERSIST,
                               launcher_readable, launcher);
    if (status != RZ_OK) {
        rz_launcher_close(launcher);
        return status;
    }
    *result = launcher;
    return RZ_OK;
}

void rz_launcher_say_listening(struct rz_launcher *launcher, uint32_t node, const char *address,
                               uint16_t tcp_port, uint16_t udp_port)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_LISTENING,
                                        .listening = {.version = RZ_LAUNCH_VERSION,
                                                      .node = node,
                                                      .pid = (uint32_t)getpid(),
                                                      .address = address,
                                                      .tcp_port = tcp_port,
                                                      .udp_port = udp_port}};
    rz_daemon_tell_launcher(launcher->daemon, &message);
}

void rz_launcher_flush(struct rz_launcher *launcher, uint32_t timeout_ms)
{
    rz_time deadline = rz_clock_now() + timeout_ms * RZ_MILLISECOND, now;
    while (!launcher->gone && rz_frames_flush(launcher->frames) == RZ_IN_PROGRESS &&
           (now = rz_clock_now()) < deadline) {
        struct pollfd polled = {.fd = rz_frames_fd(launcher->frames), .events = POLLOUT};
        poll(&polled, 1, (int)((deadline - now) / RZ_MILLISECOND) + 1);
    }
}

void rz_launcher_close(struct rz_launcher *launcher)
{
    if (!launcher)
        return;
    rz_loop_free(launcher->readable);
    rz_loop_free(launcher->writable);
    if (launcher->frames)
        rz_frames_close(launcher->frames);
    free(launcher);
}
