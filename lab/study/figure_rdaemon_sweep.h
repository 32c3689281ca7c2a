/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the figures of RDaemon#: points measured by studies, and trend lines. */
#ifndef RZ_STUDY_FIGURE_RDAEMON_SWEEP_H
#define RZ_STUDY_FIGURE_RDAEMON_SWEEP_H

#include "study/figure.h"
#include "study/study.h"

#define RZ_RDAEMON_POINTS_MAX 64

struct rz_rdaemon {
    const struct rz_figure_options *options;
    struct rz_table *table;
    struct rz_chart *chart;
    struct rz_figure_report *report;
    const char **why;
    uint32_t trials;
    const char *curve;
};

/* Means over the trials, and the bounds of all of them, in the order of the points. */
struct rz_rdaemon_points {
    uint32_t n;
    double x[RZ_RDAEMON_POINTS_MAX];
    struct rz_table_spread y[RZ_RDAEMON_POINTS_MAX];
};

/* The axis of x in the table; unit NULL: none. */
struct rz_rdaemon_axis {
    const char *column, *heading, *unit;
};
/* The figure's columns. */
struct rz_rdaemon rz_rdaemon_begin(const struct rz_figure_options *options, struct rz_table *table,
                                   struct rz_chart *chart, struct rz_figure_report *report,
                                   const char **why, const struct rz_rdaemon_axis *x);

/* Options of runs on the network of a cluster seen through sockets (rz_study_defaults). */
struct rz_study_options rz_rdaemon_options(const struct rz_rdaemon *figure);

void rz_rdaemon_curve(struct rz_rdaemon *figure, const char *label);
/* Marks without a line, for a curve that lies on another one. */
void rz_rdaemon_marks(struct rz_rdaemon *figure, const char *label);
/* One more point of the current curve: the study's trials with these options, column measured.
 * False: *why, also if a trial had no result. */
bool rz_rdaemon_point(struct rz_rdaemon *figure, const char *study,
                      const struct rz_study_options *options, const char *column, double x,
                      struct rz_rdaemon_points *points);

/* Least and most of all trials of all points; least and most of the points' means. */
struct rz_rdaemon_ends {
    double least, most, mean_least, mean_most;
};
struct rz_rdaemon_ends rz_rdaemon_ends(const struct rz_rdaemon_points *points);

/* y = a * x + b, or a * log2(x) + b, by least squares over the means; r2: the fraction of the
 * variance that it explains. */
struct rz_rdaemon_fit {
    double a, b, r2;
};
struct rz_rdaemon_fit rz_rdaemon_fit(const struct rz_rdaemon_points *points, bool log2_of_x);
/* The trend over the points' x; what: "nodes". */
void rz_rdaemon_draw_fit(struct rz_rdaemon *figure, const struct rz_rdaemon_points *points,
                         struct rz_rdaemon_fit fit, bool log2_of_x, const char *what);

/* A bound or stated level, from x = low to high. */
void rz_rdaemon_level(struct rz_rdaemon *figure, const char *label, double low, double high,
                      double y);

static inline enum rz_figure_verdict rz_rdaemon_verdict(bool agrees)
{
    return agrees ? RZ_FIGURE_AGREES : RZ_FIGURE_DIFFERS;
}

/* ---- figure_rdaemon_process.c ---- */

bool rz_rdaemon_draw_11(const struct rz_figure_options *options, struct rz_table *table,
                        struct rz_chart *chart, struct rz_figure_report *report, const char **why);
bool rz_rdaemon_draw_12(const struct rz_figure_options *options, struct rz_table *table,
                        struct rz_chart *chart, struct rz_figure_report *report, const char **why);

#endif
