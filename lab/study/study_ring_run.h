/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal to the studies ring, process and spread: the host that combines the components as the
 * daemon does, and the dates of knowledge. */
#ifndef RZ_STUDY_STUDY_RING_RUN_H
#define RZ_STUDY_STUDY_RING_RUN_H

#include "proto/recover/recover.h"
#include "proto/ring/ring.h"
#include "proto/spread/spread.h"
#include "study/study.h"
#include "timing/timing.h"

#define RZ_RING_CURVE_MAX 4096

/* A fact that all must learn: the failure of `item`, from `at` on. */
struct rz_ring_news {
    uint64_t item;
    rz_time at;
    rz_time seen_at;  /* when it was first detected; RZ_TIME_NEVER: not yet */
    rz_time known_at; /* when the last member that knows it learnt it, with its processes */
    uint64_t known_by;
};

/* One trial. The members of the run are daemons, or (flat) processes. */
struct rz_ring_run {
    const struct rz_study_options *options;
    struct rz_timing_network network;
    struct rz_ring_config ring;
    struct rz_spread_config spread;
    rz_time begin;        /* all members have started by then: dates of the options count from it */
    uint32_t n, embedded; /* members; number of processes that each informs in a star, 0: none */
    uint64_t seed;
    bool with_ring; /* part 0; else spread is part 0 */
    bool roll_call; /* combined as in the daemon: with recover as part 2 */
    struct rz_recover_config recover;
    uint32_t *placement, *slots; /* of recover: one rank on each node */
    rz_time *asked_at;           /* of each member: when its last roll call began */
    struct rz_ring_news *news;   /* sorted by item */
    uint32_t n_news;
    uint8_t *doomed;  /* members that the study kills, or has killed: not waited for */
    uint64_t living;  /* the others */
    uint64_t missing; /* pairs of living members and news that they do not know */
    uint64_t false_failure_reports, local_messages;
    rz_time curve_at[RZ_RING_CURVE_MAX]; /* when the i-th part of all was known */
    uint64_t learnt, curve_step;
    uint32_t n_curve;
    uint8_t *slow; /* members whose messages come late; NULL: none */
};

/* Numbers of the component's parts in a run with a ring. */
enum { RZ_RING_PART_RING, RZ_RING_PART_SPREAD, RZ_RING_PART_RECOVER };

void rz_ring_run_begin(struct rz_ring_run *run, const struct rz_study_options *options, uint32_t n,
                       uint32_t n_news, uint64_t seed);
void rz_ring_run_end(struct rz_ring_run *run);

/* With a ring, after rz_ring_run_begin. Members start at independent dates in the period before
 * run->begin, as daemons do, so that each sends one heartbeat in each period after it; or (--phases
 * same) all at 0. */
void rz_ring_run_with_ring(struct rz_ring_run *run);

/* The start of a member whose phase is its own: uniform in (0, period], a function of seed and
 * member. */
rz_time rz_ring_phase(uint64_t seed, rz_time period, rz_id member);

/* A setup of spread, with the ring before it or not; the caller adds what it wants. */
struct rz_timing_setup rz_ring_run_setup(struct rz_ring_run *run);

/* Once news, doomed and living are set: determines what must be waited for. */
void rz_ring_run_expect(struct rz_ring_run *run);

/* RZ_TIME_NEVER: some members do not know it. */
rz_time rz_ring_run_all_know(const struct rz_ring_run *run);

/* The columns that all three studies begin and end with, and their cells. seen: also the detections
 * of the failures, and their dates. */
void rz_ring_columns(struct rz_table *table, bool seen);
void rz_ring_row(struct rz_table *table, const struct rz_ring_run *run,
                 const struct rz_timing *timing, uint32_t trial, bool seen);
/* Once, at the end. */
void rz_ring_draw_curve(struct rz_chart *chart, struct rz_ring_run *run);

/* ---- study_ring_spread.c ---- */

bool rz_ring_process_run(const struct rz_study_options *options, struct rz_table *table,
                         struct rz_chart *chart, const char **why);
bool rz_ring_spread_run(const struct rz_study_options *options, struct rz_table *table,
                        struct rz_chart *chart, const char **why);

#endif
