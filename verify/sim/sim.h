/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator: n members of one view, each a state block of one protocol component, on a virtual
 * network with virtual time, crashes and a detector. The members are the shipped objects; the
 * engine owns their memory.
 *
 * Two ways to run a scenario:
 *   random      one run per seed: random delays, crash points, detector lag, network faults
 *               (runs.c, plan.c);
 *   exhaustive  every interleaving of a small world (explore.c).
 * Both deliver messages in any order (channels are not FIFO) and let a crash take any part of a
 * multicast with it. A run is a pure function of (scenario, members, crashes, seed).
 *
 * The author of a component writes one file verify/sim/scenario_PROTOCOL.c that defines
 *     const struct rz_sim_scenario rz_PROTOCOL_scenarios[];
 *     const size_t rz_PROTOCOL_scenarios_count;
 * the build finds it by its name. Properties are in src/proto/PROTOCOL/PROTOCOL_check.c and access
 * the members through struct rz_check_group.
 */
#ifndef RZ_SIM_SIM_H
#define RZ_SIM_SIM_H

#include <rhizome/protocol.h>

#include "proto/check.h"
#include "proto/protocol.h"

#include <stdio.h>

struct rz_sim; /* one world: members, messages in flight, clock, record */

/* How members learn of a failure, other than by messages of the component. */
enum rz_sim_detector {
    RZ_SIM_DETECTOR_NONE,   /* a crash is only silence (or what the host reports by rz_sim_tell) */
    RZ_SIM_DETECTOR_PERFECT /* each failure is reported to each living member, at its own time and
                               in its own order */
};

/* A call of the host, as the component's header defines. Items are copied. */
struct rz_sim_call {
    uint32_t call;
    uint64_t arg[4];
    const uint64_t *items;
    uint32_t n_items;
    bool unordered; /* may overtake the member's other queued calls (news) */
};

/*
 * Faults of random runs besides crashes (exhaustive mode has none of them). All zero: none. Each
 * run draws the amounts, up to these bounds, so that runs with few and with many faults both occur.
 * All faults end at `until`: a message sent from then on arrives once and in time, so that liveness
 * can be checked at the horizon or at quiescence.
 */
struct rz_sim_faults {
    rz_time until;         /* > 0 where any of the others is */
    uint32_t loss;         /* messages lost, per mille */
    uint32_t duplication;  /* messages that arrive twice, per mille */
    uint32_t partitions;   /* partitions in two sides; messages between the sides are lost */
    rz_time partition_max; /* the longest one; 0: no bound but until */
    uint32_t pauses;       /* pauses of a member; its events wait */
    rz_time pause_max;     /* the longest one; 0: no bound but until */
    rz_time slow; /* a quarter of the links, each in one direction, take up to this much longer,
                     beyond latency_max */
};

/*
 * Differences that are irrelevant, as the scenario claims: exhaustive mode then needs fewer states
 * (docs/protocols/exploration.md). The engine checks the claims about messages and news wherever it
 * relies on them; a false one is a violation. Each optional.
 */
struct rz_sim_claims {
    /* Whether this message will never matter to member, whatever arrives before it. */
    bool (*message_void)(struct rz_sim *sim, rz_id member, const struct rz_message *message,
                         const uint64_t *items);
    /* A message that is in flight to a member twice is equivalent to one in flight once. */
    bool copies_void;
    /* Sets to 0 what no step depends on except for the order of destinations. */
    void (*simplify)(struct rz_message *message);
    /* News of a failure may be delivered before all other due events: they commute with them, one
     * by one or together. */
    bool news_first;
    /* Timed: within one tick members do not affect each other, so that they may act in turns: what
     * is sent or told arrives a tick later at the earliest (latency_min >= tick), and the actions
     * of the hosts of two members in one tick commute. */
    bool turns;
};

/*
 * A scenario: members, host behaviour, faults and properties. All of it is constant; the state of a
 * run is in the members and in the record.
 *
 * The record is a flat block of record_bytes, zeroed at the start: the memory of the hosts and of
 * the checker (the decision of each member, ...). No pointers. It is part of the state that
 * exhaustive mode compares: keep in it only what the host or a property still needs, no counters
 * that only grow.
 */
struct rz_sim_scenario {
    const char *name;    /* unique in its component */
    const char *summary; /* one line for rzsim list */
    const struct rz_protocol *protocol;

