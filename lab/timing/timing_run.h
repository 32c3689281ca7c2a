/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal to timing runs: the run as its files share it. */
#ifndef RZ_TIMING_TIMING_RUN_H
#define RZ_TIMING_TIMING_RUN_H

#include "timing/timing.h"
#include "timing/timing_memory.h"
#include "timing/timing_queue.h"

enum rz_timing_kind {
    RZ_TIMING_TICK,
    RZ_TIMING_ARRIVE, /* a message has arrived */
    RZ_TIMING_SERVED, /* its receive overhead is over: now the step */
    RZ_TIMING_CALL,
    RZ_TIMING_TELL,
    RZ_TIMING_WAKE, /* the member may be free again: examine its queue */
    RZ_TIMING_KILL,
    RZ_TIMING_PAUSE, /* flight is unused; the end is in the blob */
    RZ_TIMING_RESUME,
    RZ_TIMING_ALARM
};

/* The content of events; shared by the destinations of a multicast. */
struct rz_timing_blob {
    uint32_t refs;
    uint32_t n_items; /* of items; of a tell: ids */
    uint64_t serial;  /* for the arrows of traces */
    union {
        struct rz_message message;
        struct {
            uint32_t call;
            uint64_t arg[4]; /* arg[0] of pauses and alarms */
        };
    };
    uint64_t items[];
};

/* The rest of an event that waits for a busy member. */
struct rz_timing_waiting {
    uint32_t next, blob;
    uint8_t kind, part;
};

#define RZ_TIMING_NONE UINT32_MAX

struct rz_timing_member {
    rz_time busy_until; /* also: when the last of its sends has left */
    rz_time paused_until;
    rz_time failed_at; /* RZ_TIME_NEVER: alive */
    uint64_t bytes_sent, bytes_received;
    uint32_t sent, received;
    uint32_t first, last; /* waiting events, in order of arrival */
    bool serving;         /* a message's receive overhead runs */
    bool wake;            /* a WAKE is queued */
};

#define RZ_TIMING_ARMED_WAITING 0 /* the tick is due and waits for the member */

struct rz_timing_slot { /* of a member and part */
    void *state;
    rz_time armed; /* date of the pending tick, RZ_TIME_NEVER: none */
    uint32_t bytes, protocol;
    bool own; /* state has grown out of the arena */
};

struct rz_timing_side {
    rz_time from, to;
    uint8_t *side;
};

struct rz_timing_soon { /* for the member whose step is under way, after it */
    uint32_t blob;
    uint8_t kind, part;
};

struct rz_timing_trace;

#define RZ_TIMING_ACTIONS 64

struct rz_timing {
    struct rz_timing_setup setup;
    uint32_t n, n_parts, per_node;
    uint8_t part_of_protocol[RZ_PROTOCOL_COUNT]; /* UINT8_MAX: none */
    rz_time now;
    bool stopped;
    uint64_t seed_jitter, seed_loss; /* each message draws by the number of its sender's sends */
    uint64_t faults;                 /* state of the stream of rz_timing_random */

    struct rz_timing_queue queue;
    struct rz_timing_pool pool;
    struct rz_timing_member *members;
    uint64_t *failed;             /* a bit per member: read for each sender, so it must be small */
    struct rz_timing_slot *slots; /* member * n_parts + part */
    char **arena;
    uint32_t n_arena, arena_max;
    size_t arena_used;
    struct rz_timing_waiting *waiting;
    uint32_t waiting_used, waiting_max, waiting_free;
    struct rz_timing_side *sides;
    uint32_t n_sides;

    rz_id stepping; /* RZ_TIMING_NONE: no step is under way */
    uint32_t stepping_part;
    const struct rz_event *stepping_event;
    struct rz_timing_soon *soon;
    uint32_t n_soon, soon_max;
    struct rz_action actions[RZ_TIMING_ACTIONS];

    struct rz_timing_counts counts[RZ_TIMING_PARTS_MAX][256];
    uint64_t events, steps, serial;
    double seconds;
    uint64_t bytes_states, bytes_peak;
    struct rz_timing_trace *trace; /* NULL: none */
};

static inline struct rz_timing_blob *rz_timing_blob_at(const struct rz_timing *timing,
                                                       uint32_t blob)
{
    return rz_timing_pool_at(&timing->pool, blob);
}

static inline bool rz_timing_local(const struct rz_timing *timing, rz_id a, rz_id b)
{
    return timing->per_node > 1 && a / timing->per_node == b / timing->per_node;
}

/* ---- timing.c ---- */

/* A blob with one reference and space for items, which the caller fills. */
uint32_t rz_timing_blob_take(struct rz_timing *timing, uint32_t n_items);
void rz_timing_blob_release(struct rz_timing *timing, uint32_t blob);
void rz_timing_push(struct rz_timing *timing, rz_time date, enum rz_timing_kind kind, rz_id member,
                    uint32_t part, uint32_t blob);
/* Records the memory in use now. */
void rz_timing_note_memory(struct rz_timing *timing);

/* ---- timing_state.c: state blocks ---- */

void rz_timing_states_create(struct rz_timing *timing);
void rz_timing_states_release(struct rz_timing *timing);
void rz_timing_state_grow(struct rz_timing *timing, rz_id member, uint32_t part, size_t bytes);
/* Queues a tick for the deadline, unless an earlier one is pending. */
void rz_timing_arm(struct rz_timing *timing, rz_id member, uint32_t part);

/* ---- timing_service.c: the order of service ---- */

/* An event of a member; takes over the reference to its blob. */
void rz_timing_serve(struct rz_timing *timing, const struct rz_timing_event *event);
void rz_timing_fail(struct rz_timing *timing, rz_id member);

/* ---- timing_step.c ---- */

/* One step of a part, with its actions and the calls that callbacks make at once; begin: of its
 * slice in the trace. Releases the blob. */
void rz_timing_step(struct rz_timing *timing, rz_id member, uint32_t part, enum rz_timing_kind kind,
                    uint32_t blob, rz_time begin);

/* ---- timing_network.c ---- */

void rz_timing_transmit(struct rz_timing *timing, rz_id from, uint32_t part,
                        const struct rz_action *action);
rz_time rz_timing_receive_overhead(const struct rz_timing *timing, rz_id to, uint32_t blob);

/* ---- timing_trace.c; timing->trace is not NULL ---- */

struct rz_timing_trace *rz_timing_trace_begin(struct rz_timing *timing);
void rz_timing_trace_end(struct rz_timing *timing);
struct rz_timing_span {
    rz_time begin, end;
};
void rz_timing_trace_step(struct rz_timing *timing, rz_id member, uint32_t part,
                          enum rz_timing_kind kind, uint32_t blob, struct rz_timing_span span);
void rz_timing_trace_send(struct rz_timing *timing, rz_id from, rz_id to, uint32_t part,
                          uint32_t blob, rz_time at);
void rz_timing_trace_notice(struct rz_timing *timing, rz_id member, uint32_t part,
                            const struct rz_action *notice);
void rz_timing_trace_failure(struct rz_timing *timing, rz_id member);

#endif
