/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDaemon# (Zhong, Bouteiller, Luo, Bosilca, EuroMPI 2019), figures 9 to 15. A node's failure is
 * detected by the ring of daemons, and reported to all; the timeout is twice the period. 30 trials
 * per point, as in the paper. Flat, called ULFM: a ring of all processes.
 */
#include "study/figure_rdaemon_sweep.h"

#include <math.h>
#include <stdio.h>

#define SOURCE "Zhong et al., EuroMPI 2019 (RDaemon#), figure "
#define NO_SWIM "this program was built without the study swim"

/* Of 64 nodes with 12 processes each; T = 2 P. */
static struct rz_study_options ring_options(const struct rz_rdaemon *figure, rz_time period)
{
    struct rz_study_options options = rz_rdaemon_options(figure);
    options.members = 64;
    options.per_node = 12;
    options.hb_period = period;
    options.hb_timeout = 2 * period;
    return options;
}

/* SWIM with memberlist's parameters, scaled to this probe interval. */
static struct rz_study_options swim_options(const struct rz_rdaemon *figure, rz_time period)
{
    struct rz_study_options options = rz_rdaemon_options(figure);
    const struct rz_study *swim = rz_study_find("swim");
    if (swim->defaults) {
        swim->defaults(&options);
    }
    options.members = 256;
    options.kill = 1;
    options.cycle = period;
    return options;
}

static double ms(rz_time time)
{
    return (double)time / (double)RZ_MILLISECOND;
}

/* ---- figure 9: number of processes ---- */

/* When a member is first declared failed: memberlist reports this to its user. */
static bool swim_over_members(struct rz_rdaemon *figure, rz_time period)
{
    static const uint32_t members[] = {8, 16, 32, 64, 96, 128, 192, 256};
    struct rz_rdaemon_points points = {0};
    if (!rz_study_find("swim")) {
        rz_figure_assess(figure->report, RZ_FIGURE_NOT_COMPARABLE, "SWIM", "grows linearly",
                         NO_SWIM, "nothing");
        return true;
    }
    struct rz_study_options options = swim_options(figure, period);
    rz_rdaemon_curve(figure, "SWIM");
    for (uint32_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        options.members = members[i];
        if (!rz_rdaemon_point(figure, "swim", &options, "declared_ms", members[i], &points)) {
            return false;
        }
    }
    struct rz_rdaemon_fit line = rz_rdaemon_fit(&points, false);
    struct rz_rdaemon_fit logarithm = rz_rdaemon_fit(&points, true);
    bool linear = line.a > 0 && line.r2 > 0.9 && line.r2 > logarithm.r2;
    rz_rdaemon_draw_fit(figure, &points, logarithm, true, "members");
    rz_figure_assess(figure->report, rz_rdaemon_verdict(linear), "SWIM over members",
                     "grows linearly",
                     linear ? NULL
                            : "the suspicion timeout grows with the logarithm of the members, and "
                              "the time until a probe hardly; what grew linearly there is not "
                              "in the protocol",
                     "%.0f ms at 8, %.0f ms at 256; R2 = %.3f linear, %.3f logarithmic",
                     points.y[0].mean, points.y[points.n - 1].mean, line.r2, logarithm.r2);
    return true;
}

static bool draw_9(const struct rz_figure_options *options, struct rz_table *table,
                   struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    static const uint32_t per_node[] = {1, 2, 3, 4, 6, 8, 10, 12};
    const rz_time period = 500 * RZ_MILLISECOND;
    struct rz_rdaemon figure =
        rz_rdaemon_begin(options, table, chart, report, why,
                         &(struct rz_rdaemon_axis){"processes", "processes", NULL});
    struct rz_rdaemon_points points = {0};
    rz_chart_labels(chart, NULL, "processes (SWIM: members)", "detection (ms)");
    rz_rdaemon_curve(&figure, "RDaemon#, 64 nodes");
    for (uint32_t i = 0; i < sizeof(per_node) / sizeof(*per_node); i++) {
        struct rz_study_options ring = ring_options(&figure, period);
        ring.per_node = per_node[i];
        if (!rz_rdaemon_point(&figure, "ring", &ring, "detect_first_ms", 64.0 * per_node[i],
                              &points)) {
            return false;
        }
    }
    rz_rdaemon_level(&figure, "the timeout", 0, 768, 1000);
    struct rz_rdaemon_ends ends = rz_rdaemon_ends(&points);
    bool below = ends.most <= 1000.1;
    rz_figure_assess(report, rz_rdaemon_verdict(below), "RDaemon#: every trial",
                     "below the timeout, 1,000 ms", below ? NULL : "late", "%.1f to %.1f ms",
                     ends.least, ends.most);
    bool flat = ends.mean_most - ends.mean_least < 50;
    rz_figure_assess(report, rz_rdaemon_verdict(flat), "RDaemon# over processes", "flat",
                     flat ? NULL : "the mean moves", "means from %.1f to %.1f ms", ends.mean_least,
                     ends.mean_most);
    return swim_over_members(&figure, period);
}

