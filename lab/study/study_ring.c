/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Studies of the heartbeat ring with its broadcast, combined as in the paper: a suspicion is
 * broadcast at once, and a member that learns of a failure reports it to both components; or, with
 * --composition daemon, as the daemon combines them: it asks all others first.
 *
 * Daemons start at their own dates, and nothing brings their heartbeats into phase: here, too, but
 * for --phases same.
 *
 * Two levels: members are daemons, each tells its processes in a star. Flat: members are processes,
 * and the broadcast sends to near ones first.
 */
#include "study/study_ring_run.h"

#include "base/assert.h"
#include "base/random.h"

#include <stdlib.h>

/* A documented LogGP network of a cluster with a fast interconnect, as its user-level software sees
 * it: 2 us between nodes, 0.2 us within one, 0.5 us of processor time at each end. */
static void defaults(struct rz_study_options *options)
{
    options->latency = 2 * RZ_MICROSECOND;
    options->latency_local = 200;
    options->jitter = 0;
    options->send_overhead = options->receive_overhead = 500;
}

static void spread_defaults(struct rz_study_options *options)
{
    defaults(options);
    options->kill = 0;
    options->per_node = 1;
}

/* ---- the ring ---- */

#define RECOVER_BYTES 256 /* of a member's recover, for each member */

static bool ring_check(const struct rz_study_options *options, const char **why)
{
    uint64_t n = options->members * (options->flat ? options->per_node : 1);
    *why = NULL;
    if (options->hb_timeout <= options->hb_period) {
        *why = "--hb-timeout must be longer than --hb-period";
    } else if (n > UINT64_C(1) << 20) {
        *why = "more than 2^20 members of the ring";
    } else if (options->kill >= n) {
        *why = "--kill: at least one member must be left";
    } else if (options->as_daemon && options->flat) {
        *why = "--composition daemon: processes, --flat, have no roll call";
    } else {
        uint64_t recover = options->as_daemon ? RECOVER_BYTES * n : 0;
        rz_study_fits(n, 48 * (uint64_t)options->kill + recover, why);
    }
    return !*why;
}

/* Dates of failures: at a random point of a period when all is quiet, or spread over some timeouts.
 */
static rz_time failure_date(const struct rz_study_options *options, struct rz_random *random)
{
    if (options->kill_at != RZ_TIME_NEVER && !options->kill_during) {
        return options->kill_at;
    }
    rz_time from = options->kill_at != RZ_TIME_NEVER ? options->kill_at : 2 * options->hb_period;
    rz_time over = options->kill_during ? 4 * options->hb_timeout : options->hb_period;
    return from + rz_random_below(random, over);
}

static void plan_failures(struct rz_ring_run *run)
{
    struct rz_study_options draw = *run->options;
    rz_id *victims = malloc((run->n_news + 1) * sizeof(*victims));
    struct rz_random random = {rz_mix(run->seed, 0x64617465)};
    rz_assert(victims != NULL);
    draw.members = run->n;
    draw.per_node = run->options->flat ? run->options->per_node : 1;
    rz_study_draw_victims(&draw, run->seed, victims);
    for (uint32_t i = 0; i < run->n_news; i++) {
        bool again = i == 0 || run->options->kill_during;
        run->news[i].item = victims[i];
        run->news[i].at =
            again ? run->begin + failure_date(run->options, &random) : run->news[0].at;
        run->doomed[victims[i]] = 1;
    }
    run->living = run->n - run->n_news;
    free(victims);
}

/* Neighbours that fail together are detected one by one, each after two timeouts. */
static rz_time ring_until(const struct rz_ring_run *run)
{
    const struct rz_study_options *options = run->options;
    rz_time last = 0;
    if (options->until > 0) {
        return run->begin + options->until;
    }
    if (run->n_news == 0) {
        return run->begin + 10 * options->hb_period;
    }
    for (uint32_t i = 0; i < run->n_news; i++) {
        last = run->news[i].at > last ? run->news[i].at : last;
    }
    return last + (2 * (rz_time)run->n_news + 4) * options->hb_timeout + RZ_SECOND +
           4 * options->slow_by * (run->slow != NULL);
}

