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
 * A room's author writes one file src/sim/scenario_PROTOCOL.c that defines
 *     const struct rz_sim_scenario rz_PROTOCOL_scenarios[];
 *     const size_t rz_PROTOCOL_scenarios_count;
 * the build finds it by its name. Properties live in src/proto/ROOM/PROTOCOL_check.c and see the
 * members through struct rz_check_group.
 */
#ifndef RZ_SIM_SIM_H
#define RZ_SIM_SIM_H

#include <rhizome/protocol.h>

#include "proto/check.h"
#include "proto/protocol.h"

#include <stdio.h>

struct rz_sim; /* one world: members, messages in flight, clock, record */

/* Who learns of a failure, other than by the room's own messages. */
enum rz_sim_detector {
    RZ_SIM_DETECTOR_NONE,   /* a crash is only silence (or what the host tells by rz_sim_tell) */
    RZ_SIM_DETECTOR_PERFECT /* each live member is told of each failure, in its own time and order
                             */
};

/* A call of the host, as the room's header says. Items are copied. */
struct rz_sim_call {
    uint32_t call;
    uint64_t arg[4];
    const uint64_t *items;
    uint32_t n_items;
    bool unordered; /* may overtake the member's other queued calls (news) */
};

/*
 * What random runs suffer besides crashes (exhaustive mode knows none of it). All zero: nothing.
 * Each run draws how much, up to these bounds, so that calm and wild runs both occur. All of it
 * ends at `until`: what is sent from then on arrives once and in time, so that liveness can be
 * asked at the horizon or at quiescence.
 */
struct rz_sim_faults {
    rz_time until;        /* > 0 where any of the others is */
    uint32_t loss;        /* messages lost, per mille */
    uint32_t duplication; /* messages that arrive twice, per mille */
    uint32_t partitions; /* times that the members are parted in two; what is sent across is lost */
    rz_time partition_max; /* the longest one; 0: no bound but until */
    uint32_t pauses;       /* times that a member stops for a while; what comes for it waits */
    rz_time pause_max;     /* the longest one; 0: no bound but until */
    rz_time slow; /* a quarter of the links, each in one direction, take up to so much longer,
                     beyond latency_max */
};

/*
 * What makes no difference, as the scenario claims: exhaustive mode then needs fewer states
 * (docs/protocols/exploration.md). The engine tries the claims about messages and news wherever it
 * relies on them; a false one is a violation. Each optional.
 */
struct rz_sim_claims {
    /* Whether this message will never matter to member, whatever comes before it. */
    bool (*message_void)(struct rz_sim *sim, rz_id member, const struct rz_message *message,
                         const uint64_t *items);
    /* A message that is in flight to a member twice may as well be in flight once. */
    bool copies_void;
    /* Set to 0 what no step depends on but for the order of destinations. */
    void (*simplify)(struct rz_message *message);
    /* News of a failure may come before all else that is due: they commute with it, one by one or
     * together. */
    bool news_first;
    /* Timed: within one tick members do not touch each other, so that they may act in turn: what is
     * sent or told arrives a tick later at the earliest (latency_min >= tick), and what the hosts
     * of two members do in one tick commutes. */
    bool turns;
};

/*
 * What is run: members, host behaviour, faults and properties. All of it is constant; what changes
 * in a run lives in the members and in the record.
 *
 * The record is a flat block of record_bytes, zeroed at the start: the hosts' memory and the
 * checker's (which member decided what, ...). No pointers. It is part of the state that exhaustive
 * mode compares: keep in it only what the host or a property still needs, no counters that only
 * grow.
 */
struct rz_sim_scenario {
    const char *name;    /* unique in its room */
    const char *summary; /* one line for rzsim list */
    const struct rz_protocol *protocol;

    uint32_t members;     /* default; rzsim --members overrides */
    uint32_t members_max; /* 0: no bound (exhaustive mode: at most 32) */
    uint32_t crashes;     /* at most so many members fail in a run; default of --crashes */
    uint64_t crashable;   /* exhaustive: bit set of the members that may fail; 0: all of them */
    uint32_t rack;        /* random: members i with the same i / rack may fail all at once; 0: no
                             racks */
    struct rz_sim_faults faults; /* random */
    struct rz_sim_claims claims; /* exhaustive */
    uint64_t parameter;          /* for the scenario's own callbacks (mutations, ...) */
    bool violation_expected;     /* a mutant: not to find a violation is the error */
    bool fenced;                 /* drops messages of members known failed: see README.md */
    enum rz_sim_detector detector;

    /* Timed components only (ring); zero elsewhere. Transfer times 0, 0: any. */
    rz_time latency_min, latency_max;
    rz_time timer_slack; /* random: a timer is served up to so much late */
    rz_time crash_until; /* crashes come before this date (and queued calls, in exhaustive mode) */
    rz_time horizon;     /* the run ends here, and liveness is asked; 0: at quiescence */
    rz_time tick;        /* exhaustive: time goes on in such units; latency_max a multiple of it */
    rz_time news_max; /* exhaustive: news of a failure take latency_min to so long; 0: no bound */

    size_t record_bytes;

