/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures 5 to 9: algorithm 1, the matrix. */
#include "study/figure_katti_runs.h"

#include <math.h>
#include <stdio.h>

#define SIZES_LEAST 4 /* powers of two */
#define SIZES_MOST 11
#define OTHER_DRAWS "other random numbers, and few trials at the largest sizes"

/* By the project's own cycle-by-cycle program, before there were objects: means of the last process
 * for one failure before the run. */
static const double expected[] = {7.0, 8.6, 9.9, 11.2, 12.4, 13.4, 14.3, 16.0};

static uint32_t trials_for(const struct rz_figure_options *options, uint32_t power)
{
    static const uint32_t usual[] = {40, 40, 40, 40, 30, 12, 6, 3};
    return rz_katti_trials(options, usual[power - SIZES_LEAST]);
}

static struct rz_katti_case case_of(uint32_t power, uint32_t kills, bool during)
{
    return (struct rz_katti_case){.n = UINT64_C(1) << power,
                                  .kind = RZ_GOSSIP_MATRIX,
                                  .kills = kills,
                                  .ppm = RZ_KATTI_PPM,
                                  .during = during};
}

/* ---- cycles over the size ---- */

struct sweep {
    uint32_t n, largest;
    double power[SIZES_MOST - SIZES_LEAST + 1], last[SIZES_MOST - SIZES_LEAST + 1];
};

static void sizes_table(struct rz_table *table)
{
    rz_table_column(table, "processes", "processes", NULL);
    rz_table_column(table, "trials", "trials", NULL);
    rz_table_column(table, "cycles_first", "first consensus (mean)", "cycles");
    rz_table_column(table, "cycles_last", "last consensus (mean)", "cycles");
    rz_table_column(table, "cycles_least", "least", "cycles");
    rz_table_column(table, "cycles_most", "most", "cycles");
}

static struct sweep sweep_sizes(const struct rz_figure_options *options, uint32_t kills,
                                bool during, const char *label, struct rz_table *table,
                                struct rz_chart *chart)
{
    struct sweep sweep = {.largest = rz_katti_largest(options, 7, SIZES_MOST, 3)};
    rz_chart_curve(chart, label, RZ_CHART_LINES_POINTS);
    for (uint32_t power = SIZES_LEAST; power <= sweep.largest; power++) {
        struct rz_katti_case what = case_of(power, kills, during);
        struct rz_katti_point point =
            rz_katti_point(&what, 1, options->seed, trials_for(options, power));
        sweep.power[sweep.n] = power;
        sweep.last[sweep.n++] = point.last;
        rz_chart_point_spread(chart, (double)what.n, point.last, point.least, point.most);
        if (!table) {
            continue;
        }
        rz_table_row(table);
        rz_table_number(table, (double)what.n);
        rz_table_number(table, point.trials);
        rz_table_number(table, point.first);
        rz_table_number(table, point.last);
        rz_table_number(table, point.least);
        rz_table_number(table, point.most);
    }
    return sweep;
}

static void sizes_axes(struct rz_chart *chart, const char *title)
{
    rz_chart_labels(chart, title, "system size (processes)", "cycles to global consensus");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LINEAR);
    rz_chart_range_y(chart, 0, NAN);
}

static void assess_logarithm(struct rz_figure_report *report, const struct sweep *sweep)
{
    struct rz_katti_line line = rz_katti_line(sweep->power, sweep->last, sweep->n);
    rz_katti_assess(report, "a straight line over log2 of the size explains (share of variance)",
                    "logarithmic growth", line.fit, (struct rz_katti_range){0.9, 1}, OTHER_DRAWS);
    rz_katti_assess(report, "cycles more for each doubling", "not stated; about 1", line.slope,
                    (struct rz_katti_range){0.7, 1.6}, OTHER_DRAWS);
}

bool rz_katti_draw_5(const struct rz_figure_options *options, struct rz_table *table,
                     struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    (void)why;
    rz_katti_begin(options);
    sizes_axes(chart, "One failure before the run");
    sizes_table(table);
    struct sweep sweep =
        sweep_sizes(options, 1, false, "the last process has consensus", table, chart);
    rz_chart_curve(chart, "a first model of ours", RZ_CHART_STATED);
    for (uint32_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        rz_chart_point(chart, (double)(UINT64_C(1) << (SIZES_LEAST + i)), expected[i]);
    }
    assess_logarithm(report, &sweep);
    char what[64], stated[96];
    double most = expected[sweep.largest - SIZES_LEAST];
    snprintf(what, sizeof(what), "cycles with %u processes", 1u << sweep.largest);
    snprintf(stated, sizeof(stated), "not stated; %.1f by a first model of ours", most);
    rz_katti_assess(report, what, stated, sweep.last[sweep.n - 1],
                    (struct rz_katti_range){most - 2, most + 2}, OTHER_DRAWS);
    return true;
}

