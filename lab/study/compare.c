/* SPDX-License-Identifier: BSD-3-Clause */
/* The comparison of failure detectors: runs all studies over all sizes; makes a table and a chart.
 */
#include "study/compare.h"

#include "base/assert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMBERS_LEAST 16
#define MEMBERS_USUAL (UINT64_C(1) << 16)
#define MEMBERS_MOST (UINT64_C(1) << 20)
#define SIZES_MAX 16

/* The trials of a row together have about this many members; at least one trial, at most 40. */
#define MEMBERS_OF_A_ROW (UINT64_C(1) << 15)
#define TRIALS_FAULTY 10

/* Without a failure this many periods are observed, in search of false failure reports. */
#define PERIODS_QUIET 10
#define PERIODS_FAULTY 60

static const struct contestant {
    const char *label, *study;
    bool lifeguard;
    bool watches; /* runs without end; otherwise it is a call that ends, and a member must fail in
                     it */
} contestants[] = {
    {"ring and broadcast", "ring", false, true}, {"SWIM", "swim", false, true},
    {"SWIM with Lifeguard", "swim", true, true}, {"gossip 1", "gossip1", false, false},
    {"gossip 2", "gossip2", false, false},       {"gossip 3", "gossip3", false, false}};
#define CONTESTANTS (sizeof(contestants) / sizeof(*contestants))

static const struct ordeal {
    const char *label;
    bool failure; /* one member fails, and the others must learn it; otherwise none fails */
    double loss;
    bool slow; /* one member in sixteen answers two and a half periods late */
} failure_of_one = {"one failure", true, 0, false}, quiet = {"quiet", false, 0, false},
  faults[] = {{"no fault", false, 0, false},
              {"1 % lost", false, 0.01, false},
              {"5 % lost", false, 0.05, false},
              {"slow members", false, 0, true}};
#define FAULTS (sizeof(faults) / sizeof(*faults))

const char rz_compare_legend[] =
    "All have the same period: a heartbeat, a probe, a cycle of gossip. The ring's patience is "
    "three of them; SWIM has memberlist's parameters in proportion.\n\n"
    "* **one failure**: a member fails at a random point of a period. Periods until some member "
    "has "
    "found it (SWIM: suspects it), until all hold it for failed, until all have agreed on it "
    "(gossip); medians. Gossip is a call, begun after the failure; the others watch for ever.\n"
    "* **quiet**: no member fails in ten periods: what watching costs.\n"
    "* **no fault, lost, slow members**: sixty periods without a failure (gossip: a call with "
    "one). "
    "Slow: what one member in sixteen sends arrives two periods and a half late.\n"
    "* **false failure reports**: living members declared failed, per thousand members and period. "
    "A member "
    "that the ring reports has to stop; one that SWIM reports comes back; one that gossip reports "
    "is not pinged any more.\n\n"
    "Messages and bytes are those sent, 48 bytes and 8 for each item; memory is all that a run "
    "needs, the largest groups tell best what a member needs.";

struct result {
    double detected, known,
        decided;                   /* periods after the failure, medians; NAN: not in all trials */
    double messages, bytes, wrong; /* per member and period; wrong: per thousand of these */
    double memory, seconds;        /* bytes per member; of processor time, in all */
    uint32_t trials;
    char note[64]; /* why there is no result, or a remark */
};

struct comparison {
    const struct rz_study_options *options;
    rz_time period;
    struct rz_table *table;
    uint64_t sizes[SIZES_MAX];
    uint32_t n_sizes;
    struct result failure[CONTESTANTS][SIZES_MAX], calm[CONTESTANTS][SIZES_MAX];
    struct result faulty[CONTESTANTS][FAULTS];
    uint64_t faulty_members;
    uint64_t done, all;
};

/* ---- one row ---- */

static uint32_t trials_of(const struct comparison *comparison, const struct ordeal *ordeal,
                          uint64_t members)
{
    uint64_t trials = MEMBERS_OF_A_ROW / members;
    if (comparison->options->trials > 0) {
        return comparison->options->trials;
    }
    if (ordeal != &failure_of_one && ordeal != &quiet) {
        return TRIALS_FAULTY;
    }
    return trials > 40 ? 40 : trials > 0 ? (uint32_t)trials : 1;
}

/* All have the same period; the ring's timeout is three of them. */
static struct rz_study_options options_of(const struct comparison *comparison,
                                          const struct contestant *contestant,
                                          const struct ordeal *ordeal, uint64_t members)
{
    struct rz_study_options options = *comparison->options;
    options.members = members;
    options.trials = trials_of(comparison, ordeal, members);
    options.hb_period = options.cycle = comparison->period;
    options.hb_timeout = 3 * comparison->period;
    options.lifeguard = contestant->lifeguard;
    options.kill = ordeal->failure || !contestant->watches;
    options.loss = ordeal->loss;
    options.slow = ordeal->slow ? (uint32_t)(members / 16) : 0;
    options.slow_by = 5 * comparison->period / 2;
    options.progress = false;
    if (!ordeal->failure && contestant->watches) {
        options.until = (ordeal == &quiet ? PERIODS_QUIET : PERIODS_FAULTY) * comparison->period;
    }
    return options;
}

