#include "daemon/core.h"

#include "base/assert.h"
#include "port/clock.h"

#include <stdlib.h>
#include <string.h>

#define ACTIONS_MAX 32

void rz_core_notices_init(struct rz_core_notices *notices, struct event *ready)
{
    *notices = (struct rz_core_notices){.last = &notices->first, .ready = ready};
}

struct rz_core_notice *rz_core_notices_take(struct rz_core_notices *notices)
{
    struct rz_core_notice *notice = notices->first;
    if (notice) {
        notices->first = notice->next;
        if (!notices->first)
            notices->last = &notices->first;
    }
    return notice;
}

void rz_core_notices_clear(struct rz_core_notices *notices)
{
    struct rz_core_notice *notice;
    while ((notice = rz_core_notices_take(notices)))
        free(notice);
}

static void queue_notice(struct rz_core *core, const struct rz_action *action)
{
    struct rz_core_notice *notice = malloc(sizeof *notice + action->n_items * sizeof(uint64_t));
    rz_assert(notice != NULL);
    notice->next = NULL;
    notice->room = core->room->room;
    notice->what = action->what;
    memcpy(notice->arg, action->arg, sizeof notice->arg);
    notice->n_items = action->n_items;
    if (action->n_items > 0)
        memcpy(notice->items, action->items, action->n_items * sizeof(uint64_t));
    *core->notices->last = notice;
    core->notices->last = &notice->next;
    event_active(core->notices->ready, EV_TIMEOUT, 0);
}

static void carry_out(struct rz_core *core, const struct rz_action *action)
{
    if (action->kind == RZ_ACTION_NOTIFY) {
        queue_notice(core, action);
        return;
    }
    for (uint32_t i = 0; i < action->n_to; i++)
        core->host->send(core->host->arg, action->to[i], &action->message, action->items);
}

static void enlarge(struct rz_core *core, size_t bytes)
{
    rz_assert(bytes > core->bytes);
    core->state = realloc(core->state, bytes);
    rz_assert(core->state != NULL);
    memset((char *)core->state + core->bytes, 0, bytes - core->bytes);
    core->bytes = bytes;
    core->room->grow(core->state, bytes);
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
    rz_time deadline = core->room->deadline(core->state);
    if (deadline == core->armed)
        return;
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
    rz_time now = core_now(core); /* while it is known how late this is */
    bool early = now < core->armed;
    core->armed = RZ_TIME_NEVER;
    if (early) { /* the loop may have a coarser clock than we */
        set_timer(core);
        return;
    }
    core->host->before_tick(core->host->arg, core->room->room);
    rz_core_step(core, &(struct rz_event){.kind = RZ_EVENT_TICK});
}

void rz_core_step(struct rz_core *core, const struct rz_event *event)
{
    struct rz_action actions[ACTIONS_MAX];
    struct rz_actions out = {.v = actions, .max = ACTIONS_MAX};
    struct rz_event now = *event;
    now.now = core_now(core);
    for (;;) {
        out.count = 0;
        enum rz_more more = core->room->step(core->state, &now, &out);
        for (uint32_t i = 0; i < out.count; i++)
            carry_out(core, &actions[i]);
        if (more == RZ_DONE)
            break;
        if (more == RZ_NEED)
            enlarge(core, out.need);
        else
            now = (struct rz_event){.kind = RZ_EVENT_CONTINUE, .now = now.now};
    }
    set_timer(core);
}

void *rz_core_open(struct rz_core *core, const struct rz_core_room *room, size_t bytes,
                   const struct rz_core_host *host, struct rz_core_notices *notices,
                   struct event_base *base)
{
    *core = (struct rz_core){
        .room = room, .host = host, .notices = notices, .armed = RZ_TIME_NEVER, .bytes = bytes};
    core->state = calloc(1, bytes);
    core->timer = event_new(base, -1, 0, timer_fired, core);
    rz_assert(core->state != NULL && core->timer != NULL);
    event_priority_set(core->timer, 0);
    return core->state;
}

void rz_core_started(struct rz_core *core)
{
    set_timer(core);
}

void rz_core_close(struct rz_core *core)
{
    if (core->timer)
        event_free(core->timer);
    free(core->state);
    *core = (struct rz_core){0};
}

void rz_core_call(struct rz_core *core, uint32_t call, uint64_t arg0, uint64_t arg1, uint64_t arg2,
                  const uint64_t *items, uint32_t n_items)
{
    rz_core_step(core, &(struct rz_event){.kind = RZ_EVENT_CALL,
                                          .call = call,
                                          .arg = {arg0, arg1, arg2, 0},
                                          .items = items,
                                          .n_items = n_items});
}

void rz_core_death(struct rz_core *core, rz_id id, bool proof)
{
    rz_core_step(core,
                 &(struct rz_event){
                     .kind = RZ_EVENT_DEATH, .ids = &id, .n_ids = 1, .arg = {proof, 0, 0, 0}});
}