/* A figure of four failures, and how many cycles more than with one its source states. */
struct four {
    bool during; /* the run, or before it */
    const char *title, *stated;
    struct rz_katti_range range;
};

static bool draw_more(const struct rz_figure_options *options, const struct four *what,
                      struct rz_table *table, struct rz_chart *chart,
                      struct rz_figure_report *report)
{
    sizes_axes(chart, what->title);
    sizes_table(table);
    struct sweep four = sweep_sizes(options, 4, what->during, "four failures", table, chart);
    struct sweep one = sweep_sizes(options, 1, false, "one before the run (figure 5)", NULL, chart);
    double more = 0;
    for (uint32_t i = 0; i < four.n; i++) {
        more += (four.last[i] - one.last[i]) / four.n;
    }
    assess_logarithm(report, &four);
    rz_katti_assess(report, "cycles more than with one failure, mean over the sizes", what->stated,
                    more, what->range, "the dates of the source's failures are not known");
    return true;
}

bool rz_katti_draw_8(const struct rz_figure_options *options, struct rz_table *table,
                     struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    (void)why;
    rz_katti_begin(options);
    static const struct four what = {false, "Four failures before the run", "1 to 2", {0.5, 2.5}};
    return draw_more(options, &what, table, chart, report);
}

bool rz_katti_draw_9(const struct rz_figure_options *options, struct rz_table *table,
                     struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    (void)why;
    rz_katti_begin(options);
    static const struct four what = {
        true,
        "Four failures at random dates in the first four cycles",
        "slightly more than with failures before the run, which is 1 to 2",
        {1, 6}};
    return draw_more(options, &what, table, chart, report);
}

/* ---- one run in detail ---- */

static const struct rz_gossip_trial *largest(const struct rz_figure_options *options, uint64_t *n)
{
    struct rz_katti_case what = case_of(rz_katti_largest(options, 7, SIZES_MOST, 3), 1, false);
    *n = what.n;
    return rz_katti_trial(&what, options->seed);
}

bool rz_katti_draw_6(const struct rz_figure_options *options, struct rz_table *table,
                     struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    (void)why;
    rz_katti_begin(options);
    uint64_t n;
    const struct rz_gossip_trial *trial = largest(options, &n);
    char title[80];
    snprintf(title, sizeof(title), "What one of %llu processes knows", (unsigned long long)n);
    rz_chart_labels(chart, title, "cycle", "processes known to have detected (share)");
    rz_table_column(table, "cycle", "cycle", NULL);
    rz_table_column(table, "share", "known to have detected", NULL);
    rz_chart_curve(chart, "at the first process", RZ_CHART_LINES_POINTS);
    double steepest = 0, before = 0, end = 0;
    for (uint64_t cycle = 1; cycle <= trial->last[1]; cycle++) {
        double share = (double)trial->view[cycle].witnesses / (double)trial->living;
        rz_table_row(table);
        rz_table_number(table, (double)cycle);
        rz_table_number(table, share);
        rz_chart_point(chart, (double)cycle, share);
        if (before > 0 && before < 0.5 && share / before > steepest) {
            steepest = share / before;
        }
        before = end = share;
    }
    rz_katti_assess(report, "most that the share grew in one cycle, below a half (factor)",
                    "exponential growth", steepest, (struct rz_katti_range){2, 1e9}, OTHER_DRAWS);
    rz_katti_assess(report, "share at the end", "all", end, (struct rz_katti_range){1, 1},
                    OTHER_DRAWS);
    return true;
}

bool rz_katti_draw_7(const struct rz_figure_options *options, struct rz_table *table,
                     struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    (void)why;
    rz_katti_begin(options);
    uint64_t n;
    const struct rz_gossip_trial *trial = largest(options, &n);
    char title[80];
    snprintf(title, sizeof(title), "When each of %llu processes reaches consensus",
             (unsigned long long)n);
    rz_chart_labels(chart, title, "cycle", "processes");
    rz_table_column(table, "cycle", "cycle", NULL);
    rz_table_column(table, "processes", "reach consensus in it", NULL);
    rz_chart_curve(chart, "reach consensus in this cycle", RZ_CHART_BARS);
    for (uint64_t cycle = 1; cycle <= trial->last[1] + 1; cycle++) {
        rz_table_row(table);
        rz_table_number(table, (double)cycle);
        rz_table_number(table, trial->reached[1][cycle]);
        rz_chart_point(chart, (double)cycle, trial->reached[1][cycle]);
    }
    rz_katti_assess(report, "cycles from the first to the last process", "a narrow distribution",
                    (double)(trial->last[1] - trial->first[1]), (struct rz_katti_range){1, 5},
                    OTHER_DRAWS);
    return true;
}
