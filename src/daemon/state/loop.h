/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of the event loop as the daemon uses them: times are in nanoseconds, errors are
 * statuses, and NULL is allowed for an object that was not made. */
#ifndef RZ_DAEMON_LOOP_H
#define RZ_DAEMON_LOOP_H

#include "base/status.h"

#include <rhizome/types.h>

#include <event2/event.h>
#include <unistd.h>

/* Priorities of events: reports of failures are handled before everything else. */
enum { RZ_LOOP_PRIORITY_FAILURE, RZ_LOOP_PRIORITY_OTHER, RZ_LOOP_PRIORITIES };

/* Makes an event on fd. With EV_READ it is active from now on; with EV_WRITE alone it is only made,
 * and added when there is something to write. */
static inline rz_status_t rz_loop_watch(struct event_base *base, struct event **event, int fd,
                                        short what, event_callback_fn callback, void *arg)
{
    *event = event_new(base, fd, what, callback, arg);
    if (!*event) {
        return RZ_ERR_NO_MEMORY;
    }
    if ((what & (EV_READ | EV_SIGNAL)) && event_add(*event, NULL) != 0) {
        return RZ_ERR_SYSTEM;
    }
    return RZ_OK;
}

/* Makes a timer, or an event that is activated by hand. */
static inline rz_status_t rz_loop_timer(struct event_base *base, struct event **event,
                                        event_callback_fn callback, void *arg)
{
    *event = event_new(base, -1, EV_PERSIST, callback, arg);
    return *event ? RZ_OK : RZ_ERR_NO_MEMORY;
}

static inline struct timeval rz_loop_timeval(rz_time delay_ns)
{
    return (struct timeval){.tv_sec = (time_t)(delay_ns / RZ_SECOND),
                            .tv_usec = (suseconds_t)(delay_ns % RZ_SECOND / RZ_MICROSECOND)};
}

/* Makes the timer expire every period, until event_del or rz_loop_free. */
static inline void rz_loop_arm_every(struct event *timer, rz_time period_ns)
{
    struct timeval delay = rz_loop_timeval(period_ns);
    event_add(timer, &delay);
}

/* Calls back from the loop, once for several calls. */
static inline void rz_loop_soon(struct event *event)
{
    event_active(event, EV_TIMEOUT, 0);
}

static inline void rz_loop_free(struct event *event)
{
    if (event) {
        event_free(event);
    }
}

/*
 * A socket that accepts connections, and its descriptor. What connects while this daemon takes no
 * connection waits in the system's queue, which has a bound; the one behind it is refused.
 *   - No descriptor or memory is left for one more (rz_loop_listen_rest): the socket stays
 *     readable, so it rests for a while, and the loop does not spin.
 *   - This daemon has as many strangers as it bears (rz_loop_listen_full): the socket rests until
 *     one of them ends (rz_loop_listen_again).
 */
#define RZ_LOOP_REST_NS (20 * RZ_MILLISECOND)
struct rz_loop_listener {
    int fd; /* -1: none */
    struct event *readable, *again;
};
#define RZ_LOOP_LISTENER_NONE ((struct rz_loop_listener){.fd = -1})

static inline void rz_loop_listen_again(struct rz_loop_listener *listener)
{
    event_del(listener->again);
    event_add(listener->readable, NULL);
}

static inline void rz_loop_listener_rested(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    rz_loop_listen_again(arg);
}

/* Calls accept whenever there is something to accept. Owns fd from here on, also after an error.
 * *listener must stay where it is until rz_loop_listen_end, which is needed after an error, too. */
static inline rz_status_t rz_loop_listen(struct event_base *base, struct rz_loop_listener *listener,
                                         int fd, event_callback_fn accept, void *arg)
{
    *listener = (struct rz_loop_listener){.fd = fd};
    rz_status_t status = rz_loop_timer(base, &listener->again, rz_loop_listener_rested, listener);
    return status == RZ_OK
               ? rz_loop_watch(base, &listener->readable, fd, EV_READ | EV_PERSIST, accept, arg)
               : status;
}

/* Nothing could be accepted, though something waits. */
static inline void rz_loop_listen_rest(struct rz_loop_listener *listener)
{
    event_del(listener->readable);
    rz_loop_arm_every(listener->again, RZ_LOOP_REST_NS);
}

static inline void rz_loop_listen_full(struct rz_loop_listener *listener)
{
    event_del(listener->readable);
}

/* Closes the socket. */
static inline void rz_loop_listen_end(struct rz_loop_listener *listener)
{
    rz_loop_free(listener->readable);
    rz_loop_free(listener->again);
    if (listener->fd >= 0) {
        close(listener->fd);
    }
    *listener = RZ_LOOP_LISTENER_NONE;
}

#endif