/* The median over all trials; NAN where one of them has no value. */
static double median(const struct rz_table *table, const char *column)
{
    struct rz_table_spread spread = rz_table_spread(table, column);
    return spread.n == rz_table_rows(table) ? spread.median : NAN;
}

static double total(const struct rz_table *table, const char *column)
{
    struct rz_table_spread spread = rz_table_spread(table, column);
    return spread.mean * spread.n;
}

static void evaluate(struct result *result, const struct rz_table *table,
                     const struct comparison *comparison, uint64_t members, bool failure)
{
    double period = (double)comparison->period / (double)RZ_MILLISECOND;
    double lasted = total(table, "lasted_ms") / period * (double)members;
    result->trials = rz_table_rows(table);
    result->detected = failure ? median(table, "detect_first_ms") / period : NAN;
    result->known = failure ? median(table, "known_ms") / period : NAN;
    result->decided = failure ? median(table, "decided_ms") / period : NAN;
    result->messages = total(table, "messages") / lasted;
    result->bytes = total(table, "bytes") / lasted;
    result->wrong = 1000 * total(table, "false_failure_reports") / lasted;
    result->memory = median(table, "bytes_member");
    result->seconds = total(table, "seconds");
    if (failure && isnan(result->known)) {
        snprintf(result->note, sizeof(result->note), "not all got to know in each trial");
    }
}

/* A fault that a study does not support would be ignored silently: report it instead. True: the
 * reason is in the note. */
static bool refused(const struct rz_study *study, const struct rz_study_options *options,
                    struct result *result)
{
    size_t room = sizeof(result->note);
    if (!study) {
        snprintf(result->note, room, "there is no such study");
    } else if (options->members > study->members_max) {
        snprintf(result->note, room, "not more than %llu members",
                 (unsigned long long)study->members_max);
    } else if (options->loss > 0 && !(study->takes & RZ_STUDY_LOSS)) {
        snprintf(result->note, room, "its study knows no loss");
    } else if (options->slow > 0 && !(study->takes & RZ_STUDY_SLOW)) {
        snprintf(result->note, room, "its study knows no slow members");
    }
    return result->note[0] != 0;
}

static struct result measure(const struct comparison *comparison,
                             const struct contestant *contestant, const struct ordeal *ordeal,
                             uint64_t members)
{
    struct result result = {.detected = NAN,
                            .known = NAN,
                            .decided = NAN,
                            .messages = NAN,
                            .bytes = NAN,
                            .wrong = NAN,
                            .memory = NAN,
                            .seconds = NAN};
    const struct rz_study *study = rz_study_find(contestant->study);
    struct rz_study_options options = options_of(comparison, contestant, ordeal, members);
    if (refused(study, &options, &result)) {
        return result;
    }
    const char *why = "";
    struct rz_table *table = rz_table_create("");
    struct rz_chart *chart = rz_chart_create("", "", "");
    if (study->run(&options, table, chart, &why)) {
        evaluate(&result, table, comparison, members, ordeal->failure);
    } else {
        snprintf(result.note, sizeof(result.note), "%s", why);
    }
    rz_chart_destroy(chart);
    rz_table_destroy(table);
    return result;
}

static void add_row(struct comparison *comparison, const struct contestant *contestant,
                    const struct ordeal *ordeal, uint64_t members, struct result *result)
{
    struct rz_table *table = comparison->table;
    rz_study_progress(comparison->options, contestant->label, comparison->done++, comparison->all);
    *result = measure(comparison, contestant, ordeal, members);
    rz_table_row(table);
    rz_table_text(table, "%s", contestant->label);
    rz_table_text(table, "%s", ordeal->label);
    rz_table_number(table, (double)members);
    const double cells[] = {result->trials,  result->detected, result->known,
                            result->decided, result->messages, result->bytes,
                            result->wrong,   result->memory,   result->seconds};
    for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++) {
        rz_table_number(table, cells[i]);
    }
    rz_table_text(table, "%s", result->note);
}

/* ---- all rows ---- */

static void add_columns(struct rz_table *table)
{
    rz_table_column(table, "protocol", "protocol", NULL);
    rz_table_column(table, "case", "case", NULL);
    rz_table_column(table, "members", "members", NULL);
    rz_table_column(table, "trials", "trials", NULL);
    rz_table_column(table, "detect_periods", "found", "periods");
    rz_table_column(table, "known_periods", "all know", "periods");
    rz_table_column(table, "decided_periods", "agreed", "periods");
    rz_table_column(table, "messages", "messages", "per member and period");
    rz_table_column(table, "bytes", "bytes", "per member and period");
    rz_table_column(table, "wrong", "false failure reports", "per 1000 members and period");
    rz_table_column(table, "bytes_member", "memory", "B per member");
    rz_table_column(table, "seconds", "processor time", "s");
    rz_table_column(table, "note", "note", NULL);
}