    /* The configuration of a member; valid until the next call of config. */
    const void *(*config)(struct rz_sim *sim, rz_id member);

    /* After all members were initialised: queue the first calls, set up the record. Optional. */
    void (*start)(struct rz_sim *sim);

    /* A member's host is told something by NOTIFY; it may call rz_sim_call, _call_now, _tell,
     * _halt. Optional. */
    void (*notified)(struct rz_sim *sim, rz_id member, const struct rz_action *notice);

    /* A member has failed (or halted). Optional. */
    void (*failed)(struct rz_sim *sim, rz_id member);

    /* arg[0] of the RZ_EVENT_FAILURE that tells observer of failed. Optional: 0. */
    uint64_t (*failure_arg)(struct rz_sim *sim, rz_id observer, rz_id failed);

    /* Whether the properties hold now; else say why by rz_sim_say. safety: after every step and
     * crash. liveness: at quiescence (nothing in flight, no call or notice pending) or at the
     * horizon. Each optional. */
    bool (*safety)(struct rz_sim *sim);
    bool (*liveness)(struct rz_sim *sim);

    /* Name of a message type / call / notice in traces. Optional: numbers are printed. */
    const char *(*message_name)(uint8_t type);
    const char *(*call_name)(uint32_t call);
    const char *(*notice_name)(uint32_t what);
};

/* --- for the callbacks of a scenario ---------------------------------------------------------- */

uint32_t rz_sim_members(const struct rz_sim *sim);
const struct rz_sim_scenario *rz_sim_scenario(const struct rz_sim *sim);
rz_time rz_sim_now(const struct rz_sim *sim);
void *rz_sim_record(struct rz_sim *sim);

/* The state block of a live member, read-only; NULL when it has failed or has halted. */
const void *rz_sim_state(const struct rz_sim *sim, rz_id member);
bool rz_sim_alive(const struct rz_sim *sim, rz_id member);

/* The members as the checkers of the components take them; valid until the next step. */
const struct rz_check_group *rz_sim_group(struct rz_sim *sim);

/* Say why a property does not hold; returns false, for `return rz_sim_say(...)`. */
__attribute__((format(printf, 2, 3))) bool rz_sim_say(struct rz_sim *sim, const char *format, ...);

/* Queue a call of member's host: it is made at an arbitrary later time. Ignored when the member is
 * failed. */
void rz_sim_call(struct rz_sim *sim, rz_id member, const struct rz_sim_call *call);

/* Make a call as soon as the step under way has ended, before anything else happens. Only for the
 * member being notified; in start: for any member. */
void rz_sim_call_now(struct rz_sim *sim, rz_id member, const struct rz_sim_call *call);

/* Queue RZ_EVENT_FAILURE(failed) for member, at an arbitrary later time; once per pair, ever. A
 * member that lives may be told that it is held for failed itself. */
void rz_sim_tell(struct rz_sim *sim, rz_id member, rz_id failed);

/* The member's host stops it (it left, or was told to stop): no further step; its sent messages
 * stay in flight. Where the detector is perfect the others are told as of a crash. */
void rz_sim_halt(struct rz_sim *sim, rz_id member);

/* Random numbers for the scenario, of a stream of their own; in exhaustive mode only in start. */
uint64_t rz_sim_random(struct rz_sim *sim, uint64_t bound);

/* --- running ---------------------------------------------------------------------------------- */

struct rz_sim_options {
    const struct rz_sim_scenario *scenario;
    uint32_t members; /* 0: the scenario's */
    uint32_t crashes; /* UINT32_MAX: the scenario's */
    uint64_t seed_first, seed_last;
    uint64_t states_max; /* exhaustive: more states are an error, no silent cut; 0: 50 million */
    const char *plan;    /* random: crashes and other faults, as printed; NULL: of the seed */
    bool plain;          /* random: all delays alike */
    bool whole;          /* exhaustive: make no use of the scenario's claims */
    const char *path;    /* replay of an exhaustive path: its choices, as printed */
    bool quiet;          /* print nothing; the result says all */
    FILE *out;           /* for violations and traces; NULL: stderr, of replays stdout */
};

struct rz_sim_result {
    bool violated;
    bool over_budget; /* exhaustive: states_max was not enough; nothing is proven */
    uint64_t runs, steps, messages, crashes;
    uint64_t lost, doubled, waited; /* random: messages lost and doubled; events that waited for a
                                       paused member */
    uint64_t states, transitions, quiescent, cycles; /* exhaustive */
    uint64_t finals; /* exhaustive: the states at the end of runs, their hashes added up */
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

/* Whether the result is what the scenario wants: no violation and no budget exceeded, or the
 * violation it expects. */
bool rz_sim_passed(const struct rz_sim_scenario *scenario, const struct rz_sim_result *result);

/* --- the table of scenarios (scenarios.c) ----------------------------------------------------- */

/* The scenario with this name in a room; name NULL: the room's first. NULL: there is none. */
const struct rz_sim_scenario *rz_sim_find(const char *protocol, const char *name);

/* All scenarios, one after the other: i = 0, 1, ... until NULL. */
const struct rz_sim_scenario *rz_sim_scenario_at(size_t i);

#endif