static bool ring_trial(const struct rz_study_options *options, uint32_t trial,
                       struct rz_table *table, struct rz_chart *chart, const char **why)
{
    struct rz_ring_run *run = malloc(sizeof(*run));
    rz_assert(run != NULL);
    uint64_t n = options->members * (options->flat ? options->per_node : 1);
    rz_ring_run_begin(run, options, (uint32_t)n, options->kill, options->seed + trial);
    rz_ring_run_with_ring(run);
    plan_failures(run);
    rz_ring_run_expect(run);
    struct rz_timing_setup setup = rz_ring_run_setup(run);
    setup.until = ring_until(run);
    setup.trace = rz_study_open_trace(options, trial, why);
    if (!*why) {
        struct rz_timing *timing = rz_timing_create(&setup);
        for (uint32_t i = 0; i < run->n_news; i++) {
            rz_timing_kill(timing, (rz_id)run->news[i].item, run->news[i].at);
        }
        rz_timing_run(timing);
        rz_ring_row(table, run, timing, trial, true);
        if (trial == 0) {
            rz_ring_draw_curve(chart, run);
        }
        rz_timing_destroy(timing);
    }
    rz_study_close_trace(setup.trace, why);
    rz_ring_run_end(run);
    free(run);
    return !*why;
}

static bool ring_run(const struct rz_study_options *options, struct rz_table *table,
                     struct rz_chart *chart, const char **why)
{
    if (!ring_check(options, why)) {
        return false;
    }
    rz_ring_columns(table, true);
    for (uint32_t trial = 0; trial < options->trials; trial++) {
        rz_study_progress(options, "ring", trial, options->trials);
        if (!ring_trial(options, trial, table, chart, why)) {
            return false;
        }
    }
    rz_study_progress(options, "ring", options->trials, options->trials);
    return true;
}

const struct rz_study rz_ring_studies[] = {
    {.name = "ring",
     .summary = "heartbeats in a ring and a broadcast: nodes fail, and all get to know",
     .members_are = "nodes",
     .members_default = 64,
     .members_max = 1 << 20,
     .takes = RZ_STUDY_KILL | RZ_STUDY_HEARTBEAT | RZ_STUDY_PHASES | RZ_STUDY_COMPOSITION |
              RZ_STUDY_FLAT | RZ_STUDY_NEAR_FIRST | RZ_STUDY_PER_NODE | RZ_STUDY_LOSS |
              RZ_STUDY_SLOW | RZ_STUDY_TRACE,
     .defaults = defaults,
     .run = ring_run},
    {.name = "process",
     .summary = "a process fails: its daemon sees it and tells all daemons",
     .members_are = "nodes",
     .members_default = 64,
     .members_max = 1 << 20,
     .takes = RZ_STUDY_FLAT | RZ_STUDY_NEAR_FIRST | RZ_STUDY_PER_NODE | RZ_STUDY_TRACE,
     .defaults = defaults,
     .run = rz_ring_process_run},
    {.name = "spread",
     .summary = "one broadcast on the binomial graph, from the first member that lives",
     .members_are = "members",
     .members_default = 64,
     .members_max = 1 << 20,
     .takes = RZ_STUDY_KILL | RZ_STUDY_LAG | RZ_STUDY_PAYLOAD | RZ_STUDY_NEAR_FIRST |
              RZ_STUDY_PER_NODE | RZ_STUDY_LOSS | RZ_STUDY_TRACE,
     .defaults = spread_defaults,
     .run = rz_ring_spread_run},
};
const size_t rz_ring_studies_count = sizeof(rz_ring_studies) / sizeof(*rz_ring_studies);
