/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A protocol core (host/embedded.h) embedded in the daemon's loop: this module carries out its
 * actions and keeps its timer. Notices are not carried out at once but queued for the host, in
 * order, so that no core is stepped from inside another's step.
 */
#ifndef RZ_DAEMON_CORE_H
#define RZ_DAEMON_CORE_H

#include "host/embedded.h"

#include <event2/event.h>

/* How much later the daemons' broadcasts (proto/spread) use the edges beside the tree: by then the
 * processes that the news wake have run, even if there are many on few processors. */
#define RZ_CORE_REDUNDANT_AFTER (10 * RZ_MILLISECOND)

struct rz_core_host {
    void *arg;
    /* Called before a tick of this component: deliver what has arrived but was not read yet. NULL:
     * nothing is to be done then. */
    void (*before_tick)(void *arg, enum rz_protocol_number protocol);
    void (*send)(void *arg, rz_id to, const struct rz_message *message, const uint64_t *items);
};

/* A copy of a NOTIFY action, in memory of its own. */
struct rz_core_notice {
    struct rz_core_notice *next;
    enum rz_protocol_number protocol;
    uint32_t what;
    uint64_t arg[4];
    uint32_t n_items;
    uint64_t items[];
};

/* Notices of all cores of a host, oldest first. */
struct rz_core_notices {
    struct rz_core_notice *first, **last;
    struct event *ready; /* activated when a notice is queued */
};

struct rz_core {
    struct rz_embedded embedded;
    const struct rz_core_host *host;
    struct rz_core_notices *notices;
    struct event *timer;
    rz_time armed; /* the time the timer is set for, by this core's clock */

    /* For detectors, which count time: time in which this daemon slept (stopped, or its machine
     * suspended) does not count for them, because they could not receive meanwhile. A deadline
     * missed by more than `oversleeps` counts as sleep; 0: never, the core gets the time as it
     * is. */
    rz_time oversleeps;
    rz_time slept;    /* the sum of sleeps; this core's clock is behind by it */
    rz_time late;     /* how late its last timer was, including sleep */
    rz_time told_now; /* the last time told to the core; its clock never goes back */
};

/* The protocol of the daemons' broadcasts (proto/spread). */
extern const struct rz_protocol *const rz_core_spread;

void rz_core_notices_init(struct rz_core_notices *notices, struct event *ready);
struct rz_core_notice *
rz_core_notices_take(struct rz_core_notices *notices); /* the caller frees it; NULL: none */
void rz_core_notices_clear(struct rz_core_notices *notices);

struct rz_core_setup {
    const struct rz_protocol *protocol;
    const void *config; /* of the protocol */
    rz_id self;
    rz_time now;
    uint64_t seed;
    const struct rz_core_host *host;
    struct rz_core_notices *notices;
    struct event_base *base;
};

/* Makes and begins the core. Before rz_core_started it gets events only by rz_core_step. Asserts
 * that there is memory. */
void rz_core_open(struct rz_core *core, const struct rz_core_setup *setup);
void rz_core_started(struct rz_core *core);
void rz_core_close(struct rz_core *core);

/* Passes one event to the core; fills in event->now. */
void rz_core_step(struct rz_core *core, const struct rz_event *event);

/* Shorthands for a call, with arguments or with items, and for the report of failures. */
void rz_core_call(struct rz_core *core, uint32_t call, uint64_t arg0, uint64_t arg1, uint64_t arg2);
void rz_core_call_items(struct rz_core *core, uint32_t call, const uint64_t *items,
                        uint32_t n_items);
void rz_core_failure(struct rz_core *core, rz_id id, bool proof);

#endif
