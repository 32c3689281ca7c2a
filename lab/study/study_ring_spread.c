/* SPDX-License-Identifier: BSD-3-Clause */
/* Studies of the broadcast alone: the report of a process's failure, and one broadcast. */
#include "study/study_ring_run.h"

#include "base/assert.h"
#include "base/random.h"

#include <stdlib.h>

#define PROCESS_ITEM UINT64_C(1) << 40 /* differs from all members' ids */

/* ---- a process fails ---- */

/* Two levels: its daemon learns it from the system, as fast as a local message. Flat: its successor
 * in the ring detects the broken connection. */
static void process_begin(struct rz_ring_run *run, struct rz_timing *timing)
{
    struct rz_random random = {rz_mix(run->seed, 0x64656164)};
    rz_id at = (rz_id)rz_random_below(&random, run->n);
    rz_time seen = run->options->latency_local;
    if (run->options->flat) {
        rz_timing_kill(timing, at, 0);
        bool same = at / run->options->per_node == (at + 1) / run->options->per_node;
        seen = same ? run->options->latency_local : run->options->latency;
        at = (at + 1) % run->n;
    }
    run->news[0].seen_at = seen;
    rz_timing_call(timing, at, 0, seen,
                   &(struct rz_timing_request){
                       .call = RZ_SPREAD_BROADCAST, .items = &run->news[0].item, .n_items = 1});
}

