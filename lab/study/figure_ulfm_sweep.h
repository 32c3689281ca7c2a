/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the figures of ULFM and of global restart: points of a curve from runs of a study, and
 * trends through them. */
#ifndef RZ_STUDY_FIGURE_ULFM_SWEEP_H
#define RZ_STUDY_FIGURE_ULFM_SWEEP_H

#include "study/figure.h"
#include "study/study.h"
#include "study/study_agree_run.h"

#define RZ_ULFM_POINTS_MAX 32

struct rz_ulfm_curve {
    const char *label;
    uint32_t n;
    double x[RZ_ULFM_POINTS_MAX], y[RZ_ULFM_POINTS_MAX];
};

/* A figure in progress. */
struct rz_ulfm {
    const struct rz_figure_options *options;
    struct rz_table *table;
    struct rz_chart *chart;
    struct rz_figure_report *report;
    const char **why;
    bool messages_exact; /* every run without failures had the number of messages of the formula */
};

/* Begins the table: curve, x (as named), median, least and most in microseconds. */
void rz_ulfm_begin(struct rz_ulfm *figure, const char *x_name, const char *x_heading);

/* The options of the figures: the network of study_agree_run.h, 8 GB/s between nodes. */
struct rz_study_options rz_ulfm_options(const struct rz_ulfm *figure);

/* What a study measures: one of its columns, in `scale` microseconds each. */
struct rz_ulfm_column {
    const char *study, *column;
    double scale;
};
/* Runs a study and adds the column to the curve, the table and the chart. False: *why. */
bool rz_ulfm_point(struct rz_ulfm *figure, const struct rz_ulfm_column *what,
                   const struct rz_study_options *options, double x, struct rz_ulfm_curve *curve);
/* The spread of a column over the trials of a study. False: *why. */
bool rz_ulfm_measure(struct rz_ulfm *figure, const char *study,
                     const struct rz_study_options *options, const char *column,
                     struct rz_table_spread *spread);
/* A point that was measured in another way. */
void rz_ulfm_add(struct rz_ulfm *figure, double x, double y, struct rz_ulfm_curve *curve);
/* Begins the curve in the chart. */
void rz_ulfm_curve(struct rz_ulfm *figure, struct rz_ulfm_curve *curve);

/* y = a * x + b, or a * log2 x + b, by least squares; r2 is the share of the variance explained. */
struct rz_ulfm_fit {
    double a, b, r2;
};
struct rz_ulfm_fit rz_ulfm_fit(const struct rz_ulfm_curve *curve, bool logarithmic);

/* The greatest power of two up to `full`, at little effort less, but 2^10 at least. */
uint64_t rz_ulfm_largest(const struct rz_ulfm *figure, uint64_t full);

enum rz_figure_verdict rz_ulfm_verdict(bool agrees);

/* figure_ulfm_revoke.c */
bool rz_ulfm_draw_revoke(const struct rz_figure_options *options, struct rz_table *table,
                         struct rz_chart *chart, struct rz_figure_report *report, const char **why);

/* figure_ulfm_recovery.c */
bool rz_ulfm_draw_recovery(const struct rz_figure_options *options, struct rz_table *table,
                           struct rz_chart *chart, struct rz_figure_report *report,
                           const char **why);

#endif