    uint32_t members;     /* default; rzsim --members overrides */
    uint32_t members_max; /* 0: no bound (exhaustive mode: at most 32) */
    uint32_t crashes;     /* bound of failing members in a run; default of --crashes */
    uint64_t crashable;   /* exhaustive: bit set of the members that may fail; 0: all of them */
    uint32_t rack; /* random: members i with the same i / rack may fail at once; 0: no racks */
    struct rz_sim_faults faults; /* random */
    struct rz_sim_claims claims; /* exhaustive */
    uint64_t parameter;          /* for the scenario's own callbacks (mutations, ...) */
    bool violation_expected;     /* the members are mutants: the error is to find no violation */
    bool fenced;                 /* drops messages of members known failed: see README.md */
    enum rz_sim_detector detector;

    /* Timed components only (ring); zero elsewhere. Transfer times 0, 0: any. */
    rz_time latency_min, latency_max;
    rz_time timer_slack; /* random: a timer is served up to this much late */
    rz_time crash_until; /* crashes come before this date (and queued calls, in exhaustive mode) */
    rz_time horizon;     /* the run ends here, and liveness is checked; 0: at quiescence */
    rz_time tick;        /* exhaustive: time advances in such units; latency_max a multiple of it */
    rz_time news_max; /* exhaustive: news of a failure take latency_min to this long; 0: no bound */

    size_t record_bytes;

    /* The configuration of a member; valid until the next call of config. */
    const void *(*config)(struct rz_sim *sim, rz_id member);

    /* The date with which a member is initialized; before it messages may reach it already. In the
     * order of members. Optional: 0. */
    rz_time (*starts)(struct rz_sim *sim, rz_id member);

    /* After all members are initialized: queues the first calls, sets up the record. Optional. */
    void (*start)(struct rz_sim *sim);

    /* A notice to a member's host by NOTIFY; it may call rz_sim_call, _call_now, _tell, _halt.
     * Optional. */
    void (*notified)(struct rz_sim *sim, rz_id member, const struct rz_action *notice);

    /* A member has failed (or halted). Optional. */
    void (*failed)(struct rz_sim *sim, rz_id member);

    /* arg[0] of the RZ_EVENT_FAILURE that reports failed to observer. Optional: 0. */
    uint64_t (*failure_arg)(struct rz_sim *sim, rz_id observer, rz_id failed);

    /* Whether the properties hold now; otherwise the reason by rz_sim_say. safety: after every step
     * and crash. liveness: at quiescence (nothing in flight, no call or notice pending) or at the
     * horizon. Each optional. */
    bool (*safety)(struct rz_sim *sim);
    bool (*liveness)(struct rz_sim *sim);

    /* Name of a message type / call / notice in traces. Optional: numbers are printed. */
    const char *(*message_name)(uint8_t type);
    const char *(*call_name)(uint32_t call);
    const char *(*notice_name)(uint32_t what);
};

/* ---- for the callbacks of a scenario ---- */

uint32_t rz_sim_members(const struct rz_sim *sim);
const struct rz_sim_scenario *rz_sim_scenario(const struct rz_sim *sim);
rz_time rz_sim_now(const struct rz_sim *sim);
void *rz_sim_record(struct rz_sim *sim);

/* The state block of a living member, read-only; NULL if it has failed or has halted. */
const void *rz_sim_state(const struct rz_sim *sim, rz_id member);
bool rz_sim_alive(const struct rz_sim *sim, rz_id member);

/* The members in the form for the checkers of the components; valid until the next step. */
const struct rz_check_group *rz_sim_group(struct rz_sim *sim);

/* Records why a property does not hold; returns false, for `return rz_sim_say(...)`. */
__attribute__((format(printf, 2, 3))) bool rz_sim_say(struct rz_sim *sim, const char *format, ...);

/* Queues a call of member's host: it is made at an arbitrary later time. Ignored if the member has
 * failed. */
void rz_sim_call(struct rz_sim *sim, rz_id member, const struct rz_sim_call *call);

/* Makes a call as soon as the current step has ended, before any other event. Only for the member
 * being notified; in start: for any member. */
void rz_sim_call_now(struct rz_sim *sim, rz_id member, const struct rz_sim_call *call);

/* Queues RZ_EVENT_FAILURE(failed) for member, at an arbitrary later time; at most once per pair. It
 * may also be reported to a living member that it is considered failed itself. */
void rz_sim_tell(struct rz_sim *sim, rz_id member, rz_id failed);

/* The host of the member stops it (it left, or must stop): no further step; its sent messages stay
 * in flight. With a perfect detector the others get reports as of a crash. */
void rz_sim_halt(struct rz_sim *sim, rz_id member);

