/* SPDX-License-Identifier: BSD-3-Clause */
/* Points of the figures of ULFM and of global restart, by studies over a range, and trends. */
#include "study/figure_ulfm_sweep.h"

#include "base/assert.h"

#include <math.h>

void rz_ulfm_begin(struct rz_ulfm *figure, const char *x_name, const char *x_heading)
{
    figure->messages_exact = true;
    rz_table_column(figure->table, "curve", "curve", NULL);
    rz_table_column(figure->table, x_name, x_heading, NULL);
    rz_table_column(figure->table, "median_us", "median", "us");
    rz_table_column(figure->table, "least_us", "least", "us");
    rz_table_column(figure->table, "most_us", "most", "us");
}

struct rz_study_options rz_ulfm_options(const struct rz_ulfm *figure)
{
    struct rz_study_options options;
    rz_study_defaults(&options);
    rz_agree_defaults(&options);
    options.seed = figure->options->seed;
    options.trials = 1;
    options.bytes_per_second = UINT64_C(8000000000);
    return options;
}

void rz_ulfm_curve(struct rz_ulfm *figure, struct rz_ulfm_curve *curve)
{
    rz_chart_curve(figure->chart, curve->label, RZ_CHART_LINES_POINTS);
}

static void add(struct rz_ulfm *figure, struct rz_ulfm_curve *curve, double x, double y,
                double least, double most)
{
    rz_assert(curve->n < RZ_ULFM_POINTS_MAX);
    curve->x[curve->n] = x;
    curve->y[curve->n++] = y;
    rz_table_row(figure->table);
    rz_table_text(figure->table, "%s", curve->label);
    rz_table_number(figure->table, x);
    rz_table_number(figure->table, y);
    rz_table_number(figure->table, least);
    rz_table_number(figure->table, most);
    if (most > least) {
        rz_chart_point_spread(figure->chart, x, y, least, most);
    } else {
        rz_chart_point(figure->chart, x, y);
    }
}

void rz_ulfm_add(struct rz_ulfm *figure, double x, double y, struct rz_ulfm_curve *curve)
{
    add(figure, curve, x, y, y, y);
}

/* All members decided, and the same; records whether the number of messages is that of the formula.
 */
static bool all_agree(struct rz_ulfm *figure, const struct rz_table *table)
{
    bool good = true;
    for (uint32_t i = 0; i < rz_table_rows(table); i++) {
        double formula = rz_table_at(table, i, "formula");
        double undecided = rz_table_at(table, i, "undecided");
        double disagreeing = rz_table_at(table, i, "disagreeing");
        if (!isnan(formula) && formula != rz_table_at(table, i, "messages")) {
            figure->messages_exact = false;
        }
        good = good && !(undecided > 0) && !(disagreeing > 0);
    }
    return good;
}

bool rz_ulfm_measure(struct rz_ulfm *figure, const char *name,
                     const struct rz_study_options *options, const char *column,
                     struct rz_table_spread *spread)
{
    const struct rz_study *study = rz_study_find(name);
    struct rz_table *table = rz_table_create(name);
    struct rz_chart *unseen = rz_chart_create(name, "", ""); /* some studies always draw */
    rz_assert(study);
    bool done = study->run(options, table, unseen, figure->why);
    if (done) {
        *spread = rz_table_spread(table, column);
        done = all_agree(figure, table);
        if (!done) {
            *figure->why = "a run did not end in agreement";
        }
    }
    rz_chart_destroy(unseen);
    rz_table_destroy(table);
    return done;
}

bool rz_ulfm_point(struct rz_ulfm *figure, const struct rz_ulfm_column *what,
                   const struct rz_study_options *options, double x, struct rz_ulfm_curve *curve)
{
    struct rz_table_spread spread;
    if (!rz_ulfm_measure(figure, what->study, options, what->column, &spread)) {
        return false;
    }
    add(figure, curve, x, spread.median * what->scale, spread.least * what->scale,
        spread.most * what->scale);
    return true;
}

struct rz_ulfm_fit rz_ulfm_fit(const struct rz_ulfm_curve *curve, bool logarithmic)
{
    double n = curve->n, sx = 0, sy = 0, sxx = 0, sxy = 0, rest = 0, all = 0;
    for (uint32_t i = 0; i < curve->n; i++) {
        double x = logarithmic ? log2(curve->x[i]) : curve->x[i];
        sx += x, sy += curve->y[i], sxx += x * x, sxy += x * curve->y[i];
    }
    struct rz_ulfm_fit fit = {.a = (n * sxy - sx * sy) / (n * sxx - sx * sx)};
    fit.b = (sy - fit.a * sx) / n;
    for (uint32_t i = 0; i < curve->n; i++) {
        double x = logarithmic ? log2(curve->x[i]) : curve->x[i];
        double off = curve->y[i] - fit.a * x - fit.b, from_mean = curve->y[i] - sy / n;
        rest += off * off;
        all += from_mean * from_mean;
    }
    fit.r2 = all > 0 ? 1 - rest / all : 0;
    return fit;
}

uint64_t rz_ulfm_largest(const struct rz_ulfm *figure, uint64_t full)
{
    uint64_t largest = full;
    while (largest > 1024 && (double)largest > (double)full * figure->options->effort) {
        largest /= 2;
    }
    return largest;
}

enum rz_figure_verdict rz_ulfm_verdict(bool agrees)
{
    return agrees ? RZ_FIGURE_AGREES : RZ_FIGURE_DIFFERS;
}
