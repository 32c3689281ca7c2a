/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDaemon#, figures 11 and 12: a process fails; the time until all processes know.
 *
 * As in the paper, daemons communicate over sockets (the network of rz_study_defaults) and ULFM's
 * processes over the fast interconnect (that of the study). The cost of a message in their software
 * is not known: forms can be compared, milliseconds cannot.
 */
#include "study/figure_rdaemon_sweep.h"

#include <math.h>
#include <stdio.h>

/* Nodes 2, 4, ... up to the largest; x is the number of nodes. */
static bool curve(struct rz_rdaemon *figure, const char *label, bool flat, uint32_t per_node,
                  uint32_t nodes_max, struct rz_rdaemon_points *points)
{
    struct rz_study_options options = rz_rdaemon_options(figure);
    if (flat) {
        rz_study_find("process")->defaults(&options);
    }
    options.flat = flat;
    options.per_node = per_node;
    rz_rdaemon_curve(figure, label);
    for (uint32_t nodes = 2; nodes <= nodes_max; nodes *= 2) {
        options.members = nodes;
        if (!rz_rdaemon_point(figure, "process", &options, "known_ms", nodes, points)) {
            return false;
        }
    }
    return true;
}

/* The same points over the number of processes. */
static struct rz_rdaemon_points over_processes(const struct rz_rdaemon_points *one,
                                               const struct rz_rdaemon_points *many,
                                               uint32_t per_node)
{
    struct rz_rdaemon_points all = *one;
    for (uint32_t i = 0; i < many->n; i++) {
        all.x[all.n] = many->x[i] * per_node;
        all.y[all.n++] = many->y[i];
    }
    return all;
}

static void assess_11(struct rz_rdaemon *figure, const struct rz_rdaemon_points *daemons,
                      const struct rz_rdaemon_points *daemons_12,
                      const struct rz_rdaemon_points *ulfm, const struct rz_rdaemon_points *ulfm_12)
{
    struct rz_rdaemon_fit nodes = rz_rdaemon_fit(daemons_12, true);
    struct rz_rdaemon_points processes = over_processes(ulfm, ulfm_12, 12);
    struct rz_rdaemon_fit all = rz_rdaemon_fit(&processes, true);
    uint32_t last = daemons->n - 1;
    double one = daemons->y[last].mean, twelve = daemons_12->y[last].mean;
    rz_figure_assess(figure->report, rz_rdaemon_verdict(nodes.r2 > 0.95),
                     "RDaemon#, 12 processes per node: trend", "a log2(nodes) + b",
                     nodes.r2 > 0.95 ? NULL : "the fit is poor",
                     "%.4f log2(nodes) %+.4f ms, R2 = %.3f", nodes.a, nodes.b, nodes.r2);
    bool alike = fabs(twelve - one) < 0.25 * one;
    rz_figure_assess(figure->report, rz_rdaemon_verdict(alike),
                     "RDaemon#: 12 processes per node against 1", "nodes count, not processes",
                     alike ? NULL : "the star to the processes costs the daemon a send for each",
                     "%.4f ms against %.4f ms at %g nodes", twelve, one, daemons->x[last]);
    rz_figure_assess(figure->report, rz_rdaemon_verdict(all.r2 > 0.9),
                     "ULFM, 1 and 12 processes per node: trend", "a log2(processes) + b",
                     all.r2 > 0.9 ? NULL : "near-first sending grows faster than log2",
                     "%.4f log2(processes) %+.4f ms, R2 = %.3f", all.a, all.b, all.r2);
    double ratio = twelve / ulfm_12->y[last].mean;
    bool as_there = ratio > 1 && ratio < 2.5;
    rz_figure_assess(figure->report, rz_rdaemon_verdict(as_there),
                     "RDaemon# (sockets) against ULFM (fast network), 64 nodes of 12",
                     "below 5 ms against 2 to 3 ms: more, but not 2.5 times",
                     as_there ? NULL
                              : "both networks are assumed; there the runtime's software weighs on "
                                "both forms",
                     "%.2f times as long", ratio);
    rz_figure_assess(figure->report, RZ_FIGURE_NOT_COMPARABLE, "milliseconds",
                     "RDaemon# below 5 ms, ULFM 2 to 3 ms",
                     "there the time is that of the runtime's software; the model has only the "
                     "network's",
                     "%.4f ms and %.4f ms", twelve, ulfm_12->y[last].mean);
}