/* Random numbers for the scenario, of a stream of their own; in exhaustive mode only in start
 * and starts. */
uint64_t rz_sim_random(struct rz_sim *sim, uint64_t bound);

/* ---- running ---- */

/* What one sees that watches a run: a step of a member begins, what it does, and its end. */
enum rz_sim_sight {
    RZ_SIM_SEES_RECEIVE, /* a step begins: the message of `other` arrives */
    RZ_SIM_SEES_CALL,    /* a step begins, or goes on: its host calls `what` */
    RZ_SIM_SEES_TICK,    /* a step begins: its deadline has passed */
    RZ_SIM_SEES_TOLD,    /* a step begins: it learns that `other` has failed; once for each */
    RZ_SIM_SEES_SEND,    /* it sends the message to `other` */
    RZ_SIM_SEES_LOSS,    /* this message, sent just now, will not arrive */
    RZ_SIM_SEES_NOTICE,  /* it tells its host `what` */
    RZ_SIM_SEES_FAIL,    /* it fails */
    RZ_SIM_SEES_HALT,    /* its host stops it */
    RZ_SIM_SEES_END      /* the step has ended: the states may be read */
};

struct rz_sim_seen {
    enum rz_sim_sight sight;
    rz_id member, other;
    uint32_t what;                    /* CALL, NOTICE */
    const uint64_t *arg;              /* CALL, NOTICE: four */
    const struct rz_message *message; /* RECEIVE, SEND, LOSS */
    const void *packet; /* RECEIVE, SEND, LOSS: the same for all destinations of one send */
};

struct rz_sim_watcher {
    void (*see)(void *data, struct rz_sim *sim, const struct rz_sim_seen *seen);
    void *data;
};

struct rz_sim_options {
    const struct rz_sim_scenario *scenario;
    uint32_t members; /* 0: the scenario's */
    uint32_t crashes; /* UINT32_MAX: the scenario's */
    uint64_t seed_first, seed_last;
    uint64_t
        states_max;   /* exhaustive: more states are an error, not a silent limit; 0: 50 million */
    const char *plan; /* random: crashes and other faults, as printed; NULL: of the seed */
    bool plain;       /* random: all delays alike */
    bool whole;       /* exhaustive: do not use the scenario's claims */
    bool mutants;     /* the members are mutants, also without a mutation (sim/mutants.h) */
    const char *path; /* replay of an exhaustive path: its choices, as printed */
    bool quiet;       /* print nothing; the result is complete */
    FILE *out;        /* for violations and traces; NULL: stderr, of replays stdout */
    const struct rz_sim_watcher *watcher; /* random: of rz_sim_replay alone; NULL: none */
};

struct rz_sim_result {
    bool violated;
    bool over_budget; /* exhaustive: states_max was not enough; nothing is verified */
    uint64_t runs, steps, messages, crashes;
    uint64_t lost, doubled,
        waited; /* random: messages lost and duplicated; events that waited for a paused member */
    uint64_t states, transitions, quiescent, cycles; /* exhaustive */
    uint64_t finals; /* the states at the end of runs, their hashes added up */
    uint32_t depth_max;
    char reason[512];
    char replay[8192]; /* the command that replays the violation, shortened */
};

/* Runs all seeds, stops at the first violation (prints reason, trace and replay command). */
void rz_sim_run(const struct rz_sim_options *options, struct rz_sim_result *result);

/* Explores every interleaving. */
void rz_sim_explore(const struct rz_sim_options *options, struct rz_sim_result *result);

/* Replays one run: by path when given, else by seed and plan; prints its trace. */
void rz_sim_replay(const struct rz_sim_options *options, struct rz_sim_result *result);

/* Whether text is a plan of faults as options->plan takes it. */
bool rz_sim_plan_valid(const char *text);

/* Whether it is one, and all members that it names are in a view of so many. A plan that is run
 * must be. */
bool rz_sim_plan_fits(const char *text, uint32_t members);

/* Whether the result is as the scenario expects: no violation and no budget exceeded, or the
 * expected violation. */
bool rz_sim_passed(const struct rz_sim_scenario *scenario, const struct rz_sim_result *result);

/* ---- the table of scenarios (scenarios.c) ---- */

/* The scenario with this name in a component; name NULL: the first one. NULL: there is none. */
const struct rz_sim_scenario *rz_sim_find(const char *protocol, const char *name);

/* All scenarios, one after the other: i = 0, 1, ... until NULL. */
const struct rz_sim_scenario *rz_sim_scenario_at(size_t i);

#endif
