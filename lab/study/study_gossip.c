/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Studies of gossip by Katti et al.: a call that agrees on the failed members. Members begin at
 * random within the first cycle, because cycles are not synchronized in the source; the scale model
 * (--model) is synchronous. A cycle in the table is the number that the member itself gives it.
 */
#include "study/study.h"
#include "study/study_gossip_run.h"

#include "base/assert.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>

#define STREAM_DATES 0x64617465

/* One Gigabit Ethernet, through sockets. Processor time of a message is omitted: it is negligible
 * compared with a cycle, and every overhead adds an event. */
static void defaults(struct rz_study_options *options)
{
    options->latency = 50 * RZ_MICROSECOND;
    options->jitter = 20 * RZ_MICROSECOND;
    options->send_overhead = options->receive_overhead = 0;
}

static const char *const stages[] = {"know the failed", "have consensus", "have committed"};

/* ---- the table ---- */

static void columns(struct rz_table *table, enum rz_gossip_kind kind)
{
    rz_table_column(table, "trial", "trial", NULL);
    rz_table_column(table, "detect_first_ms", "first detection", "ms");
    rz_table_column(table, "detect_last_ms", "last detection", "ms");
    rz_table_column(table, "known_ms", "all know", "ms");
    rz_table_column(table, "decided_ms", "all decided", "ms");
    rz_table_column(table, "cycles_detect", "first detection", "cycles");
    rz_table_column(table, "cycles_known", "all know", "cycles");
    rz_table_column(table, "cycles_consensus_first", "first consensus", "cycles");
    rz_table_column(table, "cycles_consensus", "last consensus", "cycles");
    if (kind == RZ_GOSSIP_SUM) {
        rz_table_column(table, "cycles_commit_first", "first commit", "cycles");
        rz_table_column(table, "cycles_commit", "last commit", "cycles");
    }
    rz_table_column(table, "cycles_returned", "last return", "cycles");
    rz_table_column(table, "false_consensus", "false consensus", NULL);
    if (kind == RZ_GOSSIP_SUM) {
        rz_table_column(table, "early_commits", "early commits", NULL);
    }
    rz_table_column(table, "disagreeing", "calls that disagree", NULL);
    rz_table_column(table, "messages", "messages", NULL);
    rz_table_column(table, "bytes", "bytes", NULL);
    rz_table_column(table, "traffic_member", "sent per member", "B");
    rz_table_column(table, "messages_hot", "most by one", NULL);
    rz_table_column(table, "false_failure_reports", "false failure reports", NULL);
    rz_table_column(table, "lasted_ms", "virtual time", "ms");
    rz_table_column(table, "events", "events", NULL);
    rz_table_column(table, "seconds", "processor time", "s");
    rz_table_column(table, "bytes_member", "memory per member", "B");
    if (kind == RZ_GOSSIP_SUM) {
        rz_table_column(table, "new_failures", "new failures", NULL);
    }
}

static double milliseconds(rz_time time)
{
    return time == RZ_TIME_NEVER ? NAN : (double)time / (double)RZ_MILLISECOND;
}

/* Cycles and the like are counted from 1; 0 is none. */
static double counted(uint64_t value)
{
    return value > 0 ? (double)value : NAN;
}

static void row(struct rz_table *table, const struct rz_gossip_trial_setup *setup,
                const struct rz_gossip_trial *trial, uint32_t number)
{
    bool sum = setup->gossip.kind == RZ_GOSSIP_SUM;
    uint32_t last = sum ? 2 : 1;
    double bytes = setup->model ? NAN : (double)trial->bytes;
    rz_table_row(table);
    rz_table_number(table, number);
    rz_table_number(table, trial->detect_first ? milliseconds(trial->detect_first_at) : NAN);
    rz_table_number(table, trial->detect_last ? milliseconds(trial->detect_last_at) : NAN);
    rz_table_number(table, trial->last[0] ? milliseconds(trial->last_at[0]) : NAN);
    rz_table_number(table, trial->last[last] ? milliseconds(trial->last_at[last]) : NAN);
    rz_table_number(table, counted(trial->detect_first));
    rz_table_number(table, counted(trial->last[0]));
    for (uint32_t stage = 1; stage <= last; stage++) {
        rz_table_number(table, counted(trial->first[stage]));
        rz_table_number(table, counted(trial->last[stage]));
    }
    rz_table_number(table, counted(trial->returned));
    rz_table_number(table, (double)trial->false_consensus);
    if (sum) {
        rz_table_number(table, (double)trial->early_commits);
    }
    rz_table_number(table, setup->model ? NAN : (double)trial->disagreeing);
    rz_table_number(table, (double)trial->messages);
    rz_table_number(table, bytes);
    rz_table_number(table, bytes / (double)setup->gossip.n_members);
    rz_table_number(table, setup->model ? NAN : (double)trial->messages_hot);
    rz_table_number(table, (double)trial->false_failure_reports);
    rz_table_number(table, milliseconds(trial->lasted));
    rz_table_number(table, setup->model ? NAN : (double)trial->events);
    rz_table_number(table, trial->seconds);
    rz_table_number(table, trial->bytes_member);
    if (sum) {
        rz_table_text(table, setup->gossip.before_only ? "not foreseen" : "restart the count");
    }
}

