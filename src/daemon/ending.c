/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a daemon as a sequence of timed steps: the processes get time to end, are killed, and
 * are reaped; where all have ended by themselves, output of what they have left is awaited; then
 * the daemon tells rzrun DONE and waits for LEAVE, or leaves the loop at once. */
#include "daemon/ending.h"

#include "daemon/state/loop.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "port/process.h"
#include "port/signals.h"

#include <stdlib.h>

/* The longest time from SIGKILL until the last process is reaped: releasing much memory takes time.
 * The keeper waits longer. */
#define REAP_NS (2 * RZ_SECOND)

struct rz_ending {
    struct rz_own_node *own;
    struct rz_ending_parts parts;
    struct event *timer;
    rz_time kill_at, leave_at;
    rz_time write_since; /* from when on output of what ranks have left is awaited; 0: it is not */
    bool killed;
    bool in_order; /* the job is over, and the other daemons end, too */
    bool done;     /* all processes here have ended, and rzrun was told DONE */
    bool released; /* all other daemons know that the job is over, or rzrun cannot tell any more */
    int status;
};

static struct rz_child *first_child(const struct rz_ending *ending)
{
    return ending->parts.children ? ending->parts.children->first : NULL;
}

/*
 * The daemon stays until all daemons know that the job is over. A daemon that does not know it yet
 * would take the end of our connections, or our silence, for a failure, or would fail to connect.
 */
static void say_done(struct rz_ending *ending)
{
    struct rz_launch_message done = {.type = RZ_LAUNCH_DONE};
    if (ending->done) {
        return;
    }
    if (ending->parts.recovery) {
        done.done.strangers = rz_recovery_strangers(ending->parts.recovery);
    }
    ending->done = true;
    rz_report_send(&ending->own->report, &done);
    rz_kill_here(RZ_KILL_DAEMON_DONE);
}

static void leave_job(struct rz_ending *ending)
{
    event_del(ending->timer);
    if (ending->parts.stays && ending->parts.stays(ending->parts.arg)) {
        return;
    }
    if (ending->in_order && !ending->released) {
        say_done(ending);
    } else {
        event_base_loopbreak(ending->own->base);
    }
}

void rz_ending_release(struct rz_ending *ending)
{
    ending->released = true;
    if (ending->done) {
        event_base_loopbreak(ending->own->base);
    }
}

static void kill_all(struct rz_ending *ending)
{
    ending->killed = true;
    for (struct rz_child *p = first_child(ending); p; p = p->next) {
        rz_child_order_end(p);
    }
    ending->leave_at = rz_clock_now() + REAP_NS;
}

static void arm_ending(struct rz_ending *ending, rz_time at)
{
    rz_time now = rz_clock_now();
    rz_loop_arm_every(ending->timer, at > now ? at - now : 0);
}

/* No process is left here that this daemon has started. */
static void empty(struct rz_ending *ending)
{
    rz_time until =
        ending->write_since ? rz_outputs_await(ending->parts.outputs, ending->write_since) : 0;
    if (until > 0) {
        arm_ending(ending, until);
    } else {
        ending->write_since = 0;
        leave_job(ending);
    }
}

static void time_is_over(evutil_socket_t fd, short what, void *arg)
{
    struct rz_ending *ending = arg;
    (void)fd, (void)what;
    if (!first_child(ending)) {
        empty(ending);
        return;
    }
    if (ending->killed) {
        leave_job(ending);
        return;
    }
    kill_all(ending);
    arm_ending(ending, ending->leave_at);
}

static void output_ended(void *arg)
{
    rz_ending_look(arg);
}

static void await_output(struct rz_ending *ending)
{
    if (ending->own->job.output_wait_ns > 0 && ending->parts.outputs) {
        ending->write_since = rz_clock_now();
        rz_outputs_on_end(ending->parts.outputs, output_ended, ending);
    }
}

void rz_ending_begin(struct rz_ending *ending, int exit_status, rz_status_t why, uint32_t grace_ms,
                     bool complete)
{
    rz_time kill_at = rz_clock_now() + grace_ms * RZ_MILLISECOND;
    if (ending->own->membership.ending && exit_status != EXIT_SUCCESS) {
        /* This daemon must end alone. */
        rz_ending_release(ending);
    }
    if (!ending->own->membership.ending) {
        rz_kill_here(RZ_KILL_DAEMON_ENDING);
        rz_membership_end(&ending->own->membership);
        ending->status = exit_status;
        ending->in_order = exit_status == EXIT_SUCCESS;
        ending->kill_at = kill_at;
        if (ending->parts.recovery) {
            rz_recovery_ending(ending->parts.recovery);
        }
        if (ending->parts.board) {
            rz_board_writer_stop(ending->parts.board, why);
        }
        if (grace_ms > 0 && ending->parts.children) {
            rz_children_signal(ending->parts.children, SIGTERM);
        }
        if (complete) {
            await_output(ending);
        }
    } else if (ending->write_since && !complete) {
        ending->write_since = 0;
    } else if (ending->killed || kill_at >= ending->kill_at) {
        return;
    }
    ending->kill_at = kill_at;
    arm_ending(ending, kill_at);
    rz_ending_look(ending);
}

void rz_ending_look(struct rz_ending *ending)
{
    if (ending->own->membership.ending && !first_child(ending)) {
        empty(ending);
    }
}

int rz_ending_status(const struct rz_ending *ending)
{
    return ending->status;
}

struct rz_ending_parts *rz_ending_parts(struct rz_ending *ending)
{
    return &ending->parts;
}

rz_status_t rz_ending_open(struct rz_ending **result, struct rz_own_node *own)
{
    struct rz_ending *ending = calloc(1, sizeof(*ending));
    if (!ending) {
        return RZ_ERR_NO_MEMORY;
    }
    ending->own = own;
    rz_status_t status = rz_loop_timer(own->base, &ending->timer, time_is_over, ending);
    if (status != RZ_OK) {
        free(ending);
        return status;
    }
    *result = ending;
    return RZ_OK;
}

void rz_ending_close(struct rz_ending *ending)
{
    if (!ending) {
        return;
    }
    rz_loop_free(ending->timer);
    free(ending);
}

void rz_ending_clear(void)
{
    rz_process_clear(REAP_NS); /* a process that cannot be killed is left to the keeper */
}
