/* Samples, and how they are shown: median [smallest..largest], never a mean. */
#include "cmd/rzbench_interval.h"

#include "base/assert.h"
#include "chart/chart.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_TEXT_MAX = 128 };

void rz_bench_say(struct rz_bench *bench, const char *format, ...)
{
    FILE *outs[2] = {stdout, bench->report_file};
    for (int i = 0; i < 2; i++) {
        va_list list;
        if (!outs[i])
            continue;
        va_start(list, format);
        vfprintf(outs[i], format, list);
        va_end(list);
        fflush(outs[i]);
    }
}

static unsigned place(char (*names)[RZ_BENCH_NAME_MAX], unsigned *n, unsigned max, const char *name)
{
    for (unsigned i = 0; i < *n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    rz_assert(*n < max && strlen(name) < RZ_BENCH_NAME_MAX);
    snprintf(names[*n], RZ_BENCH_NAME_MAX, "%s", name);
    return (*n)++;
}

struct rz_bench_samples *rz_bench_cell(struct rz_bench_table *table, const char *row,
                                       const char *column)
{
    unsigned r = place(table->rows, &table->n_rows, RZ_BENCH_ROWS_MAX, row);
    unsigned c = place(table->columns, &table->n_columns, RZ_BENCH_COLUMNS_MAX, column);
    return &table->cells[r][c];
}

void rz_bench_put(struct rz_bench_samples *samples, unsigned repetition, double value)
{
    rz_assert(repetition < RZ_BENCH_REPETITIONS_MAX);
    while (samples->n <= repetition)
        samples->value[samples->n++] = NAN;
    samples->value[repetition] = value;
}

void rz_bench_put_over(struct rz_bench_samples *samples, unsigned repetition, double limit_s)
{
    rz_bench_put(samples, repetition, INFINITY);
    samples->limit_s = limit_s;
}

bool rz_bench_is_over(const struct rz_bench_samples *samples)
{
    return samples->limit_s > 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct rz_bench_summary rz_bench_summarise(const struct rz_bench_samples *samples)
{
    double sorted[RZ_BENCH_REPETITIONS_MAX];
    struct rz_bench_summary summary = {0};
    for (unsigned i = 0; i < samples->n; i++)
        if (!isnan(samples->value[i]))
            sorted[summary.n++] = samples->value[i];
    if (summary.n == 0)
        return summary;
    qsort(sorted, summary.n, sizeof *sorted, by_value);
    summary.median = (sorted[(summary.n - 1) / 2] + sorted[summary.n / 2]) / 2;
    summary.min = sorted[0];
    summary.max = sorted[summary.n - 1];
    return summary;
}

void rz_bench_number_text(double value, char *out, size_t bytes)
{
    double size = fabs(value);
    int decimals = size == 0     ? 0
                   : size < 0.01 ? 5
                   : size < 1    ? 3
                   : size < 10   ? 2
                   : size < 100  ? 1
                                 : 0;
    snprintf(out, bytes, "%.*f", decimals, value);
}

void rz_bench_summary_text(const struct rz_bench_summary *s, char *out, size_t bytes)
{
    char median[32], min[32], max[32];
    rz_bench_number_text(s->median, median, sizeof median);
    rz_bench_number_text(s->min, min, sizeof min);
    rz_bench_number_text(s->max, max, sizeof max);
    if (s->n == 0)
        snprintf(out, bytes, "-");
    else if (s->n == 1)
        snprintf(out, bytes, "%s", median);
    else
        snprintf(out, bytes, "%s [%s..%s]", median, min, max);
}

static void cell_text(const struct rz_bench_samples *samples, bool intervals, unsigned n_usual,
                      char *out, size_t bytes)
{
    struct rz_bench_summary summary = rz_bench_summarise(samples);
    struct rz_bench_interval interval = rz_bench_interval(samples);
    if (rz_bench_is_over(samples)) {
        snprintf(out, bytes, "run > %.0f s", samples->limit_s);
        return;
    }
    if (intervals)
        rz_bench_interval_text(&interval, out, bytes);
    else
        rz_bench_summary_text(&summary, out, bytes);
    size_t used = strlen(out);
    if (summary.n > 0 && summary.n != n_usual)
        snprintf(out + used, bytes - used, " (n=%u)", summary.n);
}

struct rz_bench_summary rz_bench_ratio(const struct rz_bench_samples *a,
                                       const struct rz_bench_samples *b)
{
    struct rz_bench_samples ratios = {0};
    for (unsigned i = 0; i < a->n && i < b->n; i++)
        if (isfinite(a->value[i]) && isfinite(b->value[i]) && b->value[i] > 0)
            rz_bench_put(&ratios, i, a->value[i] / b->value[i]);
    return rz_bench_summarise(&ratios);
}

static void ratio_text(const struct rz_bench_samples *a, const struct rz_bench_samples *b,
                       char *out, size_t bytes)
{
    struct rz_bench_summary summary = rz_bench_ratio(a, b);
    rz_bench_summary_text(&summary, out, bytes);
}

static void show_head(struct rz_bench *bench, const struct rz_bench_table *table)
{
    rz_bench_say(bench, "\n### %s\n\n| %s |", table->title, table->rows_are);
    for (unsigned c = 0; c < table->n_columns; c++)
        rz_bench_say(bench, " %s |", table->columns[c]);
    for (unsigned c = 1; table->ratios && c < table->n_columns; c++)
        rz_bench_say(bench, " %s / %s |", table->columns[0], table->columns[c]);
    rz_bench_say(bench, " n |\n|---|---|");
    unsigned more = table->n_columns + (table->ratios ? table->n_columns - 1 : 0);
    for (unsigned c = 0; c < more; c++)
        rz_bench_say(bench, "---|");
    rz_bench_say(bench, "\n");
}

static void show_row(struct rz_bench *bench, const struct rz_bench_table *table, unsigned r)
{
    const struct rz_bench_samples *cells = table->cells[r];
    unsigned n = rz_bench_summarise(&cells[0]).n;
    char text[CELL_TEXT_MAX];
    rz_bench_say(bench, "| %s |", table->rows[r]);
    for (unsigned c = 0; c < table->n_columns; c++) {
        cell_text(&cells[c], table->intervals, n, text, sizeof text);
        rz_bench_say(bench, " %s |", text);
    }
    for (unsigned c = 1; table->ratios && c < table->n_columns; c++) {
        ratio_text(&cells[0], &cells[c], text, sizeof text);
        rz_bench_say(bench, " %s |", text);
    }
    rz_bench_say(bench, " %u |\n", n);
}

static void write_csv(struct rz_bench *bench, const struct rz_bench_table *table)
{
    for (unsigned r = 0; r < table->n_rows; r++)
        for (unsigned c = 0; c < table->n_columns; c++)
            for (unsigned i = 0; i < table->cells[r][c].n; i++)
                if (!isnan(table->cells[r][c].value[i]))
                    fprintf(bench->csv_file, "%s,\"%s\",\"%s\",%u,%.9g\n", table->name,
                            table->rows[r], table->columns[c], i + 1, table->cells[r][c].value[i]);
    fflush(bench->csv_file);
}

/* FILE itself for the table that has the study's name, else the table's name before the ending. */
static void plot_name(const struct rz_bench *bench, const struct rz_bench_table *table, char *out,
                      size_t bytes)
{
    const char *slash = strrchr(bench->plot, '/'), *dot = strrchr(slash ? slash : bench->plot, '.');
    int stem = dot ? (int)(dot - bench->plot) : (int)strlen(bench->plot);
    if (strcmp(table->name, bench->study) == 0)
        snprintf(out, bytes, "%s", bench->plot);
    else
        snprintf(out, bytes, "%.*s-%s%s", stem, bench->plot, table->name, dot ? dot : "");
}

static double x_of(const struct rz_bench_table *table, unsigned r)
{
    return table->axis == RZ_BENCH_AXIS_NAMES ? r : strtod(table->rows[r], NULL);
}

struct rz_bench_trend rz_bench_trend(const struct rz_bench_table *table, unsigned column,
                                     bool log2_of_x)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    for (unsigned r = 0; r < table->n_rows; r++) {
        struct rz_bench_summary s = rz_bench_summarise(&table->cells[r][column]);
        double number = strtod(table->rows[r], NULL);
        double x = log2_of_x ? log2(number) : number, y = s.median;
        if (s.n == 0 || !isfinite(x) || !isfinite(y))
            continue;
        n++, sx += x, sy += y;
        sxx += x * x, sxy += x * y, syy += y * y;
    }
    double xx = sxx - sx * sx / n, xy = sxy - sx * sy / n, yy = syy - sy * sy / n;
    if (!(n >= 2) || !(xx > 0))
        return (struct rz_bench_trend){0};
    return (struct rz_bench_trend){.n = (unsigned)n,
                                   .a = xy / xx,
                                   .b = (sy - xy / xx * sx) / n,
                                   .r2 = yy > 0 ? xy * xy / (xx * yy) : 1};
}

static void plot_trend(struct rz_chart *chart, const struct rz_bench_table *table, unsigned c)
{
    struct rz_bench_trend trend = rz_bench_trend(table, c, true);
    char label[96];
    if (trend.n < 2)
        return;
    snprintf(label, sizeof label, "%.3g log2(%s) %+.3g", trend.a, table->rows_are, trend.b);
    rz_chart_curve(chart, label, RZ_CHART_DASHED);
    for (unsigned r = 0; r < table->n_rows; r++)
        if (rz_bench_summarise(&table->cells[r][c]).n > 0)
            rz_chart_point(chart, x_of(table, r), trend.a * log2(x_of(table, r)) + trend.b);
}

static void plot_column(struct rz_chart *chart, const struct rz_bench_table *table, unsigned c)
{
    rz_chart_curve(chart, table->columns[c],
                   table->trends ? RZ_CHART_POINTS : RZ_CHART_LINES_POINTS);
    for (unsigned r = 0; r < table->n_rows; r++) {
        struct rz_bench_summary s = rz_bench_summarise(&table->cells[r][c]);
        struct rz_bench_interval i = rz_bench_interval(&table->cells[r][c]);
        if (table->intervals && i.n > 1) {
            s.min = i.mean - i.half;
            s.max = i.mean + i.half;
            if (table->log_scale && s.min <= 0)
                s.min = s.median; /* a logarithmic axis has no room for it */
        }
        if (s.n > 0 && isfinite(s.max))
            rz_chart_point_spread(chart, x_of(table, r), s.median, s.min, s.max);
    }
    if (table->trends)
        plot_trend(chart, table, c);
}

static void plot(const struct rz_bench *bench, const struct rz_bench_table *table)
{
    char name[PATH_MAX];
    const char *why = "";
    plot_name(bench, table, name, sizeof name);
    struct rz_chart *chart = rz_chart_create(table->title, table->rows_are, table->unit);
    rz_chart_scales(chart, table->axis == RZ_BENCH_AXIS_LOG2 ? RZ_CHART_LOG2 : RZ_CHART_LINEAR,
                    table->log_scale ? RZ_CHART_LOG10 : RZ_CHART_LINEAR);
    if (!table->log_scale && !table->below_zero)
        rz_chart_range_y(chart, 0, NAN);
    if (table->axis == RZ_BENCH_AXIS_NAMES)
        rz_chart_range_x(chart, -0.5, table->n_rows - 0.5);
    for (unsigned r = 0; table->axis == RZ_BENCH_AXIS_NAMES && r < table->n_rows; r++)
        rz_chart_tick(chart, r, table->rows[r]);
    for (unsigned c = 0; c < table->n_columns; c++)
        plot_column(chart, table, c);
    if (!rz_chart_draw(chart, name, &why))
        fprintf(stderr, "rzbench: no plot %s: %s\n", name, why);
    rz_chart_destroy(chart);
}

void rz_bench_table_show(struct rz_bench *bench, const struct rz_bench_table *table)
{
    if (table->n_rows == 0 || table->n_columns == 0)
        return;
    show_head(bench, table);
    for (unsigned r = 0; r < table->n_rows; r++)
        show_row(bench, table, r);
    bench->tables++;
    if (bench->csv_file)
        write_csv(bench, table);
    if (bench->plot && table->plot)
        plot(bench, table);
}
