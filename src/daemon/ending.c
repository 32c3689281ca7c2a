#include "daemon/ending.h"

#include "daemon/board_writer.h"
#include "daemon/detached.h"
#include "daemon/loop.h"
#include "daemon/child.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "port/process.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* From SIGKILL to the last process reaped; the teardown of much memory takes its time. The keeper
 * waits longer. */
#define REAP_NS (2 * RZ_SECOND)

struct rz_ending {
    struct event *timer;
    rz_time kill_at, leave_at;
    bool killed;
    bool in_order; /* the job is over: the others end, too */
    bool done;     /* all has ended here, and rzrun was told */
    bool released; /* all others have heard that the job is over, or nobody can say so any more */
    int status;
};

/*
 * No daemon goes before all have heard that the job is over: one that has not would take the end of
 * our connections, or our silence, for a failure, or find nobody where it looks for us.
 */
static void say_done(struct rz_daemon *daemon)
{
    struct rz_launch_message done = {.type = RZ_LAUNCH_DONE};
    if (daemon->end->done)
        return;
    if (daemon->recovery)
        done.done.strangers = rz_recovery_strangers(daemon->recovery);
    daemon->end->done = true;
    rz_daemon_tell_launcher(daemon, &done);
    rz_kill_here(RZ_KILL_DAEMON_DONE);
}

static void leave(struct rz_daemon *daemon)
{
    event_del(daemon->end->timer);
    if (daemon->detached && rz_detached_stays(daemon->detached))
        return;
    if (daemon->end->in_order && !daemon->end->released)
        say_done(daemon);
    else
        event_base_loopbreak(daemon->base);
}

void rz_ending_release(struct rz_daemon *daemon)
{
    daemon->end->released = true;
    if (daemon->end->done)
        event_base_loopbreak(daemon->base);
}

static void kill_all(struct rz_daemon *daemon)
{
    struct rz_ending *ending = daemon->end;
    ending->killed = true;
    for (struct rz_child *p = rz_children(daemon); p; p = p->next)
        rz_child_order_end(p);
    ending->leave_at = rz_clock_now() + REAP_NS;
}

static void arm(struct rz_ending *ending, rz_time at)
{
    rz_time now = rz_clock_now();
    rz_loop_arm_every(ending->timer, at > now ? at - now : 0);
}

static void time_is_over(evutil_socket_t fd, short what, void *arg)
{
    struct rz_daemon *daemon = arg;
    (void)fd, (void)what;
    if (daemon->end->killed) {
        leave(daemon);
        return;
    }
    kill_all(daemon);
    arm(daemon->end, daemon->end->leave_at);
}

void rz_ending_begin(struct rz_daemon *daemon, int exit_status, rz_status_t why, uint32_t grace_ms)
{
    struct rz_ending *ending = daemon->end;
    rz_time kill_at = rz_clock_now() + grace_ms * RZ_MILLISECOND;
    if (daemon->ending && exit_status != EXIT_SUCCESS) /* told to end alone */
        rz_ending_release(daemon);
    if (!daemon->ending) {
        rz_kill_here(RZ_KILL_DAEMON_ENDING);
        daemon->ending = true;
        ending->status = exit_status;
        ending->in_order = exit_status == EXIT_SUCCESS;
        ending->kill_at = kill_at;
        if (daemon->recovery)
            rz_recovery_ending(daemon->recovery);
        if (daemon->board)
            rz_board_writer_stop(daemon->board, why);
        if (grace_ms > 0)
            rz_children_signal(daemon, SIGTERM);
    } else if (ending->killed || kill_at >= ending->kill_at) {
        return;
    }
    ending->kill_at = kill_at;
    arm(ending, kill_at);
    rz_ending_look(daemon);
}

void rz_ending_look(struct rz_daemon *daemon)
{
    if (daemon->ending && !rz_children(daemon))
        leave(daemon);
}

int rz_ending_status(const struct rz_ending *ending)
{
    return ending->status;
}

rz_status_t rz_ending_open(struct rz_ending **result, struct rz_daemon *daemon)
{
    struct rz_ending *ending = calloc(1, sizeof *ending);
    if (!ending)
        return RZ_ERR_NO_MEMORY;
    rz_status_t status = rz_loop_timer(daemon->base, &ending->timer, time_is_over, daemon);
    if (status != RZ_OK) {
        free(ending);
        return status;
    }
    *result = ending;
    return RZ_OK;
}

void rz_ending_close(struct rz_ending *ending)
{
    if (!ending)
        return;
    rz_loop_free(ending->timer);
    free(ending);
}

void rz_ending_clear(void)
{
    rz_process_clear(REAP_NS); /* what cannot be killed is left to the keeper */
}