/* ---- figures 10 and 13: heartbeat period ---- */

static const uint32_t periods_ms[] = {30, 50, 100, 200, 300, 400, 500};
#define N_PERIODS (sizeof(periods_ms) / sizeof(*periods_ms))

static bool ring_over_periods(struct rz_rdaemon *figure, const char *column,
                              struct rz_rdaemon_points *points)
{
    for (uint32_t i = 0; i < N_PERIODS; i++) {
        struct rz_study_options options = ring_options(figure, periods_ms[i] * RZ_MILLISECOND);
        options.victims = RZ_STUDY_VICTIMS_RANDOM;
        options.kill = 1;
        if (!rz_rdaemon_point(figure, "ring", &options, column, periods_ms[i], points)) {
            return false;
        }
    }
    return true;
}

/* Whether all trials of all points are between the period and the timeout, plus one transfer (at
 * most T + tau). */
static bool within(const struct rz_rdaemon_points *points, double *least, double *most)
{
    *least = INFINITY, *most = 0;
    for (uint32_t i = 0; i < points->n; i++) {
        *least = fmin(*least, points->y[i].least / points->x[i]);
        *most = fmax(*most, (points->y[i].most - 0.5) / points->x[i]);
    }
    return *least > 1 && *most <= 2;
}

static void draw_bounds(struct rz_rdaemon *figure)
{
    rz_chart_curve(figure->chart, "the period", RZ_CHART_DASHED);
    for (uint32_t i = 0; i < N_PERIODS; i++) {
        rz_chart_point(figure->chart, periods_ms[i], periods_ms[i]);
    }
    rz_chart_curve(figure->chart, "the timeout", RZ_CHART_DASHED);
    for (uint32_t i = 0; i < N_PERIODS; i++) {
        rz_chart_point(figure->chart, periods_ms[i], 2 * periods_ms[i]);
    }
}

static void assess_within(struct rz_rdaemon *figure, const char *what,
                          const struct rz_rdaemon_points *points)
{
    double least, most;
    bool inside = within(points, &least, &most);
    rz_figure_assess(figure->report, rz_rdaemon_verdict(inside), what,
                     "between the period and the timeout", inside ? NULL : "a trial lies outside",
                     "%.3f to %.3f periods", least, most);
}

static bool swim_over_periods(struct rz_rdaemon *figure)
{
    struct rz_rdaemon_points points = {0};
    if (!rz_study_find("swim")) {
        rz_figure_assess(figure->report, RZ_FIGURE_NOT_COMPARABLE, "SWIM", "more than 10 periods",
                         NO_SWIM, "nothing");
        return true;
    }
    rz_rdaemon_curve(figure, "SWIM, 256 members");
    for (uint32_t i = 0; i < N_PERIODS; i++) {
        struct rz_study_options options = swim_options(figure, periods_ms[i] * RZ_MILLISECOND);
        if (!rz_rdaemon_point(figure, "swim", &options, "declared_ms", periods_ms[i], &points)) {
            return false;
        }
    }
    double least = INFINITY;
    for (uint32_t i = 0; i < points.n; i++) {
        least = fmin(least, points.y[i].mean / points.x[i]);
    }
    rz_figure_assess(figure->report, rz_rdaemon_verdict(least > 10), "SWIM, 256 members (means)",
                     "more than 10 periods",
                     least > 10 ? NULL : "the parameters of the source are not known",
                     "at least %.1f periods", least);
    return true;
}

static bool draw_10(const struct rz_figure_options *options, struct rz_table *table,
                    struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    struct rz_rdaemon figure =
        rz_rdaemon_begin(options, table, chart, report, why,
                         &(struct rz_rdaemon_axis){"period_ms", "heartbeat period", "ms"});
    struct rz_rdaemon_points seen = {0}, known = {0};
    rz_chart_labels(chart, NULL, "heartbeat period (ms)", "latency (ms)");
    rz_chart_scales(chart, RZ_CHART_LINEAR, RZ_CHART_LOG10);
    rz_rdaemon_curve(&figure, "RDaemon#: detection");
    if (!ring_over_periods(&figure, "detect_first_ms", &seen)) {
        return false;
    }
    rz_rdaemon_marks(&figure, "RDaemon#: last notification");
    if (!ring_over_periods(&figure, "known_ms", &known)) {
        return false;
    }
    draw_bounds(&figure);
    assess_within(&figure, "RDaemon#: detection", &seen);
    double gap = 0;
    for (uint32_t i = 0; i < seen.n; i++) {
        gap = fmax(gap, known.y[i].mean - seen.y[i].mean);
    }
    rz_figure_assess(report, rz_rdaemon_verdict(gap < 5), "from detection to the last notification",
                     "right after", gap < 5 ? NULL : "slow", "%.3f ms at most (means)", gap);
    return swim_over_periods(&figure);
}

