/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The study of SWIM: when the failed members are first suspected, when all members consider them
 * failed, the costs, and the false reports. The probe interval is --hb-period or --cycle, whichever
 * was given; --profile takes memberlist's own parameters instead, with their interval.
 */
#include "study/study.h"

#include "base/assert.h"
#include "base/random.h"
#include "proto/swim/swim.h"
#include "timing/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

RZ_PROTOCOL(swim, RZ_PROTOCOL_SWIM);

#define CURVE_MAX 2048

/* How many (living member, failure) pairs had reached a stage at a date. */
struct curve {
    rz_time at[CURVE_MAX];
    uint64_t count[CURVE_MAX];
    uint32_t n;
};

struct failure {
    rz_id member;
    rz_time at, suspected_at, declared_at; /* when first; RZ_TIME_NEVER: not yet */
};

struct run {
    const struct rz_study_options *options;
    struct rz_swim_config config;
    uint32_t n, n_failures;
    uint64_t seed;
    struct failure *failures; /* by member */
    uint8_t *doomed, *slow;
    uint32_t *reported_up_to; /* incarnations of each living member that were declared failed */
    uint64_t *knows;          /* a bit for each (failure, member) */
    uint64_t pairs, suspecting, knowing, step;
    rz_time known_at;
    uint64_t false_suspicions, false_failure_reports, false_of_fast;
    struct curve suspects, failed;
};

static void *memory(size_t bytes)
{
    void *block = calloc(1, bytes > 0 ? bytes : 1);
    rz_assert(block != NULL);
    return block;
}

static double milliseconds(rz_time time)
{
    return time == RZ_TIME_NEVER ? NAN : (double)time / (double)RZ_MILLISECOND;
}

/* ---- notices to the hosts ---- */

