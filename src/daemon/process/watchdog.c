/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples the progress counters and the wait objects of the node's processes with timers. The
 * watchdog kills a process whose counter has not changed for the timeout; a stall, a wait that is
 * longer than the bound, is reported. */
#include "daemon/process/watchdog.h"

#include "base/trace.h"
#include "daemon/process/child.h"
#include "daemon/process/child_life.h"
#include "daemon/state/loop.h"
#include "port/clock.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- The watchdog ---- */

/* Samples per timeout: a process is killed late by at most this part of it. */
#define WATCHDOG_LOOKS 8
#define WATCHDOG_LOOK_MIN_NS RZ_MILLISECOND

struct rz_watchdog {
    const struct rz_children *children;
    struct event *timer;
    rz_time every, looked_at;
};

static void bark(struct rz_watchdog *watchdog, struct rz_child *p, rz_time now)
{
    char how[64];
    snprintf(how, sizeof(how), "no progress for %.3g s", (double)(now - p->progress_at) / 1e9);
    rz_report_log(&watchdog->children->own->report, 1, "rank %u hangs: %s", p->rank, how);
    RZ_TRACE(PROCESS_HANGS, p->rank, p->incarnation, 0);
    p->hung = true;
    rz_child_failed(p, how, now);
}

/* Time in which the process was ready but got no processor does not count. Time in which this
 * daemon did not sample counts as one sample: the process may have been stopped together with the
 * daemon. */
static void watch(struct rz_watchdog *watchdog, struct rz_child *p, rz_time now, rz_time gap)
{
    const struct rz_run_look before = p->run;
    uint64_t progress = rz_waits_progress(p->share.waits);
    p->run = rz_run_delay_look(p->pid);
    if (progress != p->progress || p->progress_at == 0) {
        p->progress = progress;
        p->progress_at = now;
        p->stuck = 0;
        return;
    }
    gap = gap < 2 * watchdog->every ? gap : watchdog->every;
    p->stuck += gap - rz_run_delay_between(&before, &p->run, gap);
    if (p->stuck >= watchdog->children->own->job.hang_timeout_ns) {
        bark(watchdog, p, now);
    }
}

static void look_at_beats(evutil_socket_t fd, short what, void *arg)
{
    struct rz_watchdog *watchdog = arg;
    rz_time now = rz_clock_now(), gap = now - watchdog->looked_at;
    struct rz_child *next;
    (void)fd, (void)what;
    watchdog->looked_at = now;
    for (struct rz_child *p = watchdog->children->first; p; p = next) {
        next = p->next;
        if (p->state == RZ_CHILD_JOINED && p->share.waits) {
            watch(watchdog, p, now, gap);
        }
    }
}

rz_status_t rz_watchdog_open(struct rz_watchdog **result, const struct rz_children *children)
{
    rz_time timeout = children->own->job.hang_timeout_ns;
    if (timeout == 0) {
        return RZ_OK;
    }
    struct rz_watchdog *watchdog = calloc(1, sizeof(*watchdog));
    if (!watchdog) {
        return RZ_ERR_NO_MEMORY;
    }
    watchdog->children = children;
    watchdog->every = timeout / WATCHDOG_LOOKS > WATCHDOG_LOOK_MIN_NS ? timeout / WATCHDOG_LOOKS
                                                                      : WATCHDOG_LOOK_MIN_NS;
    watchdog->looked_at = rz_clock_now();
    rz_status_t status =
        rz_loop_timer(children->own->base, &watchdog->timer, look_at_beats, watchdog);
    if (status != RZ_OK) {
        free(watchdog);
        return status;
    }
    rz_loop_arm_every(watchdog->timer, watchdog->every);
    *result = watchdog;
    return RZ_OK;
}

void rz_watchdog_close(struct rz_watchdog *watchdog)
{
    if (!watchdog) {
        return;
    }
    rz_loop_free(watchdog->timer);
    free(watchdog);
}

/* ---- Stalls ---- */

/* Samples per bound: a report is late by at most this part of it. */
#define STALL_LOOKS 8
#define STALL_LOOK_MIN_NS RZ_MILLISECOND

struct rz_stall {
    const struct rz_children *children;
    struct event *timer;
    rz_time told; /* waits that began before or at this time were reported */
};

/* The latest begin of a wait of p that is older than the bound; 0: there is none. */
static rz_time stalled_since(const struct rz_stall *stall, const struct rz_child *p, rz_time now)
{
    rz_time latest = 0, bound = stall->children->own->job.hang_report_ns;
    for (uint32_t i = 0; i < RZ_WAITS_MAX; i++) {
        struct rz_wait_text text;
        if (rz_wait_read(&p->share.waits->wait[i], &text) && text.since_ns + bound <= now &&
            text.since_ns > latest) {
            latest = text.since_ns;
        }
    }
    return latest;
}

static void look_for_stall(evutil_socket_t fd, short what, void *arg)
{
    struct rz_stall *stall = arg;
    rz_time now = rz_clock_now(), latest = 0;
    (void)fd, (void)what;
    for (struct rz_child *p = stall->children->first; p; p = p->next) {
        rz_time since =
            p->state == RZ_CHILD_JOINED && p->share.waits ? stalled_since(stall, p, now) : 0;
        latest = since > latest ? since : latest;
    }
    if (latest <= stall->told || stall->children->own->membership.ending) {
        return;
    }
    stall->told = latest;
    struct rz_launch_message message = {.type = RZ_LAUNCH_STALLED,
                                        .stalled = {.for_ns = now - latest}};
    rz_report_send(&stall->children->own->report, &message);
}

rz_status_t rz_stall_open(struct rz_stall **result, const struct rz_children *children)
{
    rz_time every = children->own->job.hang_report_ns / STALL_LOOKS;
    if (children->own->job.hang_report_ns == 0) {
        return RZ_OK;
    }
    struct rz_stall *stall = calloc(1, sizeof(*stall));
    if (!stall) {
        return RZ_ERR_NO_MEMORY;
    }
    stall->children = children;
    rz_status_t status = rz_loop_timer(children->own->base, &stall->timer, look_for_stall, stall);
    if (status != RZ_OK) {
        free(stall);
        return status;
    }
    rz_loop_arm_every(stall->timer, every > STALL_LOOK_MIN_NS ? every : STALL_LOOK_MIN_NS);
    *result = stall;
    return RZ_OK;
}

void rz_stall_close(struct rz_stall *stall)
{
    if (!stall) {
        return;
    }
    rz_loop_free(stall->timer);
    free(stall);
}