static bool process_trial(const struct rz_study_options *options, uint32_t trial,
                          struct rz_table *table, struct rz_chart *chart, const char **why)
{
    struct rz_ring_run *run = malloc(sizeof(*run));
    rz_assert(run != NULL);
    uint64_t n = options->members * (options->flat ? options->per_node : 1);
    rz_ring_run_begin(run, options, (uint32_t)n, 1, options->seed + trial);
    run->news[0].item = PROCESS_ITEM;
    rz_ring_run_expect(run);
    struct rz_timing_setup setup = rz_ring_run_setup(run);
    setup.until = options->until;
    setup.trace = rz_study_open_trace(options, trial, why);
    if (!*why) {
        struct rz_timing *timing = rz_timing_create(&setup);
        process_begin(run, timing);
        rz_timing_run(timing);
        rz_ring_row(table, run, timing, trial, false);
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

bool rz_ring_process_run(const struct rz_study_options *options, struct rz_table *table,
                         struct rz_chart *chart, const char **why)
{
    uint64_t n = options->members * (options->flat ? options->per_node : 1);
    if (n < 2 || n > UINT64_C(1) << 20) {
        *why = "between 2 and 2^20 members of the broadcast";
        return false;
    }
    rz_ring_columns(table, false);
    for (uint32_t trial = 0; trial < options->trials; trial++) {
        if (!process_trial(options, trial, table, chart, why)) {
            return false;
        }
    }
    return true;
}

/* ---- one broadcast ---- */

/* While the broadcast is under way, if the options do not say when. */
static rz_time failure_date(const struct rz_ring_run *run, struct rz_random *random)
{
    const struct rz_study_options *options = run->options;
    uint32_t hops = 1;
    while ((UINT64_C(1) << hops) < run->n) {
        hops++;
    }
    rz_time lasts = hops * (options->latency + options->send_overhead + options->receive_overhead);
    lasts += lasts == 0; /* a network without delays: all happens at once */
    if (options->kill_at != RZ_TIME_NEVER) {
        return options->kill_at + (options->kill_during ? rz_random_below(random, lasts) : 0);
    }
    return rz_random_below(random, lasts);
}

/* Survivors learn of each failure within detector_lag, each at its own time. */
static void spread_failures(struct rz_ring_run *run, struct rz_timing *timing, const rz_id *victims)
{
    struct rz_random random = {rz_mix(run->seed, 0x64617465)};
    rz_time at = failure_date(run, &random);
    for (uint32_t i = 0; i < run->options->kill; i++) {
        if (i > 0 && run->options->kill_during) {
            at = failure_date(run, &random);
        }
        rz_timing_kill(timing, victims[i], at);
        for (rz_id id = 0; id < run->n; id++) {
            if (!run->doomed[id]) {
                rz_timing_tell(timing, id, 0,
                               at + rz_random_below(&random, run->options->detector_lag + 1),
                               &victims[i], 1);
            }
        }
    }
}

/* Member 0, if it is not failed from the start. */
static rz_id origin_of(const struct rz_ring_run *run)
{
    rz_id origin = 0;
    if (run->options->kill_at == 0 && !run->options->kill_during) {
        while (run->doomed[origin]) {
            origin++;
        }
    }
    return origin;
}

static void spread_row(struct rz_table *table, const struct rz_ring_run *run,
                       const struct rz_timing *timing, uint32_t trial)
{
    uint64_t n = run->n;
    bool quiet = run->options->kill == 0;
    rz_ring_row(table, run, timing, trial, false);
    rz_table_number(table, (double)run->news[0].known_by);
    if (quiet) {
        rz_table_number(table, (double)(n * rz_spread_degree((uint32_t)n) - (n - 1)));
    } else {
        rz_table_text(table, "-");
    }
}

static bool spread_trial(const struct rz_study_options *options, uint32_t trial,
                         struct rz_table *table, struct rz_chart *chart, const char **why)
{
    struct rz_ring_run *run = malloc(sizeof(*run));
    rz_id *victims = malloc((options->kill + 1) * sizeof(*victims));
    uint64_t *items = calloc(options->payload, sizeof(*items));
    rz_assert(run && victims && items);
    rz_ring_run_begin(run, options, (uint32_t)options->members, 1, options->seed + trial);
    run->network.per_node = options->per_node;
    run->embedded = 0;
    rz_study_draw_victims(options, run->seed, victims);
    for (uint32_t i = 0; i < options->kill; i++) {
        run->doomed[victims[i]] = 1;
    }
    run->living = run->n - options->kill;
    for (uint32_t i = 0; i < options->payload; i++) {
        items[i] = i;
    }
    rz_ring_run_expect(run);
    struct rz_timing_setup setup = rz_ring_run_setup(run);
    setup.until = options->until;
    setup.trace = rz_study_open_trace(options, trial, why);
    if (!*why) {
        struct rz_timing *timing = rz_timing_create(&setup);
        rz_timing_call(timing, origin_of(run), 0, 0,
                       &(struct rz_timing_request){.call = RZ_SPREAD_BROADCAST,
                                                   .items = items,
                                                   .n_items = options->payload});
        spread_failures(run, timing, victims);
        rz_timing_run(timing);
        spread_row(table, run, timing, trial);
        if (trial == 0) {
            rz_ring_draw_curve(chart, run);
        }
        rz_timing_destroy(timing);
    }
    rz_study_close_trace(setup.trace, why);
    rz_ring_run_end(run);
    free(run);
    free(victims);
    free(items);
    return !*why;
}

bool rz_ring_spread_run(const struct rz_study_options *options, struct rz_table *table,
                        struct rz_chart *chart, const char **why)
{
    if (options->kill >= options->members || options->payload == 0) {
        *why = options->payload == 0 ? "--payload: at least one item"
                                     : "--kill: at least one member must be left";
        return false;
    }
    if (!rz_study_fits(options->members, 160 * (uint64_t)options->kill + 16 * options->payload,
                       why)) {
        return false;
    }
    rz_ring_columns(table, false);
    rz_table_column(table, "informed", "members that know", NULL);
    rz_table_column(table, "formula", "n D(n) - (n - 1)", NULL);
    for (uint32_t trial = 0; trial < options->trials; trial++) {
        if (!spread_trial(options, trial, table, chart, why)) {
            return false;
        }
    }
    return true;
}
