/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the figures of Katti et al.: trials that several figures share, and means over them. */
#ifndef RZ_STUDY_FIGURE_KATTI_RUNS_H
#define RZ_STUDY_FIGURE_KATTI_RUNS_H

#include "study/figure.h"
#include "study/study_gossip_run.h"

#define RZ_KATTI_PPM 1000 /* tolerance of 0.1 % */

/* The runs of a case. */
struct rz_katti_case {
    uint64_t n;
    enum rz_gossip_kind kind;
    uint32_t kills;
    uint32_t ppm;
    uint32_t loss_ppm;
    bool during; /* each member fails at its own date in the run, otherwise all before it */
    bool told;   /* each failure is reported to one member, silence reports none */
    bool model;
};

/* Before the first trial of a figure: frees those of figures drawn from another seed, because those
 * of many seeds fill gigabytes. */
void rz_katti_begin(const struct rz_figure_options *options);

/* The same case and seed give the same trial, which is run once and owned by this file; it is kept
 * until a figure begins with another seed. */
const struct rz_gossip_trial *rz_katti_trial(const struct rz_katti_case *what, uint64_t seed);

/* Over some trials: when the last process reached a stage, in those trials in which all did; NAN if
 * there are none. */
struct rz_katti_point {
    uint32_t trials;
    double first, last, least, most; /* means of the first and last; least and most of the last */
    double traffic;                  /* bytes sent per process and cycle */
    double disagreeing;              /* calls that disagree, per process */
    double failure_reports;          /* false ones, per process and cycle */
};
struct rz_katti_point rz_katti_point(const struct rz_katti_case *what, uint32_t stage,
                                     uint64_t seed, uint32_t trials);

/* y = base + slope * x by least squares; fit: the fraction of the variance that it explains. */
struct rz_katti_line {
    double base, slope, fit;
};
struct rz_katti_line rz_katti_line(const double *x, const double *y, uint32_t n);

/* Of powers of two up to 2^most: the largest one whose cost, which grows with the power-th power of
 * the size, fits the effort; 2^least at least. */
uint32_t rz_katti_largest(const struct rz_figure_options *options, uint32_t least, uint32_t most,
                          uint32_t power);
/* Trials of a figure: those asked for, or its own; with little effort a quarter of them. */
uint32_t rz_katti_trials(const struct rz_figure_options *options, uint32_t usual);

/* high: INFINITY for none. */
struct rz_katti_range {
    double low, high;
};
/* An expectation that is a number: agrees within the bounds, which the row states. */
void rz_katti_assess(struct rz_figure_report *report, const char *what, const char *stated,
                     double measured, struct rz_katti_range range, const char *reason);

/* The figures of each file. */
typedef bool rz_katti_draw(const struct rz_figure_options *options, struct rz_table *table,
                           struct rz_chart *chart, struct rz_figure_report *report,
                           const char **why);
rz_katti_draw rz_katti_draw_5, rz_katti_draw_6, rz_katti_draw_7, rz_katti_draw_8, rz_katti_draw_9;
rz_katti_draw rz_katti_draw_10, rz_katti_draw_11;
rz_katti_draw rz_katti_draw_12, rz_katti_draw_13, rz_katti_draw_14, rz_katti_draw_15;
rz_katti_draw rz_katti_draw_loss;

#endif