/* The number of members that have reached each stage by each cycle. */
static void draw(struct rz_chart *chart, const struct rz_gossip_trial_setup *setup,
                 const struct rz_gossip_trial *trial)
{
    uint32_t n_stages = setup->gossip.kind == RZ_GOSSIP_SUM ? 3 : 2;
    uint64_t end = trial->returned < RZ_GOSSIP_CYCLES_MAX ? trial->returned : RZ_GOSSIP_CYCLES_MAX;
    rz_chart_labels(chart, NULL, "cycle", "processes");
    for (uint32_t stage = 0; stage < n_stages && setup->n_victims > 0; stage++) {
        uint64_t sum = 0;
        rz_chart_curve(chart, stages[stage], RZ_CHART_LINES_POINTS);
        for (uint64_t cycle = 0; cycle <= end; cycle++) {
            sum += trial->reached[stage][cycle];
            rz_chart_point(chart, (double)cycle, (double)sum);
        }
    }
}

/* ---- running ---- */

static uint32_t log2_up(uint64_t n)
{
    return n > 1 ? 64 - (uint32_t)__builtin_clzll(n - 1) : 0;
}

/* Before the run, all at one date, or each in a cycle of its own while the first failures are being
 * disseminated. */
static void draw_dates(const struct rz_study_options *options, uint64_t seed, rz_time *dates)
{
    struct rz_random random = {rz_mix(seed, STREAM_DATES)};
    rz_time from = options->kill_at == RZ_TIME_NEVER ? 0 : options->kill_at;
    rz_time over = (log2_up(options->members) + 4) * options->cycle;
    for (uint32_t i = 0; i < options->kill; i++) {
        dates[i] = from + (options->kill_during ? rz_random_below(&random, over) : 0);
    }
}

/* Then the count of algorithm 3 is the published one, which supports no others. */
static bool all_fail_before(const struct rz_study_options *options)
{
    return !options->kill_during && (options->kill_at == RZ_TIME_NEVER || options->kill_at == 0);
}

static struct rz_gossip_trial_setup setup_of(const struct rz_study_options *options,
                                             enum rz_gossip_kind kind, uint32_t trial)
{
    struct rz_gossip_config config = {.n_members = (uint32_t)options->members,
                                      .view = 1,
                                      .kind = kind,
                                      .cycle = options->cycle,
                                      .timeout = options->cycle / 2,
                                      .start_spread = options->cycle,
                                      .before_only =
                                          kind == RZ_GOSSIP_SUM && all_fail_before(options),
                                      .report = true,
                                      .initial = options->initial_cycles,
                                      .window = options->window,
                                      .tolerance_ppm = (uint32_t)(options->tolerance * 1e6 + 0.5)};
    return (struct rz_gossip_trial_setup){.gossip = config,
                                          .network = rz_study_network(options),
                                          .seed = options->seed + trial,
                                          .n_victims = options->kill,
                                          .model = options->model,
                                          .until = options->until,
                                          .slow = options->slow,
                                          .slow_by = options->slow_by};
}

