/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal to the simulator: one world, as the two drivers (runs.c, explore.c) share it. */
#ifndef RZ_SIM_WORLD_H
#define RZ_SIM_WORLD_H

#include "sim/sim.h"

#include "base/random.h"

#include <setjmp.h>

/* A message with its payload, or a call, in flight to a member. Immutable; shared by its
 * destinations. */
struct rz_sim_packet {
    uint64_t hash; /* of the content */
    uint32_t refs;
    bool is_call;
    bool unordered; /* a call that may overtake */
    struct rz_message message;
    uint32_t call;
    uint64_t arg[4];
    uint32_t n_items;
    uint64_t items[];
};

struct rz_sim_packet *rz_sim_packet_of_message(const struct rz_message *message,
                                               const uint64_t *items);
struct rz_sim_packet *rz_sim_packet_of_call(const struct rz_sim_call *call);
bool rz_protocol_message_equal(const struct rz_sim_packet *a, const struct rz_sim_packet *b);
void rz_protocol_message_release(struct rz_sim_packet *packet); /* releases one reference */

/* Where a step of a failing member ends, including the calls that its host makes at once: after
 * `actions` actions (0: the step does not happen at all); some of the destinations of its sends get
 * nothing. */
struct rz_sim_cut {
    uint32_t actions; /* carried out before failure; UINT32_MAX: all */
    uint64_t loss; /* 0: nothing is lost; otherwise the seed by which each destination is drawn */
};

struct rz_sim_member {
    void *state;
    size_t bytes, capacity;
    uint64_t hash; /* kept by explore.c */
    uint64_t steps;
};

/* The driver's treatment of the world's outputs. Each takes over one reference to the packet. */
struct rz_sim_driver {
    void (*send)(struct rz_sim *sim, struct rz_sim_packet *packet, rz_id from, rz_id to);
    void (*call)(struct rz_sim *sim, struct rz_sim_packet *packet, rz_id to);
    void (*tell)(struct rz_sim *sim, rz_id member, rz_id failed);
};

/* The part of a world that is neither member states nor packets in flight; one block, copied by
 * explore.c. */
struct rz_sim_common {
    rz_time now;
    uint32_t n_crashed;
    uint32_t n_alive;
    /* view_changes.c: the member whose turn it is in this tick, the first member whose faults are
     * not chosen yet, and the members that must fail in their turns. */
    uint32_t turn, fate;
    uint64_t condemned;
};

struct rz_sim {
    const struct rz_sim_scenario *scenario;
    uint32_t n;
    uint32_t crashes_max;
    uint64_t seed;
    const struct rz_sim_driver *driver;
    void *driver_data;
    struct rz_sim_member *members;

    /* One block of common_bytes: common, alive, crashed, told, pending, news_at, record. */
    struct rz_sim_common *common;
    size_t common_bytes;
    bool *alive, *crashed;
    uint64_t *told; /* n rows of row_words: failures that were or will be reported to members[i] */
    uint64_t *pending; /* the same shape: will be reported, but are not yet */
    uint32_t row_words;
    rz_time *news_at; /* explored timed worlds: earliest date of the pending news (n rows of n) */
    void *record;

    const void **states; /* for the checkers */
    struct rz_check_group group;
    struct rz_random network, faults, lag, host, trouble;
    bool starting;
    rz_id stepping;                 /* the member whose step is under way, or RZ_ID_NONE */
    struct rz_sim_packet *soon[16]; /* calls to be made when this step has ended */
    rz_id soon_member[16];
    uint32_t n_soon;
    struct rz_action actions[64];
    uint32_t actions_max;
    uint64_t steps, messages;
    void *scratch; /* a copy of a member, for rz_world_check_void */

    jmp_buf escape; /* jump target of an assertion in a component */
    char why[512];
    struct rz_sim_trace *trace;           /* NULL: no output */
    const struct rz_sim_watcher *watcher; /* NULL: none */
};

static inline bool rz_bit_get(const uint64_t *row, uint32_t i)
{
    return row[i / 64] >> (i % 64) & 1;
}

