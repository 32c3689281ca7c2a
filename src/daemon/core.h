/*
 * Drives one protocol core for a host: steps it, enlarges its memory when it asks, carries out its
 * actions, keeps its timer. Notices are not carried out at once but queued for the host, in order,
 * so that no core is stepped from inside another's step.
 */
#ifndef RZ_DAEMON_CORE_H
#define RZ_DAEMON_CORE_H

#include <rhizome/protocol.h>

#include <event2/event.h>

/* The functions of a protocol room, as rhizome/protocol.h lists them. */
struct rz_core_room {
    enum rz_room room;
    enum rz_more (*step)(void *state, const struct rz_event *event, struct rz_actions *out);
    rz_time (*deadline)(const void *state);
    void (*grow)(void *state, size_t bytes);
};

/* Defines name_room for the room src/proto/name: its functions, as they take any state. */
#define RZ_CORE_ROOM(name, NAME)                                                                   \
    static enum rz_more name##_step(void *state, const struct rz_event *event,                     \
                                    struct rz_actions *out)                                        \
    {                                                                                              \
        return rz_##name##_step(state, event, out);                                                \
    }                                                                                              \
    static rz_time name##_deadline(const void *state)                                              \
    {                                                                                              \
        return rz_##name##_deadline(state);                                                        \
    }                                                                                              \
    static void name##_grow(void *state, size_t bytes)                                             \
    {                                                                                              \
        rz_##name##_grow(state, bytes);                                                            \
    }                                                                                              \
    static const struct rz_core_room name##_room = {RZ_ROOM_##NAME, name##_step, name##_deadline,  \
                                                    name##_grow};

struct rz_core_host {
    void *arg;
    /* Before a tick of this room: deliver what has come but was not read yet. */
    void (*before_tick)(void *arg, enum rz_room room);
    void (*send)(void *arg, rz_id to, const struct rz_message *message, const uint64_t *items);
};

/* A copy of a NOTIFY action, in memory of its own. */
struct rz_core_notice {
    struct rz_core_notice *next;
    enum rz_room room;
    uint32_t what;
    uint64_t arg[4];
    uint32_t n_items;
    uint64_t items[];
};

/* Notices of all cores of a host, oldest first. */
struct rz_core_notices {
    struct rz_core_notice *first, **last;
    struct event *ready; /* made active when a notice is queued */
};

struct rz_core {
    const struct rz_core_room *room;
    const struct rz_core_host *host;
    struct rz_core_notices *notices;
    struct event *timer;
    rz_time armed; /* for when the timer is set, by this core's clock */

    /* Detectors that count time: what this daemon slept through (stopped, or its machine suspended)
     * did not pass for them, since they could not listen meanwhile. A deadline missed by more than
     * `oversleeps` counts as sleep; 0: never, the core is told the time as it is. */
    rz_time oversleeps;
    rz_time slept;    /* so far; this core's clock is so much behind */
    rz_time told_now; /* its clock never goes back */
    void *state;
    size_t bytes;
};

void rz_core_notices_init(struct rz_core_notices *notices, struct event *ready);
struct rz_core_notice *
rz_core_notices_take(struct rz_core_notices *notices); /* freed by the caller; NULL: none */
void rz_core_notices_clear(struct rz_core_notices *notices);

/* Zeroed memory of the size the room asks for; the caller then calls the room's init, then
 * rz_core_started. */
void *rz_core_open(struct rz_core *core, const struct rz_core_room *room, size_t bytes,
                   const struct rz_core_host *host, struct rz_core_notices *notices,
                   struct event_base *base);
void rz_core_started(struct rz_core *core);
void rz_core_close(struct rz_core *core);

/* One event; event->now is filled in here. */
void rz_core_step(struct rz_core *core, const struct rz_event *event);

/* Shorthands for a call and for news of deaths. */
void rz_core_call(struct rz_core *core, uint32_t call, uint64_t arg0, uint64_t arg1, uint64_t arg2,
                  const uint64_t *items, uint32_t n_items);
void rz_core_death(struct rz_core *core, rz_id id, bool proof);

#endif
