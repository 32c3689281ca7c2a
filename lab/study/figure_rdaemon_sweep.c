/* SPDX-License-Identifier: BSD-3-Clause */
/* Points of the figures of RDaemon#, by studies over a range, and trend lines through them. */
#include "study/figure_rdaemon_sweep.h"

#include "base/assert.h"

#include <math.h>
#include <stdio.h>

#define TRIALS 30 /* of the source, if the options do not say */

struct rz_rdaemon rz_rdaemon_begin(const struct rz_figure_options *options, struct rz_table *table,
                                   struct rz_chart *chart, struct rz_figure_report *report,
                                   const char **why, const struct rz_rdaemon_axis *x)
{
    double wanted = TRIALS * options->effort;
    rz_table_column(table, "curve", "curve", NULL);
    rz_table_column(table, x->column, x->heading, x->unit);
    rz_table_column(table, "trials", "trials", NULL);
    rz_table_column(table, "mean_ms", "mean", "ms");
    rz_table_column(table, "least_ms", "least", "ms");
    rz_table_column(table, "most_ms", "most", "ms");
    return (struct rz_rdaemon){.options = options,
                               .table = table,
                               .chart = chart,
                               .report = report,
                               .why = why,
                               .trials = options->trials > 0 ? options->trials
                                         : wanted >= TRIALS  ? TRIALS
                                         : wanted > 3        ? (uint32_t)wanted
                                                             : 3};
}

struct rz_study_options rz_rdaemon_options(const struct rz_rdaemon *figure)
{
    struct rz_study_options options;
    rz_study_defaults(&options);
    options.seed = figure->options->seed;
    options.trials = figure->trials;
    options.progress = figure->options->progress;
    return options;
}

void rz_rdaemon_curve(struct rz_rdaemon *figure, const char *label)
{
    figure->curve = label;
    rz_chart_curve(figure->chart, label, RZ_CHART_LINES_POINTS);
}

void rz_rdaemon_marks(struct rz_rdaemon *figure, const char *label)
{
    figure->curve = label;
    rz_chart_curve(figure->chart, label, RZ_CHART_POINTS);
}

bool rz_rdaemon_point(struct rz_rdaemon *figure, const char *study,
                      const struct rz_study_options *options, const char *column, double x,
                      struct rz_rdaemon_points *points)
{
    struct rz_table *trials = rz_table_create(study);
    struct rz_chart *unused = rz_chart_create("", "", "");
    bool done = rz_study_find(study)->run(options, trials, unused, figure->why);
    if (done) {
        struct rz_table_spread y = rz_table_spread(trials, column);
        rz_table_row(figure->table);
        rz_table_text(figure->table, "%s", figure->curve);
        rz_table_number(figure->table, x);
        rz_table_number(figure->table, y.n);
        rz_table_number(figure->table, y.mean);
        rz_table_number(figure->table, y.least);
        rz_table_number(figure->table, y.most);
        if (y.n > 0) {
            rz_chart_point_spread(figure->chart, x, y.mean, y.least, y.most);
        }
        rz_assert(points->n < RZ_RDAEMON_POINTS_MAX);
        points->x[points->n] = x;
        points->y[points->n++] = y;
        done =
            y.n == options->trials; /* otherwise the bounds of all trials would be those of some */
        if (!done) {
            *figure->why = "a trial ended without a result";
        }
    }
    rz_table_destroy(trials);
    rz_chart_destroy(unused);
    return done;
}

struct rz_rdaemon_ends rz_rdaemon_ends(const struct rz_rdaemon_points *points)
{
    struct rz_rdaemon_ends ends = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (uint32_t i = 0; i < points->n; i++) {
        ends.least = fmin(ends.least, points->y[i].least);
        ends.most = fmax(ends.most, points->y[i].most);
        ends.mean_least = fmin(ends.mean_least, points->y[i].mean);
        ends.mean_most = fmax(ends.mean_most, points->y[i].mean);
    }
    return ends;
}

struct rz_rdaemon_fit rz_rdaemon_fit(const struct rz_rdaemon_points *points, bool log2_of_x)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    for (uint32_t i = 0; i < points->n; i++) {
        double x = log2_of_x ? log2(points->x[i]) : points->x[i], y = points->y[i].mean;
        if (isnan(y)) {
            continue;
        }
        n++;
        sx += x, sy += y;
        sxx += x * x, sxy += x * y, syy += y * y;
    }
    double xx = sxx - sx * sx / n, xy = sxy - sx * sy / n, yy = syy - sy * sy / n;
    double a = xy / xx;
    return (struct rz_rdaemon_fit){
        .a = a, .b = (sy - a * sx) / n, .r2 = yy > 0 ? xy * xy / (xx * yy) : 1};
}

void rz_rdaemon_draw_fit(struct rz_rdaemon *figure, const struct rz_rdaemon_points *points,
                         struct rz_rdaemon_fit fit, bool log2_of_x, const char *what)
{
    char label[96];
    snprintf(label, sizeof(label), log2_of_x ? "%.4g log2(%s) %+.4g" : "%.4g %s %+.4g", fit.a, what,
             fit.b);
    rz_chart_curve(figure->chart, label, RZ_CHART_DASHED);
    for (uint32_t i = 0; i < points->n; i++) {
        rz_chart_point(figure->chart, points->x[i],
                       fit.a * (log2_of_x ? log2(points->x[i]) : points->x[i]) + fit.b);
    }
}

void rz_rdaemon_level(struct rz_rdaemon *figure, const char *label, double low, double high,
                      double y)
{
    rz_chart_curve(figure->chart, label, RZ_CHART_DASHED);
    rz_chart_point(figure->chart, low, y);
    rz_chart_point(figure->chart, high, y);
}
