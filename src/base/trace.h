/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace: each process and each daemon writes its last events into a ring of fixed size, in
 * memory that others hold too, so that it can be read after any end of the process.
 * docs/tracing.md.
 *
 *   RZ_TRACE(FAILURE_LEARNT, slot, incarnation, state);
 *
 * costs one predictable branch where the module's level is lower than the event's, else one write
 * of 40 bytes, two atomic operations and a reading of the clock; it never waits, never fails, and
 * may be used by any thread and in signal handlers. Not in the path of each message of the program,
 * and not in protocol cores, whose host traces them.
 *
 * Writers: each takes the next number and then the slot that this number has, by an atomic
 * exchange. A slot that a thread still writes, or that a process left unfinished when it was
 * killed, loses the event. Readers copy a slot and look whether its number is still the same.
 */
#ifndef RZ_BASE_TRACE_H
#define RZ_BASE_TRACE_H

#include "base/status.h"
#include "base/trace_events.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- names ---- */

#define RZ_TRACE_MODULE_ENUM(name, group) RZ_TRACE_MODULE_##name,
enum rz_trace_module { RZ_TRACE_MODULES(RZ_TRACE_MODULE_ENUM) RZ_TRACE_MODULE_COUNT };

#define RZ_TRACE_LEVEL_ENUM(name) RZ_TRACE_LEVEL_##name,
enum rz_trace_level { RZ_TRACE_LEVELS(RZ_TRACE_LEVEL_ENUM) RZ_TRACE_LEVEL_COUNT };

#define RZ_TRACE_EVENT_ENUM(NAME, module, level, kind, a, b, c) RZ_TRACE_##NAME,
enum rz_trace_number { RZ_TRACE_EVENTS(RZ_TRACE_EVENT_ENUM) RZ_TRACE_EVENT_COUNT };

/* The module and the level of each event, as constants. */
#define RZ_TRACE_EVENT_MODULE(NAME, module, level, kind, a, b, c)                                  \
    RZ_TRACE_MODULE_OF_##NAME = RZ_TRACE_MODULE_##module,
enum { RZ_TRACE_EVENTS(RZ_TRACE_EVENT_MODULE) };
#define RZ_TRACE_EVENT_LEVEL(NAME, module, level, kind, a, b, c)                                   \
    RZ_TRACE_LEVEL_OF_##NAME = RZ_TRACE_LEVEL_##level,
enum { RZ_TRACE_EVENTS(RZ_TRACE_EVENT_LEVEL) };

enum rz_trace_kind { RZ_TRACE_POINT, RZ_TRACE_BEGIN, RZ_TRACE_END };

struct rz_trace_meaning {
    const char *name; /* in lower case, without _begin or _end */
    enum rz_trace_module module;
    enum rz_trace_level level;
    enum rz_trace_kind kind;
    const char *args[3]; /* their names; "": it has no meaning */
};

/* event is less than RZ_TRACE_EVENT_COUNT. */
const struct rz_trace_meaning *rz_trace_meaning(uint32_t event);
const char *rz_trace_module_name(enum rz_trace_module module);
const char *rz_trace_level_name(enum rz_trace_level level);

/* ---- levels ---- */

struct rz_trace_levels {
    uint8_t of[RZ_TRACE_MODULE_COUNT]; /* enum rz_trace_level */
};

/* notice for all modules. */
void rz_trace_levels_default(struct rz_trace_levels *levels);

/* MODULE:LEVEL[,MODULE:LEVEL...]; MODULE is also `mpi`, `daemon` (all modules of the folder) or
 * `all`; what comes later counts. On top of what *levels is. False: *levels is unchanged, and text
 * says what is wrong, with the modules and levels that there are. */
bool rz_trace_levels_parse(struct rz_trace_levels *levels, const char *spec, char *text,
                           size_t bytes);

/* No module has a lower level than this. */
void rz_trace_levels_raise(struct rz_trace_levels *levels, enum rz_trace_level level);

/* ---- the ring ---- */

#define RZ_TRACE_MAGIC UINT32_C(0x43525a52) /* "RZRC" */
#define RZ_TRACE_LAYOUT 1
#define RZ_TRACE_SLOTS 4096u
#define RZ_TRACE_THREADS 16u
#define RZ_TRACE_THREAD_NAME 16u

