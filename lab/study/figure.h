/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures: each redraws one figure of a source from runs made here, marks the statements of the
 * source, and assesses agreement row by row. A file figure_SOURCE.c defines const struct rz_figure
 * rz_SOURCE_figures[] and rz_SOURCE_figures_count; the build finds it by its name.
 */
#ifndef RZ_STUDY_FIGURE_H
#define RZ_STUDY_FIGURE_H

#include "chart/chart.h"

#include <rhizome/types.h>

enum rz_figure_verdict { RZ_FIGURE_AGREES, RZ_FIGURE_DIFFERS, RZ_FIGURE_NOT_COMPARABLE };

struct rz_figure_report; /* rows of agreement: see rz_figure_assess */

#define RZ_FIGURE_SEED_STEP 1000 /* more than a figure has trials: each takes the next seed */

struct rz_figure_options {
    uint64_t seed; /* of the first trial; further seeds of a figure are RZ_FIGURE_SEED_STEP apart */
    uint32_t trials; /* per point; 0: the figure's own */
    double effort;   /* 1: in full; below: fewer points and smaller sizes, in proportion to time */
    bool progress;
};

struct rz_figure {
    const char *name;   /* "katti-12" */
    const char *title;  /* its name in the source */
    const char *source; /* "Katti et al. 2018, figure 12" */
    const char *stated; /* the statement of the source, in our words */
    double seconds;     /* about how long it takes in full on two processors */
    /* Measures: fills table (all points) and chart (the source's axes, by rz_chart_labels: it comes
     * with the source as its title and no other words), and assesses. False: *why. */
    bool (*draw)(const struct rz_figure_options *options, struct rz_table *table,
                 struct rz_chart *chart, struct rz_figure_report *report, const char **why);
};

const struct rz_figure *rz_figure_find(const char *name);
const struct rz_figure *rz_figure_at(size_t i);

/* One row of agreement: the quantity, the statement of the source, in its meaning and with the
 * accepted tolerance if its words leave one, the measured value (text), and the reason if it
 * differs (otherwise NULL). If the source does not state it, stated begins with "not stated", and
 * the row counts as an expectation of this project. */
void rz_figure_assess(struct rz_figure_report *report, enum rz_figure_verdict verdict,
                      const char *what, const char *stated, const char *reason,
                      const char *measured_format, ...) __attribute__((format(printf, 6, 7)));

/* Draws one figure into folder: NAME.svg, NAME.csv; appends its rows to the report. False: *why. */
bool rz_figure_make(const struct rz_figure *figure, const struct rz_figure_options *options,
                    const char *folder, struct rz_figure_report *report, const char **why);

/* Assesses a figure that was made with another seed, which is in options (effort as before): its
 * rows count the seeds that agree, and their result is that of the majority, unless the 95 %
 * interval of their share includes one half: such a row depends on the seed. Nothing is drawn.
 * False: *why. */
bool rz_figure_assess_again(const struct rz_figure *figure, const struct rz_figure_options *options,
                            struct rz_figure_report *report, const char **why);

/* Takes over the seeds that an earlier run assessed and wrote by rz_figure_report_csv, of figures
 * made in this report with the same effort: those that have all rows of the figure and were not
 * assessed here. Returns their number, counted for each figure; -1: *why, it is not such a file. */
long rz_figure_report_resume(struct rz_figure_report *report, const char *path, const char **why);
/* Whether a figure was assessed with a seed, here or in a run that was taken over. */
bool rz_figure_report_has(const struct rz_figure_report *report, const struct rz_figure *figure,
                          uint64_t seed);

/* Records that a figure was not made, and why. */
void rz_figure_leave_out(struct rz_figure_report *report, const struct rz_figure *figure,
                         const char *why);

struct rz_figure_report *rz_figure_report_create(void);
void rz_figure_report_destroy(struct rz_figure_report *report);
/* Puts the figures made so far in the order of the list. */
void rz_figure_report_sort(struct rz_figure_report *report);
/* The table of agreement of all figures made, as Markdown. */
void rz_figure_report_markdown(const struct rz_figure_report *report, FILE *out);
/* The same rows for a terminal, below what the source states. */
void rz_figure_report_print(const struct rz_figure_report *report, FILE *out);
/* Each row in each seed, as CSV. False: *why. */
bool rz_figure_report_csv(const struct rz_figure_report *report, const char *path,
                          const char **why);
/* The number of rows that differ from their source; the number of figures that could not be drawn.
 */
uint32_t rz_figure_report_differences(const struct rz_figure_report *report);
uint32_t rz_figure_report_failures(const struct rz_figure_report *report);
/* The duration of the last figure. */
double rz_figure_report_seconds(const struct rz_figure_report *report);

#endif
