/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Studies: the measurements of rzsim. A study runs protocol components in timing runs (or calls a
 * scale model) for each trial, and reports one table with a row per trial and one chart of the
 * events over virtual time. Figures (figure.h) run studies over a sweep and compare the results
 * with the statements of the papers.
 *
 * A file study_PROTOCOL.c defines const struct rz_study rz_PROTOCOL_studies[] and its count
 * rz_PROTOCOL_studies_count; the build finds it by its name.
 */
#ifndef RZ_STUDY_STUDY_H
#define RZ_STUDY_STUDY_H

#include "chart/chart.h"

#include <rhizome/types.h>

#include <stdio.h>

/* Which members fail. */
enum rz_study_victims {
    RZ_STUDY_VICTIMS_RANDOM,
    RZ_STUDY_VICTIMS_CONTIGUOUS,
    RZ_STUDY_VICTIMS_FIRST, /* member 0 and those after it: the root of a tree */
    RZ_STUDY_VICTIMS_RACK   /* whole nodes (of per_node members), drawn at random */
};

/* When members send their heartbeats within a period. */
enum rz_study_phases {
    RZ_STUDY_PHASES_INDEPENDENT, /* each at its own date, drawn from the seed */
    RZ_STUDY_PHASES_SAME         /* all at the same date */
};

enum rz_study_tree { RZ_STUDY_TREE_BINARY, RZ_STUDY_TREE_BIN_STAR, RZ_STUDY_TREE_BIN_BIN };

/*
 * All options of all studies: the values of a command line, filled by rz_study_defaults first. A
 * study lists those it uses in `takes`; others are refused. Times in virtual nanoseconds.
 */
struct rz_study_options {
    uint64_t members;              /* --nodes, --ranks, --members */
    uint32_t per_node;             /* --per-node */
    uint32_t trials;               /* --trials: with seeds seed, seed + 1, ... */
    uint64_t seed;                 /* --seed */
    uint32_t kill;                 /* --kill: number of members that fail */
    enum rz_study_victims victims; /* --kill-contiguous, --kill-root, --kill-rack */
    rz_time kill_at;  /* --kill-at; RZ_TIME_NEVER: a random date of the study's choice */
    bool kill_during; /* --kill-during: each at its own random date in the run, not all at once */
    rz_time until;    /* --until: virtual time; 0: the study's choice */

    rz_time hb_period, hb_timeout; /* --hb-period, --hb-timeout */
    enum rz_study_phases phases;   /* --phases independent|same */
    bool as_daemon;                /* --composition paper|daemon */
    rz_time cycle;    /* --cycle: gossip cycle, SWIM's protocol period, test interval */
    double tolerance; /* --tolerance 0.1%: of gossip 3; a fraction here */
    uint32_t window;  /* --window: gossip 3's stability, gossip 2's h; 0: the component's default */
    uint32_t initial_cycles; /* --initial-cycles of gossip 2; 0: the component's default */
    enum rz_study_tree tree; /* --tree binary|binstar|binbin */
    uint32_t operations;     /* --operations: agreements in a row */
    uint32_t payload;        /* --payload: items of a broadcast or value */
    bool flat; /* --flat: per-process form of the ring, near-first order elsewhere see near_first */
    bool near_first; /* --near-first: spread's order for comparison */
    bool model;      /* --model: the scale model instead of objects */
    bool lifeguard;  /* --lifeguard: SWIM with its three parts */
    const char
        *profile;    /* --profile lan|wan|local: SWIM's parameters; NULL: scaled to the period */
    double factor;   /* --factor: of diagnose's threshold */
    bool cube;       /* --assignment full|cube: assignment of testers in diagnose */
    uint32_t health; /* --health: doubts in a row of diagnose's local health; 0: none */

    /* network */
    rz_time latency, latency_local, jitter, send_overhead, receive_overhead;
    uint64_t bytes_per_second; /* --bandwidth */
    double loss, duplication;  /* --loss, --duplication: fractions */
    uint32_t slow;             /* --slow: this many members answer late */
    rz_time slow_by;           /* --slow-by */
    rz_time detector_lag;      /* --detector-lag: failure reports are delayed by up to this much,
                                  uniformly */

