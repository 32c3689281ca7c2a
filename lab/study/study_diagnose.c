/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The study of the dynamic group of recommended processes on hosts under synthetic load: removals
 * and rejoins, when the failed processes are non-recommended everywhere, and the costs. With
 * --factor the threshold is multiplied, else 2.5 ms are added.
 */
#include "study/study.h"

#include "study/study_diagnose_run.h"

#include "base/assert.h"

#include <math.h>
#include <stdlib.h>

#define DIAGNOSE RZ_DGRP_DIAGNOSE
#define PAXOS RZ_DGRP_PAXOS

#define INTERVALS_DEFAULT 1000
#define INTERVALS_MAX 1000000
#define KILL_AFTER 100 /* intervals */

static void defaults(struct rz_study_options *options)
{
    options->cycle = RZ_SECOND;
    options->latency = 100 * RZ_MICROSECOND; /* 1 GbE */
    options->jitter = 50 * RZ_MICROSECOND;
    options->kill = 0;
}

static double milliseconds(rz_time time)
{
    return time == RZ_TIME_NEVER ? NAN : (double)time / (double)RZ_MILLISECOND;
}

static uint64_t intervals_of(const struct rz_study_options *options)
{
    return options->until > 0 ? options->until / options->cycle : INTERVALS_DEFAULT;
}

static bool check(const struct rz_study_options *options, const char **why)
{
    *why = NULL;
    if (options->kill >= options->members) {
        *why = "--kill: at least one member must be left";
    } else if (options->cycle < RZ_SECOND || options->cycle > 86400 * RZ_SECOND) {
        *why = "--cycle: from a second, for a test takes a tenth of it, to a day";
    } else if (intervals_of(options) == 0 || intervals_of(options) > INTERVALS_MAX) {
        *why = "--until: between one interval and a million of them";
    } else if (options->factor > 100) {
        *why = "--factor: at most 100";
    }
    return !*why;
}

static void columns(struct rz_table *table)
{
    rz_table_column(table, "trial", "trial", NULL);
    rz_table_column(table, "intervals", "intervals", NULL);
    rz_table_column(table, "detect_first_ms", "detected", "ms");
    rz_table_column(table, "known_ms", "known by all", "ms");
    rz_table_column(table, "removals", "removals", NULL);
    rz_table_column(table, "rejoins", "rejoins", NULL);
    rz_table_column(table, "false_failure_reports", "of the living", NULL);
    rz_table_column(table, "refusals", "rejoins refused", NULL);
    rz_table_column(table, "takeovers", "takeovers", NULL);
    rz_table_column(table, "doubts", "doubts", NULL);
    rz_table_column(table, "apart", "intervals with different groups", NULL);
    rz_table_column(table, "apart_longest", "in a row", NULL);
    rz_table_column(table, "kept_out", "in time while out", "intervals");
    rz_table_column(table, "group_least", "least group", NULL);
    rz_table_column(table, "tests", "tests", NULL);
    rz_table_column(table, "replies", "replies", NULL);
    rz_table_column(table, "event_messages", "event messages", NULL);
    rz_table_column(table, "paxos_messages", "paxos messages", NULL);
    rz_table_column(table, "messages", "messages", NULL);
    rz_table_column(table, "bytes", "bytes", NULL);
    rz_table_column(table, "messages_hot", "of one member", NULL);
    rz_table_column(table, "events", "events", NULL);
    rz_table_column(table, "seconds", "processor", "s");
    rz_table_column(table, "bytes_member", "memory per member", "B");
}

static double sent(const struct rz_dgrp_run *run, uint32_t part, uint32_t type)
{
    return (double)rz_timing_count(run->timing, part, type).messages;
}

/* First and last date of the failures' detection, since the failure; NAN: none, or not all. */
static void row_failures(const struct rz_dgrp_run *run, struct rz_table *table)
{
    rz_time first = RZ_TIME_NEVER, last = 0;
    uint32_t killed = 0;
    for (rz_id k = 0; k < run->n; k++) {
        killed += run->killed_at[k] != RZ_TIME_NEVER;
    }
    for (rz_id k = 0; k < run->n; k++) {
        if (run->killed_at[k] == RZ_TIME_NEVER) {
            continue;
        }
        bool all = run->out_at[k] >= run->n - killed;
        rz_time took_first = run->out_first[k] - run->killed_at[k];
        rz_time took_last = all ? run->out_last[k] - run->killed_at[k] : RZ_TIME_NEVER;
        if (run->out_first[k] != RZ_TIME_NEVER && took_first < first) {
            first = took_first;
        }
        last = took_last > last ? took_last : last;
    }
    rz_table_number(table, milliseconds(first));
    rz_table_number(table, killed > 0 ? milliseconds(last) : NAN);
}