/* The source's ULFM: a flat ring of all processes, the 12 of the failed node next to each other. */
static bool ulfm_node(struct rz_rdaemon *figure)
{
    struct rz_rdaemon_points node = {0};
    double least, most;
    rz_rdaemon_curve(figure, "ULFM: a node of 12 processes");
    for (uint32_t i = 0; i < N_PERIODS; i++) {
        struct rz_study_options options = ring_options(figure, periods_ms[i] * RZ_MILLISECOND);
        options.flat = true;
        options.kill = options.per_node;
        options.victims = RZ_STUDY_VICTIMS_RACK;
        if (!rz_rdaemon_point(figure, "ring", &options, "known_ms", periods_ms[i], &node)) {
            return false;
        }
    }
    bool inside = within(&node, &least, &most);
    rz_figure_assess(figure->report, rz_rdaemon_verdict(inside),
                     "ULFM: a node whose 12 processes are neighbours in the ring",
                     "between the period and the timeout",
                     inside
                         ? NULL
                         : "a flat ring finds neighbours one by one, after 2k - 1 timeouts; what "
                           "else told ULFM's processes of a lost node there is not in the "
                           "algorithm",
                     "%.3f to %.3f periods", least, most);
    return true;
}

static bool draw_13(const struct rz_figure_options *options, struct rz_table *table,
                    struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    struct rz_rdaemon figure =
        rz_rdaemon_begin(options, table, chart, report, why,
                         &(struct rz_rdaemon_axis){"period_ms", "heartbeat period", "ms"});
    struct rz_rdaemon_points daemons = {0};
    rz_chart_labels(chart, NULL, "heartbeat period (ms)", "latency (ms)");
    rz_chart_scales(chart, RZ_CHART_LINEAR, RZ_CHART_LOG10);
    rz_rdaemon_curve(&figure, "RDaemon#: a node");
    if (!ring_over_periods(&figure, "known_ms", &daemons)) {
        return false;
    }
    assess_within(&figure, "RDaemon#: until all know", &daemons);
    if (!ulfm_node(&figure)) {
        return false;
    }
    draw_bounds(&figure);
    return true;
}

/* ---- figure 14: number of nodes ---- */

static bool draw_14(const struct rz_figure_options *options, struct rz_table *table,
                    struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    const rz_time period = 500 * RZ_MILLISECOND;
    struct rz_rdaemon figure = rz_rdaemon_begin(options, table, chart, report, why,
                                                &(struct rz_rdaemon_axis){"nodes", "nodes", NULL});
    struct rz_rdaemon_points points = {0};
    rz_chart_labels(chart, NULL, "nodes", "detection and propagation (ms)");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LINEAR);
    rz_chart_range_y(chart, 0, 1200);
    rz_rdaemon_curve(&figure, "RDaemon#: until all know");
    for (uint32_t nodes = 4; nodes <= 64; nodes *= 2) {
        struct rz_study_options ring = ring_options(&figure, period);
        ring.members = nodes;
        if (!rz_rdaemon_point(&figure, "ring", &ring, "known_ms", nodes, &points)) {
            return false;
        }
    }
    rz_rdaemon_level(&figure, "the period", 4, 64, ms(period));
    rz_rdaemon_level(&figure, "the timeout", 4, 64, ms(2 * period));
    struct rz_rdaemon_ends ends = rz_rdaemon_ends(&points);
    bool inside = ends.least > 500 && ends.most < 1000.5;
    rz_figure_assess(report, rz_rdaemon_verdict(inside), "every trial, 4 to 64 nodes",
                     "always between 500 and 1,000 ms", inside ? NULL : "a trial lies outside",
                     "%.1f to %.1f ms", ends.least, ends.most);
    return true;
}

/* ---- figure 15: several nodes at once ---- */

