/* SPDX-License-Identifier: BSD-3-Clause */
/* Host by host: its membership in the group over time, and its load. */
#include "study/figure_dgrp.h"

#include <math.h>

#define HOSTS RZ_DGRP_HOSTS
#define BURSTS_HEAVY 30 /* expected in RZ_DGRP_INTERVALS */

/* ---- composition ---- */

static void stretch(const struct rz_dgrp_run *run, rz_id host, uint64_t from, uint64_t to,
                    struct rz_table *table)
{
    rz_table_row(table);
    rz_table_number(table, host);
    rz_table_number(table, (double)from);
    rz_table_number(table, (double)to);
    rz_table_number(table, rz_dgrp_is_in(run, from, host));
}

static void stretches(const struct rz_dgrp_run *run, struct rz_table *table)
{
    rz_table_column(table, "host", "process", NULL);
    rz_table_column(table, "from", "from interval", NULL);
    rz_table_column(table, "to", "to", NULL);
    rz_table_column(table, "recommended", "recommended", NULL);
    for (rz_id host = 0; host < run->n; host++) {
        uint64_t from = 1;
        for (uint64_t i = 2; i <= run->interval; i++) {
            if (rz_dgrp_is_in(run, i, host) != rz_dgrp_is_in(run, from, host)) {
                stretch(run, host, from, i - 1, table);
                from = i;
            }
        }
        stretch(run, host, from, run->interval, table);
    }
}

/* A line while a host is recommended, interrupted while it is not; a mark where it becomes
 * non-recommended: most sections are too short for a line. */
static void lines(const struct rz_table *table, struct rz_chart *chart)
{
    rz_chart_curve(chart, "recommended", RZ_CHART_LINES);
    for (uint32_t row = 0; row < rz_table_rows(table); row++) {
        double host = rz_table_at(table, row, "host");
        if (rz_table_at(table, row, "recommended") == 0) {
            continue;
        }
        rz_chart_point(chart, rz_table_at(table, row, "from"), host);
        rz_chart_point(chart, rz_table_at(table, row, "to"), host);
        rz_chart_point(chart, rz_table_at(table, row, "to"), NAN);
    }
    rz_chart_curve(chart, "put out", RZ_CHART_POINTS);
    for (uint32_t row = 0; row < rz_table_rows(table); row++) {
        if (rz_table_at(table, row, "recommended") == 0) {
            rz_chart_point(chart, rz_table_at(table, row, "from"), rz_table_at(table, row, "host"));
        }
    }
}

/* Removals in intervals in which one process alone is removed, and the most that are removed in
 * one. */
static void count_removals(const struct rz_dgrp_run *run, uint64_t *single, uint32_t *most)
{
    *single = *most = 0;
    for (uint64_t i = 2; i <= run->interval; i++) {
        uint32_t gone = 0;
        for (rz_id host = 0; host < run->n; host++) {
            gone += rz_dgrp_is_in(run, i - 1, host) && !rz_dgrp_is_in(run, i, host);
        }
        *single += gone == 1;
        *most = gone > *most ? gone : *most;
    }
}

bool rz_dgrp_draw_composition(const struct rz_figure_options *options, struct rz_table *table,
                              struct rz_chart *chart, struct rz_figure_report *report,
                              const char **why)
{
    const struct rz_dgrp_run *run = rz_dgrp_monitoring(options);
    uint64_t single;
    uint32_t most;
    (void)why;
    stretches(run, table);
    rz_chart_labels(chart, "members of the group", "interval", "process");
    rz_chart_range_y(chart, -1, HOSTS);
    lines(table, chart);
    count_removals(run, &single, &most);
    bool agrees = single > 0 && most > HOSTS / 2;
    bool few = run->interval < RZ_DGRP_INTERVALS;
    rz_figure_assess(
        report, agrees ? RZ_FIGURE_AGREES : (few ? RZ_FIGURE_NOT_COMPARABLE : RZ_FIGURE_DIFFERS),
        "how processes leave (load made for it)", "single removals, and falls of most at once",
        agrees ? NULL : rz_dgrp_load_differs, "%llu times one alone; up to %u in one interval",
        (unsigned long long)single, most);
    return true;
}

