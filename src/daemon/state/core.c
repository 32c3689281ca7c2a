/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a protocol core in the daemon's loop: sets the timer as the core asks, carries out actions
 * through the host, and queues notices. */
#include "daemon/state/core.h"

#include "base/no_memory.h"
#include "port/clock.h"
#include "proto/spread/spread.h"

#include <stdlib.h>
#include <string.h>

RZ_PROTOCOL(spread, RZ_PROTOCOL_SPREAD);
const struct rz_protocol *const rz_core_spread = &rz_protocol_spread;

void rz_core_notices_init(struct rz_core_notices *notices, struct event *ready)
{
    *notices = (struct rz_core_notices){.last = &notices->first, .ready = ready};
}

struct rz_core_notice *rz_core_notices_take(struct rz_core_notices *notices)
{
    struct rz_core_notice *notice = notices->first;
    if (notice) {
        notices->first = notice->next;
        if (!notices->first) {
            notices->last = &notices->first;
        }
    }
    return notice;
}

void rz_core_notices_clear(struct rz_core_notices *notices)
{
    struct rz_core_notice *notice;
    while ((notice = rz_core_notices_take(notices))) {
        free(notice);
    }
}

static void queue_notice(struct rz_core *core, const struct rz_action *action)
{
    struct rz_core_notice *notice = malloc(sizeof(*notice) + action->n_items * sizeof(uint64_t));
    rz_need_memory(notice, "for a notice of a protocol");
    notice->next = NULL;
    notice->protocol = core->embedded.protocol->number;
    notice->what = action->what;
    memcpy(notice->arg, action->arg, sizeof(notice->arg));
    notice->n_items = action->n_items;
    if (action->n_items > 0) {
        memcpy(notice->items, action->items, action->n_items * sizeof(uint64_t));
    }
    *core->notices->last = notice;
    core->notices->last = &notice->next;
    event_active(core->notices->ready, EV_TIMEOUT, 0);
}

static void carry_out_actions(void *arg, const struct rz_actions *actions)
{
    struct rz_core *core = arg;
    for (uint32_t i = 0; i < actions->count; i++) {
        const struct rz_action *action = &actions->v[i];
        if (action->kind == RZ_ACTION_NOTIFY) {
            queue_notice(core, action);
        }
        for (uint32_t k = 0; action->kind == RZ_ACTION_SEND && k < action->n_to; k++) {
            core->host->send(core->host->arg, action->to[k], &action->message, action->items);
        }
    }
}

static rz_time core_now(struct rz_core *core)
{
    rz_time now = rz_clock_now() - core->slept;
    if (core->oversleeps > 0 && core->armed != RZ_TIME_NEVER &&
        now > core->armed + core->oversleeps) {
        rz_time woken = core->armed > core->told_now ? core->armed : core->told_now;
        core->slept += now - woken;
        now = woken;
    }
    core->told_now = now;
    return now;
}

static void set_timer(struct rz_core *core)
{
    rz_time deadline = core->embedded.protocol->deadline(core->embedded.state);
    if (deadline == core->armed) {
        return;
    }
    core->armed = deadline;
    if (deadline == RZ_TIME_NEVER) {
        event_del(core->timer);
        return;
    }
    rz_time now = rz_clock_now() - core->slept, wait = deadline > now ? deadline - now : 0;
    struct timeval delay = {.tv_sec = (time_t)(wait / RZ_SECOND),
                            .tv_usec = (suseconds_t)((wait % RZ_SECOND + 999) / RZ_MICROSECOND)};
    event_add(core->timer, &delay);
}

static void timer_fired(evutil_socket_t fd, short what, void *arg)
{
    struct rz_core *core = arg;
    (void)fd, (void)what;
    rz_time told = rz_clock_now() - core->slept;
    core->late = told > core->armed ? told - core->armed : 0;
    rz_time now = core_now(core); /* read now, while it is known how late the timer is */
    bool early = now < core->armed;
    core->armed = RZ_TIME_NEVER;
    if (early) {
        /* The loop's clock may be coarser than the core's. */
        set_timer(core);
        return;
    }
    if (core->host->before_tick) {
        core->host->before_tick(core->host->arg, core->embedded.protocol->number);
    }
    rz_core_step(core, &(struct rz_event){.kind = RZ_EVENT_TICK});
}

void rz_core_step(struct rz_core *core, const struct rz_event *event)
{
    struct rz_event now = *event;
    now.now = core_now(core);
    bool done = rz_embedded_step(&core->embedded, &now, carry_out_actions, core);
    rz_need_memory(done, "for the state of a protocol");
    set_timer(core);
}

void rz_core_open(struct rz_core *core, const struct rz_core_setup *setup)
{
    *core =
        (struct rz_core){.host = setup->host, .notices = setup->notices, .armed = RZ_TIME_NEVER};
    bool opened = rz_embedded_open(&core->embedded, setup->protocol, setup->config, setup->self,
                                   setup->now, setup->seed);
    core->timer = event_new(setup->base, -1, 0, timer_fired, core);
    rz_need_memory(opened && core->timer, "for a protocol");
    event_priority_set(core->timer, 0);
}

void rz_core_started(struct rz_core *core)
{
    set_timer(core);
}

void rz_core_close(struct rz_core *core)
{
    if (core->timer) {
        event_free(core->timer);
    }
    rz_embedded_close(&core->embedded);
    *core = (struct rz_core){0};
}

void rz_core_call(struct rz_core *core, uint32_t call, uint64_t arg0, uint64_t arg1, uint64_t arg2)
{
    rz_core_step(core, &(struct rz_event){
                           .kind = RZ_EVENT_CALL, .call = call, .arg = {arg0, arg1, arg2, 0}});
}

void rz_core_call_items(struct rz_core *core, uint32_t call, const uint64_t *items,
                        uint32_t n_items)
{
    rz_core_step(core,
                 &(struct rz_event){
                     .kind = RZ_EVENT_CALL, .call = call, .items = items, .n_items = n_items});
}

void rz_core_failure(struct rz_core *core, rz_id id, bool proof)
{
    rz_core_step(core,
                 &(struct rz_event){
                     .kind = RZ_EVENT_FAILURE, .ids = &id, .n_ids = 1, .arg = {proof, 0, 0, 0}});
}