static struct failure *find_failure(struct run *run, rz_id member)
{
    for (uint32_t low = 0, high = run->n_failures; low < high;) {
        uint32_t middle = (low + high) / 2;
        if (run->failures[middle].member == member) {
            return &run->failures[middle];
        }
        if (run->failures[middle].member < member) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

static void draw(struct curve *curve, uint64_t count, uint64_t step, rz_time now)
{
    if (count % step != 0 || curve->n == CURVE_MAX) {
        return;
    }
    curve->at[curve->n] = now;
    curve->count[curve->n++] = count;
}

static void learn(struct run *run, struct rz_timing *timing, const struct failure *failure,
                  rz_id member)
{
    uint64_t bit = (uint64_t)(failure - run->failures) * run->n + member;
    if (run->doomed[member] || run->knows[bit / 64] >> (bit % 64) & 1) {
        return;
    }
    run->knows[bit / 64] |= UINT64_C(1) << (bit % 64);
    run->known_at = rz_timing_now(timing);
    draw(&run->failed, ++run->knowing, run->step, run->known_at);
    if (run->knowing == run->pairs) {
        rz_timing_stop(timing);
    }
}

/* Of the false reports only those count that a member makes itself, by its own probe or timer; a
 * failure once for each incarnation, because the timers of one incarnation expire at many members.
 */
static void report_living(struct run *run, const struct rz_action *notice, rz_id member)
{
    if (notice->arg[2] != member) {
        return;
    }
    if (notice->what == RZ_SWIM_TOLD_SUSPECT) {
        run->false_suspicions++;
    }
    rz_id about = (rz_id)notice->arg[0];
    if (notice->what != RZ_SWIM_TOLD_FAILED || notice->arg[1] < run->reported_up_to[about]) {
        return;
    }
    run->reported_up_to[about] = (uint32_t)notice->arg[1] + 1;
    run->false_failure_reports++;
    run->false_of_fast += !(run->slow && run->slow[about]);
}

static void notified(struct rz_timing *timing, rz_id member, uint32_t part,
                     const struct rz_action *notice)
{
    struct run *run = rz_timing_study(timing);
    (void)part;
    rz_id about = (rz_id)notice->arg[0];
    if (rz_timing_alive(timing, about)) {
        report_living(run, notice, member);
        return;
    }
    struct failure *failure = find_failure(run, about);
    rz_time now = rz_timing_now(timing);
    rz_assert(failure != NULL);
    if (notice->what == RZ_SWIM_TOLD_SUSPECT) {
        if (failure->suspected_at == RZ_TIME_NEVER) {
            failure->suspected_at = now;
        }
        if (!run->doomed[member]) {
            draw(&run->suspects, ++run->suspecting, run->step, now);
        }
    } else if (notice->what == RZ_SWIM_TOLD_FAILED) {
        if (failure->declared_at == RZ_TIME_NEVER) {
            failure->declared_at = now;
        }
        learn(run, timing, failure, member);
    }
}

/* ---- the setup ---- */

static const void *config(struct rz_timing *timing, rz_id member, uint32_t part)
{
    const struct run *run = rz_timing_study(timing);
    (void)member, (void)part;
    return &run->config;
}

static rz_time slow_senders(struct rz_timing *timing, rz_id from, rz_id to)
{
    const struct run *run = rz_timing_study(timing);
    (void)to;
    return run->slow[from] ? run->options->slow_by : 0;
}

static const char *message_name(uint32_t part, uint8_t type)
{
    static const char *const names[] = {"PING",   "ACK",  "PING_REQUEST", "NACK",
                                        "GOSSIP", "PULL", "PUSH"};
    (void)part;
    return names[type];
}

static const char *notice_name(uint32_t part, uint32_t what)
{
    static const char *const names[] = {"ALIVE", "SUSPECT", "FAILED", "LEFT", "FENCED"};
    (void)part;
    return names[what];
}

/* Either name may be used; the one that is not at its default was given. */
static rz_time interval_of(const struct rz_study_options *options)
{
    struct rz_study_options usual;
    rz_study_defaults(&usual);
    return options->hb_period != usual.hb_period ? options->hb_period : options->cycle;
}

static bool choose_config(struct rz_swim_config *made, const struct rz_study_options *options,
                          const char **why)
{
    uint32_t n = (uint32_t)options->members;
    const char *profile = options->profile;
    if (!profile) {
        *made = rz_swim_config_scaled(interval_of(options), n);
    } else if (strcmp(profile, "lan") == 0) {
        *made = rz_swim_config_of(RZ_SWIM_LAN, n);
    } else if (strcmp(profile, "wan") == 0) {
        *made = rz_swim_config_of(RZ_SWIM_WAN, n);
    } else if (strcmp(profile, "local") == 0) {
        *made = rz_swim_config_of(RZ_SWIM_LOCAL, n);
    } else {
        *why = "--profile is one of lan, wan, local";
    }
    if (!options->lifeguard) {
        made->lifeguard = 0;
    }
    return !*why;
}

static void draw_slow(struct run *run)
{
    struct rz_random random = {rz_mix(run->seed, 0x736C6F77)};
    uint32_t count = run->options->slow < run->n ? run->options->slow : run->n;
    run->slow = memory(run->n);
    while (count > 0) {
        rz_id id = (rz_id)rz_random_below(&random, run->n);
        count -= !run->slow[id];
        run->slow[id] = 1;
    }
}

/* At a random point of a period when all is quiet; --kill-during: within twenty of them. */
static void draw_failures(struct run *run)
{
    const struct rz_study_options *options = run->options;
    struct rz_random random = {rz_mix(run->seed, 0x64617465)};
    rz_id *victims = memory(run->n_failures * sizeof(*victims));
    rz_time from =
        options->kill_at != RZ_TIME_NEVER ? options->kill_at : 2 * run->config.probe_interval;
    rz_time over = run->config.probe_interval * (options->kill_during ? 20 : 1);
    if (options->kill_at != RZ_TIME_NEVER && !options->kill_during) {
        over = 1;
    }
    rz_study_draw_victims(options, run->seed, victims);
    for (uint32_t i = 0; i < run->n_failures; i++) {
        rz_time at = i == 0 || options->kill_during ? from + rz_random_below(&random, over)
                                                    : run->failures[0].at;
        run->failures[i] = (struct failure){victims[i], at, RZ_TIME_NEVER, RZ_TIME_NEVER};
        run->doomed[victims[i]] = 1;
    }
    free(victims);
}

static void run_begin(struct run *run, const struct rz_study_options *options,
                      const struct rz_swim_config *made, uint64_t seed)
{
    *run = (struct run){.options = options,
                        .config = *made,
                        .n = (uint32_t)options->members,
                        .n_failures = options->kill,
                        .seed = seed};
    run->failures = memory(run->n_failures * sizeof(*run->failures));
    run->doomed = memory(run->n);
    run->reported_up_to = memory(run->n * sizeof(*run->reported_up_to));
    run->knows = memory(((uint64_t)run->n * run->n_failures + 63) / 64 * sizeof(*run->knows));
    run->pairs = (uint64_t)(run->n - run->n_failures) * run->n_failures;
    run->step = run->pairs / CURVE_MAX + 1;
    if (options->slow > 0) {
        draw_slow(run);
    }
    draw_failures(run);
}

static void run_end(struct run *run)
{
    free(run->failures);
    free(run->doomed);
    free(run->reported_up_to);
    free(run->knows);
    free(run->slow);
}

/* Without failures sixty periods are observed. With failures the run ends when all know; the bound
 * covers the worst case: probing, the longest suspicion, full state exchanges. */
static rz_time run_until(const struct run *run, rz_time patience)
{
    rz_time interval = run->config.probe_interval, last = 0;
    if (run->options->until > 0) {
        return run->options->until;
    }
    if (run->n_failures == 0) {
        return 60 * interval;
    }
    for (uint32_t i = 0; i < run->n_failures; i++) {
        last = run->failures[i].at > last ? run->failures[i].at : last;
    }
    return last + 200 * interval + 4 * patience;
}

/* ---- what is shown ---- */

static const struct {
    const char *name, *heading;
    enum rz_swim_message type;
} counted[] = {{"pings", "pings", RZ_SWIM_PING},
               {"acks", "answers", RZ_SWIM_ACK},
               {"ping_requests", "indirect pings", RZ_SWIM_PING_REQUEST},
               {"nacks", "denials", RZ_SWIM_NACK},
               {"gossip", "packets of gossip", RZ_SWIM_GOSSIP},
               {"pulls", "whole exchanges", RZ_SWIM_PULL}};
#define COUNTED (sizeof(counted) / sizeof(*counted))

static void columns(struct rz_table *table)
{
    rz_table_column(table, "trial", "trial", NULL);
    rz_table_column(table, "detect_first_ms", "first suspicion", "ms");
    rz_table_column(table, "detect_last_ms", "all suspected", "ms");
    rz_table_column(table, "detect_first_periods", "first suspicion", "periods");
    rz_table_column(table, "detect_round", "period of the probe that found it", NULL);
    rz_table_column(table, "declared_ms", "first declared failed", "ms");
    rz_table_column(table, "known_ms", "all know", "ms");
    rz_table_column(table, "known_periods", "all know", "periods");
    rz_table_column(table, "messages", "messages", NULL);
    rz_table_column(table, "bytes", "bytes", NULL);
    for (size_t i = 0; i < COUNTED; i++) {
        rz_table_column(table, counted[i].name, counted[i].heading, NULL);
    }
    rz_table_column(table, "messages_hot", "most by one", NULL);
    rz_table_column(table, "false_suspicions", "false suspicions", NULL);
    rz_table_column(table, "false_failure_reports", "false failure reports", NULL);
    rz_table_column(table, "false_of_fast", "of members that are not slow", NULL);
    rz_table_column(table, "lasted_ms", "virtual time", "ms");
    rz_table_column(table, "events", "events", NULL);
    rz_table_column(table, "seconds", "processor time", "s");
    rz_table_column(table, "bytes_member", "memory per member", "B");
}

/*
 * For each failure from its own date; NAN if one was never detected.
 */
static void latencies(const struct run *run, double *first, double *last, double *declared)
{
    *first = *last = *declared = NAN;
    for (uint32_t i = 0; i < run->n_failures; i++) {
        const struct failure *failure = &run->failures[i];
        double suspected = NAN, failed = NAN;
        if (failure->suspected_at != RZ_TIME_NEVER) {
            suspected = milliseconds(failure->suspected_at - failure->at);
        }
        if (failure->declared_at != RZ_TIME_NEVER) {
            failed = milliseconds(failure->declared_at - failure->at);
        }
        *first = i == 0 || suspected < *first ? suspected : *first;
        *last = i == 0 || isnan(suspected) || suspected > *last ? suspected : *last;
        *declared = i == 0 || failed < *declared ? failed : *declared;
    }
}

static void row(struct rz_table *table, const struct run *run, const struct rz_timing *timing,
                uint32_t trial)
{
    double first, last, declared, known = NAN, period = milliseconds(run->config.probe_interval);
    struct rz_timing_counts all = rz_timing_count(timing, 0, UINT32_MAX);
    struct rz_timing_cost cost = rz_timing_cost(timing);
    latencies(run, &first, &last, &declared);
    if (run->n_failures > 0 && run->knowing == run->pairs) {
        known = milliseconds(run->known_at - run->failures[0].at);
    }
    const double cells[] = {
        trial,    first, last,           first / period,       ceil(first / period - 1),
        declared, known, known / period, (double)all.messages, (double)all.bytes};
    rz_table_row(table);
    for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++) {
        rz_table_number(table, cells[i]);
    }
    for (size_t i = 0; i < COUNTED; i++) {
        rz_table_number(table, (double)rz_timing_count(timing, 0, counted[i].type).messages);
    }
    rz_table_number(table, (double)rz_timing_hottest(timing).sent);
    rz_table_number(table, (double)run->false_suspicions);
    rz_table_number(table, (double)run->false_failure_reports);
    rz_table_number(table, (double)run->false_of_fast);
    rz_table_number(table, milliseconds(rz_timing_now(timing)));
    rz_table_number(table, (double)cost.events);
    rz_table_number(table, cost.seconds);
    rz_table_number(table, (double)cost.bytes_peak / run->n);
}

static void draw_curve(struct rz_chart *chart, const struct run *run, const char *label,
                       const struct curve *curve)
{
    rz_chart_curve(chart, label, RZ_CHART_STEPS);
    rz_chart_point(chart, 0, 0);
    for (uint32_t i = 0; i < curve->n; i++) {
        rz_chart_point(chart, milliseconds(curve->at[i]) - milliseconds(run->failures[0].at),
                       (double)curve->count[i] / run->n_failures);
    }
}

/* ---- running ---- */

static bool run_trial(const struct rz_study_options *options, const struct rz_swim_config *made,
                      uint32_t trial, struct rz_table *table, struct rz_chart *chart,
                      const char **why)
{
    struct run *run = memory(sizeof(*run));
    run_begin(run, options, made, options->seed + trial);
    struct rz_timing_setup setup = {.members = run->n,
                                    .n_parts = 1,
                                    .parts = {&rz_protocol_swim},
                                    .network = rz_study_network(options),
                                    .seed = run->seed,
                                    .study = run,
                                    .config = config,
                                    .notified = notified,
                                    .delay = run->slow ? slow_senders : NULL,
                                    .message_name = message_name,
                                    .notice_name = notice_name,
                                    .trace = rz_study_open_trace(options, trial, why)};
    if (!*why) {
        struct rz_timing *timing = rz_timing_create(&setup);
        rz_timing_until(timing, run_until(run, rz_swim_patience(rz_timing_state(timing, 0, 0), 1)));
        for (uint32_t i = 0; i < run->n_failures; i++) {
            rz_timing_kill(timing, run->failures[i].member, run->failures[i].at);
        }
        rz_timing_run(timing);
        row(table, run, timing, trial);
        if (trial == 0 && run->n_failures > 0) {
            rz_chart_labels(chart, NULL, "milliseconds since the first failure", "members (mean)");
            draw_curve(chart, run, "suspect the failed", &run->suspects);
            draw_curve(chart, run, "hold them for failed", &run->failed);
        }
        rz_timing_destroy(timing);
    }
    run_end(run);
    free(run);
    return !*why && rz_study_close_trace(setup.trace, why);
}

static bool check(const struct rz_study_options *options, const char **why)
{
    *why = NULL;
    if (options->members < 2 || options->members > UINT64_C(1) << 20) {
        *why = "members: from 2 to 2^20";
    } else if (options->kill >= options->members) {
        *why = "--kill: at least one member must be left";
    } else if (interval_of(options) < 10) {
        *why = "--hb-period, --cycle: too short";
    }
    return !*why;
}

static bool swim_run(const struct rz_study_options *options, struct rz_table *table,
                     struct rz_chart *chart, const char **why)
{
    struct rz_swim_config made;
    if (!check(options, why) || !choose_config(&made, options, why)) {
        return false;
    }
    columns(table);
    for (uint32_t trial = 0; trial < options->trials; trial++) {
        rz_study_progress(options, "swim", trial, options->trials);
        if (!run_trial(options, &made, trial, table, chart, why)) {
            return false;
        }
    }
    rz_study_progress(options, "swim", options->trials, options->trials);
    return true;
}

const struct rz_study rz_swim_studies[] = {
    {.name = "swim",
     .summary = "random probing, suspicion and gossip: members fail, and all get to know",
     .members_are = "members",
     .members_default = 64,
     .members_max = 1 << 20,
     .takes = RZ_STUDY_KILL | RZ_STUDY_HEARTBEAT | RZ_STUDY_CYCLE | RZ_STUDY_LIFEGUARD |
              RZ_STUDY_LOSS | RZ_STUDY_SLOW | RZ_STUDY_PER_NODE | RZ_STUDY_TRACE,
     .run = swim_run},
};
const size_t rz_swim_studies_count = sizeof(rz_swim_studies) / sizeof(*rz_swim_studies);