/* ---- table 3 ---- */

static const char *load_class(const struct rz_dgrp_host *host)
{
    if (host->tester_noise > 0) {
        return "none; a noisy tester";
    }
    return host->bursts >= BURSTS_HEAVY ? "heavy" : host->bursts > 0 ? "light" : "none";
}

static double share_in(const struct rz_dgrp_run *run, rz_id host)
{
    uint64_t in = 0;
    for (uint64_t i = 1; i <= run->interval; i++) {
        in += rz_dgrp_is_in(run, i, host);
    }
    return 100.0 * (double)in / (double)run->interval;
}

static void hosts_table(const struct rz_dgrp_run *run, struct rz_table *table)
{
    rz_table_column(table, "host", "process", NULL);
    rz_table_column(table, "load", "load", NULL);
    rz_table_column(table, "bursts", "bursts expected in 30,000 intervals", NULL);
    rz_table_column(table, "recommended", "recommended", "% of intervals");
    rz_table_column(table, "removals", "removals", NULL);
    rz_table_column(table, "at_end", "at the end", NULL);
    for (rz_id host = 0; host < run->n; host++) {
        rz_table_row(table);
        rz_table_number(table, host);
        rz_table_text(table, "%s", load_class(&run->hosts[host]));
        rz_table_number(table, run->hosts[host].bursts);
        rz_table_number(table, share_in(run, host));
        rz_table_number(table, run->removed[host]);
        rz_table_text(table, "%s", rz_dgrp_is_in(run, run->interval, host) ? "recommended" : "out");
    }
}

bool rz_dgrp_draw_table3(const struct rz_figure_options *options, struct rz_table *table,
                         struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    const struct rz_dgrp_run *run = rz_dgrp_monitoring(options);
    double heavy_most = 0, other_least = 100;
    uint32_t at_end = 0;
    (void)why;
    hosts_table(run, table);
    rz_chart_labels(chart, "share of the time in the group, by host", "process",
                    "recommended (% of intervals)");
    rz_chart_curve(chart, "under heavy load", RZ_CHART_BARS);
    for (rz_id host = 0; host < run->n; host++) {
        if (run->hosts[host].bursts >= BURSTS_HEAVY) {
            rz_chart_point(chart, host, share_in(run, host));
        }
    }
    rz_chart_curve(chart, "others", RZ_CHART_BARS);
    for (rz_id host = 0; host < run->n; host++) {
        double share = share_in(run, host);
        at_end += rz_dgrp_is_in(run, run->interval, host);
        if (run->hosts[host].bursts >= BURSTS_HEAVY) {
            heavy_most = fmax(heavy_most, share);
            continue;
        }
        other_least = fmin(other_least, share);
        rz_chart_point(chart, host, share);
    }
    rz_chart_range_x(chart, -1, HOSTS);
    rz_chart_range_y(chart, floor(fmin(heavy_most, other_least)) - 3, 100);
    bool agrees = heavy_most < other_least;
    bool few = run->interval < RZ_DGRP_INTERVALS;
    rz_figure_assess(
        report, agrees ? RZ_FIGURE_AGREES : (few ? RZ_FIGURE_NOT_COMPARABLE : RZ_FIGURE_DIFFERS),
        "load of the hosts beside their state (load made for it)",
        "those often non-recommended ran on loaded hosts", agrees ? NULL : rz_dgrp_load_differs,
        "under heavy load at most %.2f %% of the time in, the others at least %.2f %%; "
        "%u of %u in at the end",
        heavy_most, other_least, at_end, HOSTS);
    return true;
}
