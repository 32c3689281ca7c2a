/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of measurements: tables (text, CSV) and charts (gnuplot writes SVG or PNG). The maker
 * of a table or chart knows its subject, this component does not.
 *
 * Tables and charts own copies of all their input. Memory: malloc; running out of it ends the
 * program, which is a tool.
 */
#ifndef RZ_CHART_CHART_H
#define RZ_CHART_CHART_H

#include <rhizome/types.h>

#include <stdio.h>

/* ---- tables ---- */

struct rz_table;

struct rz_table *rz_table_create(const char *title);
void rz_table_destroy(struct rz_table *table);

/* Columns first: name for CSV ("detect_ms"), heading for readers ("detection"), unit ("ms" or
 * NULL). */
void rz_table_column(struct rz_table *table, const char *name, const char *heading,
                     const char *unit);

/* Then rows, cell by cell from the left; NAN is shown as "-". */
void rz_table_row(struct rz_table *table);
void rz_table_number(struct rz_table *table, double value);
__attribute__((format(printf, 2, 3))) void rz_table_text(struct rz_table *table, const char *format,
                                                         ...);

uint32_t rz_table_rows(const struct rz_table *table);
/* The number in a cell; NAN when it is text or missing. */
double rz_table_at(const struct rz_table *table, uint32_t row, const char *column);
/* The table's own copy of the text in a cell, or NULL. */
const char *rz_table_text_at(const struct rz_table *table, uint32_t row, const char *column);

/* Median, least and most of a column of numbers, NAN left out. n == 0: all NAN. */
struct rz_table_spread {
    uint32_t n;
    double median, least, most, mean;
};
struct rz_table_spread rz_table_spread(const struct rz_table *table, const char *column);

/* A table with a row for each column of numbers but one, by name: n, median, least and most. */
struct rz_table *rz_table_summary(const struct rz_table *table, const char *title, const char *but);

void rz_table_print(const struct rz_table *table, FILE *out);    /* aligned text */
void rz_table_markdown(const struct rz_table *table, FILE *out); /* for docs */
/* The rows from `first` on, without `end`; a column that is the same in all of them stands above.
 */
void rz_table_markdown_rows(const struct rz_table *table, const char *title, uint32_t first,
                            uint32_t end, FILE *out);
/* One row as a list: a line for each column, for wide tables. */
void rz_table_print_row(const struct rz_table *table, uint32_t row, FILE *out);
/* NAN is an empty cell; every other number reads back as it was. False: *why. */
bool rz_table_write_csv(const struct rz_table *table, const char *path, const char **why);
/* Reads a file that rz_table_write_csv wrote: all cells are text, headings are the columns' names.
 * The caller destroys the table. NULL: *why, which is strerror's text or constant. */
struct rz_table *rz_table_read_csv(const char *path, const char **why);

/* ---- charts ---- */

struct rz_chart;

enum rz_chart_scale { RZ_CHART_LINEAR, RZ_CHART_LOG2, RZ_CHART_LOG10 };
enum rz_chart_style {
    RZ_CHART_LINES,
    RZ_CHART_POINTS,
    RZ_CHART_LINES_POINTS,
    RZ_CHART_STEPS,
    RZ_CHART_BARS,
    RZ_CHART_DASHED, /* a trend or a bound, not a measurement */
    RZ_CHART_STATED  /* a value that the paper states: hollow marks, distinguished in the key */
};

struct rz_chart *rz_chart_create(const char *title, const char *x_label, const char *y_label);
void rz_chart_destroy(struct rz_chart *chart);
/* Other labels for the current panel; NULL: unchanged. */
void rz_chart_labels(struct rz_chart *chart, const char *title, const char *x_label,
                     const char *y_label);
/* On a logarithmic axis values that are not above 0 are left out. */
void rz_chart_scales(struct rz_chart *chart, enum rz_chart_scale x, enum rz_chart_scale y);
/* The ends of an axis; NAN: from the data. */
void rz_chart_range_x(struct rz_chart *chart, double low, double high);
void rz_chart_range_y(struct rz_chart *chart, double low, double high);

/* A new curve; points follow. */
void rz_chart_curve(struct rz_chart *chart, const char *label, enum rz_chart_style style);
void rz_chart_point(struct rz_chart *chart, double x, double y);
/* A point with its spread, drawn as an error bar. */
void rz_chart_point_spread(struct rz_chart *chart, double x, double y, double low, double high);

/* Several charts in one file, stacked: begins the next panel, replacing a first one that has no
 * curves. A panel without points is drawn as an empty frame. */
void rz_chart_panel(struct rz_chart *chart, const char *title, const char *x_label,
                    const char *y_label);

/* The format of a path's ending: "svg", "png" or "pdf"; NULL: none that can be drawn. */
const char *rz_chart_kind(const char *path);

/* Draws by gnuplot in the format of path's ending (.svg, .png, .pdf). False: *why, valid until the
 * next call of this component. */
bool rz_chart_draw(const struct rz_chart *chart, const char *path, const char **why);

#endif