/* 40 bytes. number: 0 never used, 2 i + 1 the i-th event (from 0) is being written, 2 i + 2 it is
 * complete. */
struct rz_trace_slot {
    _Atomic uint64_t number, at_ns, a, b;
    _Atomic uint32_t what, c; /* what: event, thread << 16 */
};

/* Memory of zeros is a ring that nothing uses. */
struct rz_trace_ring {
    _Atomic uint32_t magic; /* written last, by its maker */
    uint32_t layout, n_events;
    uint32_t pid;
    uint32_t slot, incarnation; /* of the process; slot RZ_ID_NONE: a daemon */
    uint32_t node;
    _Atomic uint32_t rings; /* in the first ring of a memory: how many were ever used in it */
    struct rz_trace_levels levels;
    _Alignas(64) _Atomic uint64_t next; /* events that were begun */
    _Atomic uint64_t lost;              /* their slot was being written */
    _Atomic uint32_t threads;           /* that have written */
    /* Of the first threads; "": it has none. Each byte an atomic word of its own. */
    _Atomic char thread_name[RZ_TRACE_THREADS][RZ_TRACE_THREAD_NAME];
    _Alignas(64) struct rz_trace_slot slots[RZ_TRACE_SLOTS];
};

_Static_assert(sizeof(struct rz_trace_slot) == 40, "a slot has 40 bytes");

/* By the maker of a ring: the process that will write it. Nothing is written to it meanwhile; what
 * was in it is forgotten. */
struct rz_trace_owner {
    uint32_t slot, incarnation, node, pid;
};
void rz_trace_ring_make(struct rz_trace_ring *ring, const struct rz_trace_owner *owner,
                        const struct rz_trace_levels *levels);

/* ---- writing: one ring for the whole process ---- */

/* 0 for all modules until rz_trace_begin. Once at a time; events of other threads may be lost. */
extern struct rz_trace_levels rz_trace_levels;

/* From now on events are written to ring, with times of `now` (nanoseconds; any thread calls it,
 * and signal handlers). False: the ring is of another build, nothing is traced. */
bool rz_trace_begin(struct rz_trace_ring *ring, uint64_t (*now)(void));

/* From now on nothing is traced. Before the ring's memory goes: no other thread traces. */
void rz_trace_end(void);

/* The calling thread has this name in the trace, if it is one of the first ones. */
void rz_trace_thread(const char *name);

void rz_trace_put(enum rz_trace_number event, uint64_t a, uint64_t b, uint32_t c)
    __attribute__((cold));

#define RZ_TRACE_ON(NAME)                                                                          \
    __builtin_expect(rz_trace_levels.of[RZ_TRACE_MODULE_OF_##NAME] >= RZ_TRACE_LEVEL_OF_##NAME, 0)

#define RZ_TRACE(NAME, a, b, c)                                                                    \
    (RZ_TRACE_ON(NAME)                                                                             \
         ? rz_trace_put(RZ_TRACE_##NAME, (uint64_t)(a), (uint64_t)(b), (uint32_t)(c))              \
         : (void)0)

/* ---- reading: by any process that maps the ring, while it is written or after ---- */

struct rz_trace_event {
    uint64_t number; /* from 0 */
    uint64_t at_ns, a, b;
    uint32_t c;
    uint16_t event, thread;
};

/* Whether a process has it, and its layout is that of this build. */
bool rz_trace_ring_valid(const struct rz_trace_ring *ring);

/* Copies complete events from number *from on, oldest first, at most max of them; *from is the
 * number to go on from. Those that were overwritten, or never completed, are left out. Never
 * trusts the ring. */
uint32_t rz_trace_read(const struct rz_trace_ring *ring, uint64_t *from,
                       struct rz_trace_event *events, uint32_t max);

/* The number from which the last n events begin. */
uint64_t rz_trace_last(const struct rz_trace_ring *ring, uint32_t n);

/* "": it has none. */
void rz_trace_thread_name(const struct rz_trace_ring *ring, uint32_t thread,
                          char name[RZ_TRACE_THREAD_NAME]);

#endif