bool rz_rdaemon_draw_11(const struct rz_figure_options *options, struct rz_table *table,
                        struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    struct rz_rdaemon figure = rz_rdaemon_begin(options, table, chart, report, why,
                                                &(struct rz_rdaemon_axis){"nodes", "nodes", NULL});
    struct rz_rdaemon_points daemons = {0}, daemons_12 = {0}, ulfm = {0}, ulfm_12 = {0};
    rz_chart_labels(chart, NULL, "nodes", "latency (ms)");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LOG10);
    if (!curve(&figure, "RDaemon#, 1 process per node", false, 1, 64, &daemons) ||
        !curve(&figure, "RDaemon#, 12 per node", false, 12, 64, &daemons_12) ||
        !curve(&figure, "ULFM, 1 per node", true, 1, 64, &ulfm) ||
        !curve(&figure, "ULFM, 12 per node", true, 12, 64, &ulfm_12)) {
        return false;
    }
    rz_rdaemon_draw_fit(&figure, &daemons_12, rz_rdaemon_fit(&daemons_12, true), true, "nodes");
    struct rz_rdaemon_points processes = over_processes(&ulfm, &ulfm_12, 12);
    struct rz_rdaemon_fit fit = rz_rdaemon_fit(&processes, true), at_12 = fit;
    at_12.b += fit.a * log2(12); /* drawn over nodes */
    rz_rdaemon_draw_fit(&figure, &ulfm_12, at_12, true, "nodes");
    rz_chart_curve(chart, "stated: RDaemon# below", RZ_CHART_STATED);
    rz_chart_point(chart, 64, 5);
    rz_chart_curve(chart, "stated: ULFM, 2 to 3 ms", RZ_CHART_STATED);
    rz_chart_point(chart, 64, 2);
    rz_chart_point(chart, 64, 3);
    assess_11(&figure, &daemons, &daemons_12, &ulfm, &ulfm_12);
    return true;
}

bool rz_rdaemon_draw_12(const struct rz_figure_options *options, struct rz_table *table,
                        struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    struct rz_rdaemon figure = rz_rdaemon_begin(options, table, chart, report, why,
                                                &(struct rz_rdaemon_axis){"nodes", "nodes", NULL});
    struct rz_rdaemon_points daemons = {0};
    rz_chart_labels(chart, NULL, "nodes of 32 processes", "latency (ms)");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LOG10);
    if (!curve(&figure, "RDaemon#, 32 processes per node", false, 32, 128, &daemons)) {
        return false;
    }
    struct rz_rdaemon_fit fit = rz_rdaemon_fit(&daemons, true);
    double last = daemons.y[daemons.n - 1].mean;
    rz_rdaemon_draw_fit(&figure, &daemons, fit, true, "nodes");
    rz_chart_curve(chart, "stated: 4,096 processes", RZ_CHART_STATED);
    rz_chart_point(chart, 128, 10);
    rz_figure_assess(report, rz_rdaemon_verdict(fit.r2 > 0.95), "trend over nodes",
                     "logarithmic in nodes", fit.r2 > 0.95 ? NULL : "the fit is poor",
                     "%.4f log2(nodes) %+.4f ms, R2 = %.3f", fit.a, fit.b, fit.r2);
    rz_figure_assess(report, RZ_FIGURE_NOT_COMPARABLE, "milliseconds at 4,096 processes",
                     "about 10 ms",
                     "there the time is that of the runtime's software; the model has only the "
                     "network's",
                     "%.4f ms", last);
    return true;
}