static bool over_failures(struct rz_rdaemon *figure, const char *label, uint32_t nodes,
                          enum rz_study_victims victims, struct rz_rdaemon_points *points)
{
    rz_rdaemon_curve(figure, label);
    for (uint32_t k = 1; k <= 8; k++) {
        struct rz_study_options options = ring_options(figure, 500 * RZ_MILLISECOND);
        options.members = nodes;
        options.kill = k;
        options.victims = victims;
        if (!rz_rdaemon_point(figure, "ring", &options, "known_ms", k, points)) {
            return false;
        }
    }
    return true;
}

/* The additional time of random failures, compared with one, relative to that of neighbours. */
static void assess_random(struct rz_rdaemon *figure, const char *what, const char *reason,
                          const struct rz_rdaemon_points *row,
                          const struct rz_rdaemon_points *random)
{
    const struct rz_table_spread *last = &random->y[random->n - 1];
    double first = random->y[0].mean;
    double share = (last->mean - first) / (row->y[row->n - 1].mean - first);
    bool flat = share < 0.05;
    rz_figure_assess(
        figure->report, rz_rdaemon_verdict(flat), what,
        "nearly flat: a marginal increase (accepted: below 5 % of what neighbours take more)",
        flat ? NULL : reason,
        "from %.0f ms for one to %.0f ms for eight: %.1f %% of what neighbours take "
        "more",
        first, last->mean, 100 * share);
}

static bool draw_15(const struct rz_figure_options *options, struct rz_table *table,
                    struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    struct rz_rdaemon figure =
        rz_rdaemon_begin(options, table, chart, report, why,
                         &(struct rz_rdaemon_axis){"failures", "nodes that fail at once", NULL});
    struct rz_rdaemon_points row = {0}, random = {0}, sparse = {0};
    rz_chart_labels(chart, NULL, "nodes that fail at once", "until all know (ms)");
    if (!over_failures(&figure, "neighbours", 64, RZ_STUDY_VICTIMS_CONTIGUOUS, &row) ||
        !over_failures(&figure, "drawn from 64", 64, RZ_STUDY_VICTIMS_RANDOM, &random) ||
        !over_failures(&figure, "drawn from 1,024", 1024, RZ_STUDY_VICTIMS_RANDOM, &sparse)) {
        return false;
    }
    struct rz_rdaemon_fit line = rz_rdaemon_fit(&row, false);
    rz_rdaemon_draw_fit(&figure, &row, line, false, "failures");
    rz_figure_assess(report, rz_rdaemon_verdict(line.r2 > 0.999), "neighbours", "linear",
                     line.r2 > 0.999 ? NULL : "not a line",
                     "%.0f ms for each further one (twice the timeout: 2,000), R2 = %.5f", line.a,
                     line.r2);
    assess_random(
        &figure, "drawn at random from 64 nodes",
        "of eight drawn from 64, two are often neighbours, which costs two timeouts more; "
        "how many nodes the source drew from is not stated",
        &row, &random);
    assess_random(&figure, "drawn at random from 1,024 nodes", "neighbours are still met", &row,
                  &sparse);
    return true;
}

/* ---- the list ---- */

const struct rz_figure rz_rdaemon_figures[] = {
    {"rdaemon-9", "detection latency over the number of processes", SOURCE "9",
     "RDaemon# flat and below the timeout of 1 s up to 768 processes on 64 nodes; SWIM grows "
     "linearly up to 256 members",
     1, draw_9},
    {"rdaemon-10", "detection and last notification over the heartbeat period", SOURCE "10",
     "RDaemon# between period and timeout, the last notification right after; SWIM above 10 "
     "periods",
     2, draw_10},
    {"rdaemon-11", "propagation of a process failure over nodes", SOURCE "11",
     "RDaemon# below 5 ms with the logarithm of nodes; ULFM 2 to 3 ms with that of processes", 1,
     rz_rdaemon_draw_11},
    {"rdaemon-12", "propagation of a process failure at scale", SOURCE "12",
     "about 10 ms at 4,096 processes (32 per node); logarithmic in nodes", 1, rz_rdaemon_draw_12},
    {"rdaemon-13", "node failure over the heartbeat period", SOURCE "13",
     "every point between period and timeout, for RDaemon# and ULFM; 64 nodes", 4, draw_13},
    {"rdaemon-14", "node failure over the number of nodes", SOURCE "14",
     "detection and propagation always between 0.5 and 1 s (period 0.5 s)", 1, draw_14},
    {"rdaemon-15", "several nodes fail at once", SOURCE "15",
     "neighbours: linear; drawn at random: nearly flat", 8, draw_15},
};
const size_t rz_rdaemon_figures_count = sizeof(rz_rdaemon_figures) / sizeof(*rz_rdaemon_figures);