static bool check(const struct rz_study_options *options, enum rz_gossip_kind kind,
                  const char **why)
{
    *why = NULL;
    uint64_t most = kind == RZ_GOSSIP_MATRIX ? 2048 : UINT64_C(1) << (options->model ? 30 : 20);
    if (options->members < 2 || options->members > most) {
        *why = kind == RZ_GOSSIP_MATRIX ? "--ranks: from 2 to 2048 (each has their square in bits)"
                                        : "--ranks: from 2 to 2^20, of the model to 2^30";
    } else if (options->kill >= options->members) {
        *why = "--kill: at least one member must be left";
    } else if (options->slow >= options->members - options->kill) {
        *why = "--slow: at least one member must be fast";
    } else if (options->cycle < 2 * RZ_MICROSECOND) {
        *why = "--cycle: too short";
    } else if (!(options->tolerance >= 1e-6 && options->tolerance < 1)) {
        *why = "--tolerance: from 0.0001% to 100%";
    } else if (options->model && (options->kill_during || options->kill_at != RZ_TIME_NEVER ||
                                  options->kill == 0 || options->loss > 0 || options->slow > 0)) {
        *why = "--model: some fail, before the run, and nothing is lost or late";
    }
    return !*why;
}

static bool run_trial(const struct rz_study_options *options, enum rz_gossip_kind kind,
                      uint32_t number, struct rz_table *table, struct rz_chart *chart,
                      const char **why)
{
    struct rz_gossip_trial_setup setup = setup_of(options, kind, number);
    rz_id *victims = malloc((options->kill + 1) * sizeof(*victims));
    rz_time *dates = malloc((options->kill + 1) * sizeof(*dates));
    rz_assert(victims && dates);
    rz_study_draw_victims(options, setup.seed, victims);
    draw_dates(options, setup.seed, dates);
    setup.victims = victims;
    setup.dates = dates;
    setup.trace = rz_study_open_trace(options, number, why);
    struct rz_gossip_trial *trial = *why ? NULL : rz_gossip_trial_run(&setup, why);
    if (trial) {
        row(table, &setup, trial, number);
        if (number == 0) {
            draw(chart, &setup, trial);
        }
    }
    bool good = trial && rz_study_close_trace(setup.trace, why);
    free(trial);
    free(victims);
    free(dates);
    return good;
}

static bool run(const struct rz_study_options *options, enum rz_gossip_kind kind,
                struct rz_table *table, struct rz_chart *chart, const char **why)
{
    if (!check(options, kind, why)) {
        return false;
    }
    columns(table, kind);
    for (uint32_t trial = 0; trial < options->trials; trial++) {
        rz_study_progress(options, "gossip", trial, options->trials);
        if (!run_trial(options, kind, trial, table, chart, why)) {
            return false;
        }
    }
    rz_study_progress(options, "gossip", options->trials, options->trials);
    return true;
}

static bool matrix_run(const struct rz_study_options *options, struct rz_table *table,
                       struct rz_chart *chart, const char **why)
{
    return run(options, RZ_GOSSIP_MATRIX, table, chart, why);
}

static bool list_run(const struct rz_study_options *options, struct rz_table *table,
                     struct rz_chart *chart, const char **why)
{
    return run(options, RZ_GOSSIP_LIST, table, chart, why);
}

static bool sum_run(const struct rz_study_options *options, struct rz_table *table,
                    struct rz_chart *chart, const char **why)
{
    return run(options, RZ_GOSSIP_SUM, table, chart, why);
}

#define TAKES                                                                                      \
    RZ_STUDY_KILL | RZ_STUDY_CYCLE | RZ_STUDY_INITIAL | RZ_STUDY_LOSS | RZ_STUDY_SLOW |            \
        RZ_STUDY_TRACE

const struct rz_study rz_gossip_studies[] = {
    {.name = "gossip1",
     .summary = "gossip of the whole matrix of detections, until all agree",
     .members_are = "ranks",
     .members_default = 128,
     .members_max = 2048,
     .takes = TAKES,
     .defaults = defaults,
     .run = matrix_run},
    {.name = "gossip2",
     .summary = "gossip of the list of the failed, for a fixed time",
     .members_are = "ranks",
     .members_default = 128,
     .members_max = 1 << 20,
     .members_max_model = 1 << 30,
     .takes = TAKES | RZ_STUDY_WINDOW | RZ_STUDY_MODEL,
     .defaults = defaults,
     .run = list_run},
    {.name = "gossip3",
     .summary = "gossip in three phases, counted by push-sum: detect, consensus, commit",
     .members_are = "ranks",
     .members_default = 128,
     .members_max = 1 << 20,
     .members_max_model = 1 << 30,
     .takes = TAKES | RZ_STUDY_WINDOW | RZ_STUDY_TOLERANCE | RZ_STUDY_MODEL,
     .defaults = defaults,
     .run = sum_run},
};
const size_t rz_gossip_studies_count = sizeof(rz_gossip_studies) / sizeof(*rz_gossip_studies);