static void measure_all(struct comparison *comparison)
{
    comparison->all = CONTESTANTS * (2 * comparison->n_sizes + FAULTS);
    for (size_t c = 0; c < CONTESTANTS; c++) {
        for (uint32_t s = 0; s < comparison->n_sizes; s++) {
            add_row(comparison, &contestants[c], &failure_of_one, comparison->sizes[s],
                    &comparison->failure[c][s]);
        }
    }
    for (size_t c = 0; c < CONTESTANTS; c++) {
        for (uint32_t s = 0; s < comparison->n_sizes && contestants[c].watches; s++) {
            add_row(comparison, &contestants[c], &quiet, comparison->sizes[s],
                    &comparison->calm[c][s]);
        }
    }
    for (size_t c = 0; c < CONTESTANTS; c++) {
        for (size_t f = 0; f < FAULTS; f++) {
            add_row(comparison, &contestants[c], &faults[f], comparison->faulty_members,
                    &comparison->faulty[c][f]);
        }
    }
}

/* ---- the chart ---- */

static void draw_over_size(struct rz_chart *chart, const struct comparison *comparison,
                           enum rz_chart_scale scale,
                           double (*value)(const struct result *failure, const struct result *calm))
{
    rz_chart_scales(chart, RZ_CHART_LOG2, scale);
    if (scale == RZ_CHART_LINEAR) {
        rz_chart_range_y(chart, 0, NAN);
    }
    for (size_t c = 0; c < CONTESTANTS; c++) {
        rz_chart_curve(chart, contestants[c].label, RZ_CHART_LINES_POINTS);
        for (uint32_t s = 0; s < comparison->n_sizes; s++) {
            double y = value(&comparison->failure[c][s], &comparison->calm[c][s]);
            if (y > 0) {
                rz_chart_point(chart, (double)comparison->sizes[s], y);
            }
        }
    }
}

static double found(const struct result *failure, const struct result *calm)
{
    (void)calm;
    return failure->detected;
}

static double known(const struct result *failure, const struct result *calm)
{
    (void)calm;
    return failure->known;
}

/* Of those that run without end, while no member fails; of the others during their call. */
static double bytes(const struct result *failure, const struct result *calm)
{
    return calm->trials > 0 ? calm->bytes : failure->bytes;
}

static void draw(struct rz_chart *chart, const struct comparison *comparison)
{
    rz_chart_labels(chart, "One member fails: found by a member", "members", "periods");
    draw_over_size(chart, comparison, RZ_CHART_LINEAR, found);
    rz_chart_panel(chart, "One member fails: known to all", "members", "periods");
    draw_over_size(chart, comparison, RZ_CHART_LINEAR, known);
    rz_chart_panel(chart, "Traffic", "members", "bytes per member and period");
    draw_over_size(chart, comparison, RZ_CHART_LOG10, bytes);
    rz_chart_panel(chart, "False failure reports under loss (none: not drawn)",
                   "messages lost, per cent", "per 1000 members and period");
    rz_chart_scales(chart, RZ_CHART_LINEAR, RZ_CHART_LOG10);
    rz_chart_range_x(chart, 0, 6);
    for (size_t c = 0; c < CONTESTANTS; c++) {
        rz_chart_curve(chart, contestants[c].label, RZ_CHART_LINES_POINTS);
        for (size_t f = 0; f < FAULTS; f++) {
            if (!faults[f].slow && comparison->faulty[c][f].wrong > 0) {
                rz_chart_point(chart, 100 * faults[f].loss, comparison->faulty[c][f].wrong);
            }
        }
    }
}

bool rz_compare(const struct rz_study_options *options, uint64_t members_max,
                struct rz_table *table, struct rz_chart *chart, const char **why)
{
    if (members_max == 0) {
        members_max = MEMBERS_USUAL;
    }
    if (members_max < MEMBERS_LEAST || members_max > MEMBERS_MOST) {
        *why = "the most members: from 16 to 2^20";
        return false;
    }
    struct comparison *comparison = calloc(1, sizeof(*comparison));
    rz_assert(comparison != NULL);
    comparison->options = options;
    comparison->period = options->hb_period;
    comparison->table = table;
    for (uint64_t n = MEMBERS_LEAST; n <= members_max; n *= 4) {
        comparison->sizes[comparison->n_sizes++] = n;
    }
    comparison->faulty_members = members_max < 256 ? members_max : 256;
    add_columns(table);
    measure_all(comparison);
    draw(chart, comparison);
    free(comparison);
    return true;
}
