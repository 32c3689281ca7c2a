/* SPDX-License-Identifier: BSD-3-Clause */
/* The internals of tables and charts, for the files of this component. */
#ifndef RZ_CHART_CHART_STATE_H
#define RZ_CHART_CHART_STATE_H

#include "chart/chart.h"
#include "port/outfile.h"

/* ---- memory (chart_memory.c): running out of it ends the program ---- */

/* realloc of n things. */
void *rz_chart_memory(void *old, size_t n, size_t bytes);
/* A copy of text; NULL: of "". */
char *rz_chart_copy(const char *text);

/* Sets *why to a text that lives until the next one of this thread. Returns false. */
__attribute__((format(printf, 2, 3))) bool rz_chart_say(const char **why, const char *format, ...);

/* ---- tables ---- */

struct rz_table_cell {
    double number;
    char *text; /* NULL: it is the number */
};

struct rz_table_column {
    char *name, *heading, *unit; /* unit: "" where there is none */
};

struct rz_table {
    char *title;
    struct rz_table_column *columns;
    struct rz_table_cell *cells; /* rows one after the other */
    uint32_t n_columns, n_rows;
    uint32_t filled; /* cells of the last row */
};

const struct rz_table_cell *rz_table_cell(const struct rz_table *table, uint32_t row,
                                          uint32_t column);

/* ---- charts ---- */

struct rz_chart_dot {
    double x, y, low, high; /* low is NAN: no spread */
};

struct rz_chart_line {
    char *label;
    enum rz_chart_style style;
    struct rz_chart_dot *dots;
    uint32_t n_dots;
};

struct rz_chart_panel {
    char *title, *x_label, *y_label;
    enum rz_chart_scale x_scale, y_scale;
    double x_low, x_high, y_low, y_high;
    struct rz_chart_line *lines;
    uint32_t n_lines;
};

struct rz_chart {
    struct rz_chart_panel *panels;
    uint32_t n_panels;
};

/* Writes gnuplot's input. Its drawing, of kind "svg", "png" or "pdf", is written to its standard
 * output. */
void rz_chart_script(const struct rz_chart *chart, const char *kind, FILE *out);

/* Runs gnuplot: it reads script and writes into drawing. False: *why. */
bool rz_gnuplot(FILE *script, FILE *drawing, const char **why);

#endif
