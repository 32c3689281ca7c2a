/* SPDX-License-Identifier: BSD-3-Clause */
/* A table in memory: columns, cells and summaries; printed by table_show.c. */
#include "chart/chart_state.h"

#include "base/assert.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct rz_table *rz_table_create(const char *title)
{
    struct rz_table *table = rz_chart_memory(NULL, 1, sizeof(*table));
    *table = (struct rz_table){.title = rz_chart_copy(title)};
    return table;
}

void rz_table_destroy(struct rz_table *table)
{
    if (!table) {
        return;
    }
    for (size_t i = 0; i < (size_t)table->n_rows * table->n_columns; i++) {
        free(table->cells[i].text);
    }
    for (uint32_t i = 0; i < table->n_columns; i++) {
        free(table->columns[i].name);
        free(table->columns[i].heading);
        free(table->columns[i].unit);
    }
    free(table->cells);
    free(table->columns);
    free(table->title);
    free(table);
}

void rz_table_column(struct rz_table *table, const char *name, const char *heading,
                     const char *unit)
{
    rz_assert(table->n_rows == 0);
    table->columns = rz_chart_memory(table->columns, table->n_columns + 1, sizeof(*table->columns));
    table->columns[table->n_columns++] =
        (struct rz_table_column){.name = rz_chart_copy(name),
                                 .heading = rz_chart_copy(heading ? heading : name),
                                 .unit = rz_chart_copy(unit)};
}

void rz_table_row(struct rz_table *table)
{
    rz_assert(table->n_columns > 0);
    size_t before = (size_t)table->n_rows * table->n_columns, after = before + table->n_columns;
    table->cells = rz_chart_memory(table->cells, after, sizeof(*table->cells));
    for (size_t i = before; i < after; i++) {
        table->cells[i] = (struct rz_table_cell){.number = NAN};
    }
    table->n_rows++;
    table->filled = 0;
}

static struct rz_table_cell *next_cell(struct rz_table *table)
{
    rz_assert(table->n_rows > 0 && table->filled < table->n_columns);
    return &table->cells[(size_t)(table->n_rows - 1) * table->n_columns + table->filled++];
}

void rz_table_number(struct rz_table *table, double value)
{
    next_cell(table)->number = value;
}

void rz_table_text(struct rz_table *table, const char *format, ...)
{
    struct rz_table_cell *cell = next_cell(table);
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    rz_assert(n >= 0);
    cell->text = rz_chart_memory(NULL, (size_t)n + 1, 1);
    va_start(arguments, format);
    vsnprintf(cell->text, (size_t)n + 1, format, arguments);
    va_end(arguments);
}

uint32_t rz_table_rows(const struct rz_table *table)
{
    return table->n_rows;
}

const struct rz_table_cell *rz_table_cell(const struct rz_table *table, uint32_t row,
                                          uint32_t column)
{
    return &table->cells[(size_t)row * table->n_columns + column];
}

static const struct rz_table_cell *cell_named(const struct rz_table *table, uint32_t row,
                                              const char *column)
{
    for (uint32_t i = 0; i < table->n_columns && row < table->n_rows; i++) {
        if (strcmp(table->columns[i].name, column) == 0) {
            return rz_table_cell(table, row, i);
        }
    }
    return NULL;
}

double rz_table_at(const struct rz_table *table, uint32_t row, const char *column)
{
    const struct rz_table_cell *cell = cell_named(table, row, column);
    return cell && !cell->text ? cell->number : NAN;
}

const char *rz_table_text_at(const struct rz_table *table, uint32_t row, const char *column)
{
    const struct rz_table_cell *cell = cell_named(table, row, column);
    return cell ? cell->text : NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct rz_table_spread rz_table_spread(const struct rz_table *table, const char *column)
{
    struct rz_table_spread spread = {0, NAN, NAN, NAN, NAN};
    double *values = rz_chart_memory(NULL, table->n_rows, sizeof(*values)), sum = 0;
    for (uint32_t row = 0; row < table->n_rows; row++) {
        double value = rz_table_at(table, row, column);
        if (!isnan(value)) {
            values[spread.n++] = value;
        }
    }
    qsort(values, spread.n, sizeof(*values), by_value);
    for (uint32_t i = 0; i < spread.n; i++) {
        sum += values[i];
    }
    if (spread.n > 0) {
        double low = values[(spread.n - 1) / 2], high = values[spread.n / 2];
        spread.median = low == high ? low : low + (high - low) / 2;
        spread.least = values[0];
        spread.most = values[spread.n - 1];
        spread.mean = sum / spread.n;
    }
    free(values);
    return spread;
}

struct rz_table *rz_table_summary(const struct rz_table *table, const char *title, const char *but)
{
    struct rz_table *summary = rz_table_create(title);
    rz_table_column(summary, "column", "what", NULL);
    rz_table_column(summary, "unit", "unit", NULL);
    rz_table_column(summary, "n", "n", NULL);
    rz_table_column(summary, "median", "median", NULL);
    rz_table_column(summary, "least", "least", NULL);
    rz_table_column(summary, "most", "most", NULL);
    for (uint32_t i = 0; i < table->n_columns; i++) {
        struct rz_table_spread spread = rz_table_spread(table, table->columns[i].name);
        if (spread.n == 0 || strcmp(table->columns[i].name, but) == 0) {
            continue;
        }
        rz_table_row(summary);
        rz_table_text(summary, "%s", table->columns[i].heading);
        rz_table_text(summary, "%s", table->columns[i].unit);
        rz_table_number(summary, spread.n);
        rz_table_number(summary, spread.median);
        rz_table_number(summary, spread.least);
        rz_table_number(summary, spread.most);
    }
    return summary;
}