    const char *trace; /* --trace FILE: of the first trial, for Perfetto */
    bool progress;     /* a line on standard error while it runs, where that is a terminal */
};

/* Bits of `takes`; those for members, trials, seed, until and the network are always heeded. */
enum rz_study_takes {
    RZ_STUDY_KILL = 1,      /* kill, victims, kill_at, kill_during */
    RZ_STUDY_HEARTBEAT = 2, /* hb_period, hb_timeout */
    RZ_STUDY_CYCLE = 4,
    RZ_STUDY_TOLERANCE = 8,
    RZ_STUDY_WINDOW = 16,
    RZ_STUDY_INITIAL = 32,
    RZ_STUDY_TREE = 64,
    RZ_STUDY_OPERATIONS = 128,
    RZ_STUDY_PAYLOAD = 256,
    RZ_STUDY_FLAT = 512,
    RZ_STUDY_NEAR_FIRST = 1024,
    RZ_STUDY_MODEL = 2048,
    RZ_STUDY_LIFEGUARD = 4096, /* lifeguard, profile */
    RZ_STUDY_FACTOR = 8192,
    RZ_STUDY_LOSS = 16384, /* loss, duplication: components that tolerate it */
    RZ_STUDY_SLOW = 32768,
    RZ_STUDY_LAG = 65536,
    RZ_STUDY_PER_NODE = 131072,
    RZ_STUDY_TRACE = 262144,
    RZ_STUDY_TESTERS = 524288, /* cube, health */
    RZ_STUDY_PHASES = 1048576,
    RZ_STUDY_COMPOSITION = 2097152
};

struct rz_study {
    const char *name;                      /* "ring", "agree", "gossip3" */
    const char *summary;                   /* one line for --help */
    const char *members_are;               /* "nodes", "ranks": the term for members in the help */
    uint64_t members_default, members_max; /* of objects; of the model: members_max_model */
    uint64_t members_max_model;
    uint32_t takes;
    /* The study's own defaults, over those of rz_study_defaults. Optional. */
    void (*defaults)(struct rz_study_options *options);
    /*
     * Runs all trials. table: a row per trial, columns made here; every study has the columns that
     * apply of: trial, detect_first_ms, detect_last_ms (detection of all failures by any member),
     * known_ms (until all living know all failures), decided_ms, cycles_..., messages, bytes,
     * messages_hot (the most that one member sent), false_failure_reports, events, seconds (of
     * processor), bytes_member (of memory).
     * chart: what happened over virtual time in the first trial. False: *why says what is wrong
     * with the options.
     */
    bool (*run)(const struct rz_study_options *options, struct rz_table *table,
                struct rz_chart *chart, const char **why);
};

void rz_study_defaults(struct rz_study_options *options);

/* The study with this name, or NULL; all of them, i = 0, 1, ... until NULL. */
const struct rz_study *rz_study_find(const char *name);
const struct rz_study *rz_study_at(size_t i);

/* ---- for the authors of studies (study.c) ---- */

struct rz_timing_network;
struct rz_timing;

/* The network described by the options. */
struct rz_timing_network rz_study_network(const struct rz_study_options *options);

/* The victims of one trial, sorted, drawn from its seed; victims must hold options->kill of them.
 */
void rz_study_draw_victims(const struct rz_study_options *options, uint64_t seed, rz_id *victims);

/* Whether this many members with this many bytes each, of failures reported and items sent, fit in
 * memory (RZ_STUDY_MEMORY_MAX); false: *why, which is otherwise unchanged. */
bool rz_study_fits(uint64_t members, uint64_t bytes_each, const char **why);
#define RZ_STUDY_MEMORY_MAX (UINT64_C(8) << 30)

/* The file of --trace for the first trial; NULL and *why, or NULL when there is none. */
FILE *rz_study_open_trace(const struct rz_study_options *options, uint32_t trial, const char **why);
/* Closes it, if there is one. False: *why: not all data could be written. */
bool rz_study_close_trace(FILE *trace, const char **why);

/* A progress line: what, and done of all; shown at most each tenth of a second, on a terminal. */
void rz_study_progress(const struct rz_study_options *options, const char *what, uint64_t done,
                       uint64_t all);

#endif
