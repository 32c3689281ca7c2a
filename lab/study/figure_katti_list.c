/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures 10 and 11: algorithm 2, the list, and its bandwidth compared with algorithm 1. */
#include "study/figure_katti_runs.h"

#include <math.h>

#define SIZES_LEAST 4 /* powers of two */
#define SIZES_MOST 11

static struct rz_katti_case case_of(uint32_t power, enum rz_gossip_kind kind)
{
    return (struct rz_katti_case){
        .n = UINT64_C(1) << power, .kind = kind, .kills = 1, .ppm = RZ_KATTI_PPM};
}

bool rz_katti_draw_10(const struct rz_figure_options *options, struct rz_table *table,
                      struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    (void)why;
    rz_katti_begin(options);
    double x[SIZES_MOST + 1], y[SIZES_MOST + 1], spread = 0, disagreeing = 0;
    uint32_t n = 0;
    rz_chart_labels(chart, "One failure before the run", "system size (processes)",
                    "cycles to consensus");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LINEAR);
    rz_chart_range_y(chart, 0, NAN);
    rz_table_column(table, "processes", "processes", NULL);
    rz_table_column(table, "trials", "trials", NULL);
    rz_table_column(table, "cycles_first", "first consensus (mean)", "cycles");
    rz_table_column(table, "cycles_last", "last consensus (mean)", "cycles");
    rz_chart_curve(chart, "all processes have consensus", RZ_CHART_LINES_POINTS);
    for (uint32_t power = SIZES_LEAST; power <= SIZES_MOST; power++) {
        struct rz_katti_case what = case_of(power, RZ_GOSSIP_LIST);
        struct rz_katti_point point =
            rz_katti_point(&what, 1, options->seed, rz_katti_trials(options, 20));
        x[n] = power;
        y[n++] = point.last;
        spread = fmax(spread, point.most - point.first);
        disagreeing += point.disagreeing;
        rz_chart_point_spread(chart, (double)what.n, point.last, point.first, point.most);
        rz_table_row(table);
        rz_table_number(table, (double)what.n);
        rz_table_number(table, point.trials);
        rz_table_number(table, point.first);
        rz_table_number(table, point.last);
    }
    rz_katti_assess(report, "a straight line over log2 of the size explains (share of variance)",
                    "logarithmic growth", rz_katti_line(x, y, n).fit,
                    (struct rz_katti_range){0.99, 1}, NULL);
    rz_katti_assess(report, "cycles between the first and the last process, at most",
                    "0: all in the same cycle", spread, (struct rz_katti_range){0, 0},
                    "a process learnt of the failure after the initial phase");
    rz_katti_assess(report, "calls that disagree", "none observed", disagreeing,
                    (struct rz_katti_range){0, 0}, "the heuristic is one of probability");
    return true;
}

bool rz_katti_draw_11(const struct rz_figure_options *options, struct rz_table *table,
                      struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    (void)why;
    rz_katti_begin(options);
    static const char *const labels[] = {"algorithm 1 (bits)", "algorithm 2"};
    uint32_t largest = rz_katti_largest(options, 7, SIZES_MOST, 3);
    double traffic[2] = {0, 0};
    rz_chart_labels(chart, "What each process sends", "system size (processes)",
                    "bytes per process and cycle");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LOG10);
    rz_table_column(table, "processes", "processes", NULL);
    rz_table_column(table, "algorithm", "algorithm", NULL);
    rz_table_column(table, "bytes", "sent per process and cycle", "B");
    for (uint32_t kind = RZ_GOSSIP_MATRIX; kind <= RZ_GOSSIP_LIST; kind++) {
        rz_chart_curve(chart, labels[kind], RZ_CHART_LINES_POINTS);
        for (uint32_t power = SIZES_LEAST; power <= largest; power++) {
            struct rz_katti_case what = case_of(power, (enum rz_gossip_kind)kind);
            struct rz_katti_point point = rz_katti_point(&what, 1, options->seed, 1);
            traffic[kind] = point.traffic;
            rz_chart_point(chart, (double)what.n, point.traffic);
            rz_table_row(table);
            rz_table_number(table, (double)what.n);
            rz_table_number(table, kind + 1);
            rz_table_number(table, point.traffic);
        }
    }
    rz_chart_curve(chart, "algorithm 1 with a matrix of int, as in the source", RZ_CHART_DASHED);
    for (uint32_t power = SIZES_LEAST; power <= SIZES_MOST; power++) {
        rz_chart_point(chart, (double)(UINT64_C(1) << power), 2 * 4 * pow(4, power));
    }
    rz_katti_assess(report, "algorithm 1 sends so many times as much, at the largest size",
                    "algorithm 2 negligible", traffic[0] / traffic[1],
                    (struct rz_katti_range){20, 1e9}, NULL);
    return true;
}
