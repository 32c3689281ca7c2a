/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples the wait objects of the node's processes with a timer, and reports waits that are longer
 * than the bound. */
#include "daemon/process/stall.h"

#include "daemon/process/child.h"
#include "daemon/state/loop.h"
#include "port/clock.h"

#include <stdlib.h>

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