static inline void rz_bit_set(uint64_t *row, uint32_t i)
{
    row[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void rz_bit_clear(uint64_t *row, uint32_t i)
{
    row[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

/* Out of memory or an error of the simulator: exits, because it is a tool. */
void *rz_sim_memory(void *old, size_t bytes);

/* A world with initialized members; the scenario's start is not called yet. */
struct rz_sim *rz_world_create(const struct rz_sim_options *options, uint64_t seed,
                               const struct rz_sim_driver *driver, void *driver_data);
void rz_world_destroy(struct rz_sim *sim);

/* Each of these returns false if a property does not hold or a component asserted; the reason is in
 * sim->why. */
bool rz_world_start(struct rz_sim *sim);
bool rz_world_deliver(struct rz_sim *sim, rz_id to, const struct rz_sim_packet *packet,
                      const struct rz_sim_cut *cut);
bool rz_world_tick(struct rz_sim *sim, rz_id member, const struct rz_sim_cut *cut);
bool rz_world_tell(struct rz_sim *sim, rz_id member, const rz_id *failed, uint32_t n_failed,
                   const struct rz_sim_cut *cut);
bool rz_world_crash(struct rz_sim *sim, rz_id member);
bool rz_world_check_safety(struct rz_sim *sim);
bool rz_world_check_liveness(struct rz_sim *sim);

/* Copies the reason why a property does not hold. */
void rz_world_reason(const struct rz_sim *sim, struct rz_sim_result *result);

/* Whether a packet would leave the member unchanged and cause no action; does not change it. */
bool rz_world_check_void(struct rz_sim *sim, rz_id member, const struct rz_sim_packet *packet);

/* ---- trace.c: the latest events, described ---- */

struct rz_sim_trace;
struct rz_sim_trace *rz_trace_create(FILE *live); /* live NULL: keep only the last lines */
void rz_trace_destroy(struct rz_sim_trace *trace);
void rz_trace_print(const struct rz_sim_trace *trace, FILE *out);
__attribute__((format(printf, 2, 3))) void rz_trace_line(struct rz_sim *sim, const char *format,
                                                         ...);
void rz_trace_packet(struct rz_sim *sim, const char *verb, rz_id member,
                     const struct rz_sim_packet *packet);
void rz_trace_notice(struct rz_sim *sim, rz_id member, const struct rz_action *action);

/* Shows the watcher, if there is one, what member does; packet and action may be NULL. */
void rz_trace_show(struct rz_sim *sim, enum rz_sim_sight sight, rz_id member, rz_id other,
                   const struct rz_sim_packet *packet);
void rz_trace_show_notice(struct rz_sim *sim, rz_id member, const struct rz_action *action);

/* ---- the faults of a random run (plan.c) ---- */

#define RZ_SIM_PLAN_MAX 32
#define RZ_SIM_TROUBLES_MAX 16
#define RZ_SIM_PLAN_TEXT 3328 /* more than the longest text of a plan */

/* One planned crash: in the victim's step number `at`, or in its first step from date `at` on. */
struct rz_sim_crash {
    rz_id victim;
    uint64_t at;
    bool dated;
    struct rz_sim_cut cut;
};

enum rz_sim_trouble_kind {
    RZ_TROUBLE_LOSS,      /* what: messages lost, per mille */
    RZ_TROUBLE_DOUBLE,    /* what: messages duplicated, per mille */
    RZ_TROUBLE_PARTITION, /* what: seed of the sides */
    RZ_TROUBLE_PAUSE,     /* what: the member */
    RZ_TROUBLE_SLOW,      /* what: seed of the slow links */
    RZ_TROUBLE_KINDS
};

/* A fault from date `from` until before date `to`. */
struct rz_sim_trouble {
    enum rz_sim_trouble_kind kind;
    uint64_t what;
    rz_time from, to;
};

struct rz_sim_plan {
    uint32_t n, n_troubles;
    struct rz_sim_crash v[RZ_SIM_PLAN_MAX];
    struct rz_sim_trouble trouble[RZ_SIM_TROUBLES_MAX];
};

void rz_plan_draw(struct rz_sim *sim, struct rz_sim_plan *plan);

/* Plans as text: none, or a list with commas between, of
 *     VICTIM@STEP:ACTIONS:LOSS  VICTIM@dDATE:ACTIONS:LOSS
 *     loss:RATE@FROM-TO  double:RATE@FROM-TO  part:SEED@FROM-TO  pause:MEMBER@FROM-TO
 *     slow:SEED@FROM-TO */
bool rz_plan_parse(const char *text, struct rz_sim_plan *plan);
void rz_plan_format(const struct rz_sim_plan *plan, char *text, size_t bytes);

/* The fate of the message being sent now (number sim->messages). */
struct rz_sim_fate {
    bool lost, doubled;
    rz_time later;
};
struct rz_sim_fate rz_plan_fate(const struct rz_sim *sim, const struct rz_sim_plan *plan,
                                rz_id from, rz_id to);

/* When member continues, if it is paused now; otherwise 0. */
rz_time rz_plan_paused_until(const struct rz_sim *sim, const struct rz_sim_plan *plan,
                             rz_id member);

/* Writes the faults into the trace. */
void rz_plan_trace(struct rz_sim *sim, const struct rz_sim_plan *plan);

/* ---- a random run (runs.c), as shrink.c repeats it ---- */

/* One run; returns whether it violated. plan: the faults, or NULL to draw them (then *drawn is
 * set). */
bool rz_run_once(const struct rz_sim_options *options, uint64_t seed,
                 const struct rz_sim_plan *plan, struct rz_sim_plan *drawn,
                 struct rz_sim_trace *trace, struct rz_sim_result *result);

/* ---- an exhaustive path (explore.c) ---- */

void rz_explore_replay(const struct rz_sim_options *options, struct rz_sim_result *result);

/* ---- shrink.c ---- */

/*
 * Makes plan as small as possible while the run still violates; may set options->plain.
 */
void rz_shrink_plan(struct rz_sim_options *options, uint64_t seed, struct rz_sim_plan *plan);

#endif