static void row(const struct rz_dgrp_run *run, struct rz_table *table, uint32_t trial)
{
    uint32_t removals = 0, rejoins = 0, least = run->n;
    for (rz_id k = 0; k < run->n; k++) {
        removals += run->removed[k];
        rejoins += run->rejoined[k];
    }
    for (uint64_t i = 1; i <= run->interval; i++) {
        least = run->group_size[i] < least ? run->group_size[i] : least;
    }
    struct rz_timing_cost cost = rz_timing_cost(run->timing);
    rz_table_row(table);
    rz_table_number(table, trial);
    rz_table_number(table, (double)run->interval);
    row_failures(run, table);
    rz_table_number(table, removals);
    rz_table_number(table, rejoins);
    rz_table_number(table, (double)run->false_removals);
    rz_table_number(table, (double)run->decided_no);
    rz_table_number(table, (double)run->takeovers);
    rz_table_number(table, (double)run->doubts);
    rz_table_number(table, (double)run->apart_groups.intervals);
    rz_table_number(table, (double)run->apart_groups.longest);
    rz_table_number(table, rz_dgrp_kept_out_longest(run));
    rz_table_number(table, least);
    rz_table_number(table, sent(run, DIAGNOSE, RZ_DIAGNOSE_TEST));
    rz_table_number(table, sent(run, DIAGNOSE, RZ_DIAGNOSE_REPLY));
    rz_table_number(table, sent(run, DIAGNOSE, RZ_DIAGNOSE_EVENTS));
    rz_table_number(table, sent(run, PAXOS, UINT32_MAX));
    rz_table_number(table, sent(run, DIAGNOSE, UINT32_MAX) + sent(run, PAXOS, UINT32_MAX));
    rz_table_number(table, (double)rz_timing_count(run->timing, DIAGNOSE, UINT32_MAX).bytes +
                               (double)rz_timing_count(run->timing, PAXOS, UINT32_MAX).bytes);
    rz_table_number(table, (double)rz_timing_hottest(run->timing).sent);
    rz_table_number(table, (double)cost.events);
    rz_table_number(table, cost.seconds);
    rz_table_number(table, (double)cost.bytes_peak / run->n);
}

static void draw(const struct rz_dgrp_run *run, struct rz_chart *chart)
{
    rz_chart_labels(chart, "Size of the group of recommended processes", "interval", "processes");
    rz_chart_range_y(chart, 0, run->n + 1);
    rz_chart_curve(chart, "agreed view", RZ_CHART_STEPS);
    for (uint64_t i = 1; i <= run->interval; i++) {
        if (i == 1 || i == run->interval || run->group_size[i] != run->group_size[i - 1]) {
            rz_chart_point(chart, (double)i, run->group_size[i]);
        }
    }
}

static void plan_failures(struct rz_dgrp_run *run, const struct rz_study_options *options,
                          uint64_t seed)
{
    rz_id *victims = malloc((options->kill + 1) * sizeof(*victims));
    struct rz_random random = {rz_mix(seed, 0x64617465)};
    rz_assert(victims != NULL);
    rz_study_draw_victims(options, seed, victims);
    uint64_t half = intervals_of(options) / 2;
    rz_time from = (half < KILL_AFTER ? half : KILL_AFTER) * options->cycle;
    rz_time at = options->kill_at != RZ_TIME_NEVER
                     ? options->kill_at
                     : from + rz_random_below(&random, options->cycle);
    for (uint32_t i = 0; i < options->kill; i++) {
        rz_time later = options->kill_during ? rz_random_below(&random, 20 * options->cycle) : 0;
        rz_dgrp_kill(run, victims[i], at + later);
    }
    free(victims);
}

static bool trial(const struct rz_study_options *options, uint32_t number, struct rz_table *table,
                  struct rz_chart *chart, const char **why)
{
    struct rz_dgrp_host hosts[RZ_DGRP_MEMBERS_MAX];
    rz_dgrp_hosts_cluster(hosts, (uint32_t)options->members);
    struct rz_dgrp_setup setup = {
        .members = (uint32_t)options->members,
        .intervals = intervals_of(options),
        .diagnose = {.interval = options->cycle,
                     .mode = options->factor > 0 ? RZ_DIAGNOSE_MULTIPLY : RZ_DIAGNOSE_ADD,
                     .factor = options->factor > 0 ? (uint64_t)(options->factor * 1000 + 0.5)
                                                   : RZ_DGRP_FACTOR_ADDED,
                     .health_max = options->health,
                     .assignment = options->cube ? RZ_DIAGNOSE_CUBE : RZ_DIAGNOSE_FULL},
        .network = rz_study_network(options),
        .seed = options->seed + number,
        .hosts = hosts,
        .storms = RZ_DGRP_CLUSTER_STORMS};
    setup.trace = rz_study_open_trace(options, number, why);
    if (*why) {
        return false;
    }
    struct rz_dgrp_run *run = rz_dgrp_create(&setup);
    plan_failures(run, options, setup.seed);
    rz_dgrp_go(run);
    row(run, table, number);
    if (number == 0) {
        draw(run, chart);
    }
    rz_dgrp_destroy(run);
    return rz_study_close_trace(setup.trace, why);
}

static bool run_all(const struct rz_study_options *options, struct rz_table *table,
                    struct rz_chart *chart, const char **why)
{
    if (!check(options, why)) {
        return false;
    }
    columns(table);
    for (uint32_t number = 0; number < options->trials; number++) {
        rz_study_progress(options, "diagnose", number, options->trials);
        if (!trial(options, number, table, chart, why)) {
            return false;
        }
    }
    rz_study_progress(options, "diagnose", options->trials, options->trials);
    return true;
}

const struct rz_study rz_diagnose_studies[] = {
    {.name = "diagnose",
     .summary = "a dynamic group of recommended processes on loaded hosts",
     .members_are = "processes",
     .members_default = 18,
     .members_max = RZ_DGRP_MEMBERS_MAX,
     .takes = RZ_STUDY_KILL | RZ_STUDY_CYCLE | RZ_STUDY_FACTOR | RZ_STUDY_TESTERS | RZ_STUDY_LOSS |
              RZ_STUDY_TRACE,
     .defaults = defaults,
     .run = run_all},
};
const size_t rz_diagnose_studies_count = sizeof(rz_diagnose_studies) / sizeof(*rz_diagnose_studies);
