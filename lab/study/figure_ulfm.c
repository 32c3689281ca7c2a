/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ULFM: revoke, and ERA compared with its predecessors (Herault and others, SC'15; Bouteiller and
 * others; the ULFM site). The network is assumed (study_agree_run.h): shapes and orders of curves
 * are compared, not microseconds.
 */
#include "study/figure_ulfm_sweep.h"

#include <math.h>
#include <stdio.h>

#define SOURCE "Herault et al., SC'15 (ERA) and the ULFM site, "

/* Published for ERA on a Cray XC30, 16 ranks per node; microseconds are implied, not stated. */
static double published(double ranks)
{
    return 6.7 * log2(ranks) / log2(2.125);
}

static bool tree_curve(struct rz_ulfm *figure, enum rz_study_tree tree, uint64_t largest,
                       struct rz_ulfm_curve *curve)
{
    struct rz_study_options point = rz_ulfm_options(figure);
    point.tree = tree;
    point.operations = 10;
    rz_ulfm_curve(figure, curve);
    for (point.members = 32; point.members <= largest; point.members *= 2) {
        if (!rz_ulfm_point(figure, &(struct rz_ulfm_column){"agree", "each_us", 1}, &point,
                           (double)point.members, curve)) {
            return false;
        }
    }
    return true;
}

static bool twophase_curve(struct rz_ulfm *figure, const char *study, uint64_t largest,
                           struct rz_ulfm_curve *curve)
{
    struct rz_study_options point = rz_ulfm_options(figure);
    point.operations = 3;
    if (largest > RZ_TWOPHASE_MEMBERS_MAX) {
        largest = RZ_TWOPHASE_MEMBERS_MAX;
    }
    rz_ulfm_curve(figure, curve);
    for (point.members = 32; point.members <= largest; point.members *= 2) {
        if (!rz_ulfm_point(figure, &(struct rz_ulfm_column){study, "each_us", 1}, &point,
                           (double)point.members, curve)) {
            return false;
        }
    }
    return true;
}

static void assess_shape(struct rz_ulfm *figure, const struct rz_ulfm_curve *curve,
                         const char *stated, bool logarithmic, const char *reason)
{
    struct rz_ulfm_fit logarithm = rz_ulfm_fit(curve, true), line = rz_ulfm_fit(curve, false);
    bool agrees = logarithmic ? logarithm.r2 > line.r2 && logarithm.r2 > 0.95
                              : line.r2 > logarithm.r2 && line.r2 > 0.95;
    rz_figure_assess(figure->report, rz_ulfm_verdict(agrees), curve->label, stated,
                     agrees ? NULL : reason,
                     "%.2f us per doubling; R2 = %.3f logarithmic, %.3f linear", logarithm.a,
                     logarithm.r2, line.r2);
}

/* ---- ERA and the two-phase commit ---- */

static void assess_era(struct rz_ulfm *figure, const struct rz_ulfm_curve *era,
                       const struct rz_ulfm_curve *twophase, const struct rz_ulfm_curve *scans)
{
    uint32_t last = scans->n - 1;
    assess_shape(figure, era, "logarithmic: 6.7 log_2.125(x), 6.16 us per doubling", true,
                 "the curve bends");
    struct rz_ulfm_fit fit = rz_ulfm_fit(era, true);
    rz_figure_assess(figure->report, RZ_FIGURE_NOT_COMPARABLE, "height of ERA's curve",
                     "6.7 log_2.125(x) us on a Cray XC30",
                     "the network's figures are assumed, and the unit is implied there",
                     "%.2f log_2.125(x) %+.1f us; %.1f us at %.0f ranks, the published one %.1f us",
                     fit.a * log2(2.125), fit.b, era->y[last], era->x[last],
                     published(era->x[last]));
    assess_shape(figure, scans, "linear in practice: linear local computations dominate", false,
                 "at these sizes the network dominates 1 ns per member");
    assess_shape(figure, twophase, "logarithmic in theory", true,
                 "bitmaps of n bits weigh more than the steps");
    bool below = era->y[last] < scans->y[last] && era->y[last] < twophase->y[last];
    rz_figure_assess(figure->report, rz_ulfm_verdict(below), "ERA against Log2phases, at scale",
                     "ERA is far below", below ? NULL : "it is not",
                     "%.1f us against %.1f us with scans of 1 ns per rank (assumed) and %.1f us "
                     "without, at %.0f ranks",
                     era->y[last], scans->y[last], twophase->y[last], era->x[last]);
    rz_figure_assess(figure->report, rz_ulfm_verdict(figure->messages_exact),
                     "messages without failures", "2 (n - 1)",
                     figure->messages_exact ? NULL : "more or fewer", "%s in every run",
                     figure->messages_exact ? "2 (n - 1)" : "not 2 (n - 1)");
}

static bool draw_era(const struct rz_figure_options *options, struct rz_table *table,
                     struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    struct rz_ulfm figure = {options, table, chart, report, why, true};
    struct rz_ulfm_curve flat = {.label = "ERA, flat"}, star = {.label = "ERA, bin/star"},
                         bin = {.label = "ERA, bin/bin"},
                         twophase = {.label = "Log2phases, no scans"},
                         scans = {.label = "Log2phases with scans (1 ns per rank, assumed)"};
    uint64_t largest = rz_ulfm_largest(&figure, 1 << 16);
    rz_ulfm_begin(&figure, "ranks", "ranks");
    rz_chart_labels(chart, NULL, "ranks", "agreement (us)");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LOG10);
    if (!tree_curve(&figure, RZ_STUDY_TREE_BINARY, largest, &flat) ||
        !tree_curve(&figure, RZ_STUDY_TREE_BIN_STAR, largest, &star) ||
        !tree_curve(&figure, RZ_STUDY_TREE_BIN_BIN, largest, &bin) ||
        !twophase_curve(&figure, "twophase", largest, &twophase) ||
        !twophase_curve(&figure, "twophase-scans", largest, &scans)) {
        return false;
    }
    rz_chart_curve(chart, "stated: 6.7 log_2.125(x)", RZ_CHART_DASHED);
    for (uint32_t i = 0; i < bin.n; i++) {
        rz_chart_point(chart, bin.x[i], published(bin.x[i]));
    }
    assess_era(&figure, &bin, &twophase, &scans);
    return true;
}

/* ---- trees ---- */

/* The time of an optimized allreduce on this network: recursive doubling between the nodes, a tree
 * up and down within them. Computed, not run. */
static double allreduce(const struct rz_study_options *options, double ranks)
{
    double hop = (double)(options->latency + options->send_overhead + options->receive_overhead);
    double local = (double)options->latency_local +
                   0.4 * (double)(options->send_overhead + options->receive_overhead);
    double nodes = ranks / options->per_node;
    return (log2(nodes) * hop + 2 * log2(options->per_node) * local) / RZ_MICROSECOND;
}

static bool draw_topology(const struct rz_figure_options *options, struct rz_table *table,
                          struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    struct rz_ulfm figure = {options, table, chart, report, why, true};
    struct rz_ulfm_curve flat = {.label = "flat binary"}, star = {.label = "bin/star"},
                         bin = {.label = "bin/bin"};
    uint64_t largest = rz_ulfm_largest(&figure, 1 << 16);
    struct rz_study_options network = rz_ulfm_options(&figure);
    rz_ulfm_begin(&figure, "ranks", "ranks");
    rz_chart_labels(chart, NULL, "ranks, 16 per node", "agreement (us)");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LINEAR);
    if (!tree_curve(&figure, RZ_STUDY_TREE_BINARY, largest, &flat) ||
        !tree_curve(&figure, RZ_STUDY_TREE_BIN_STAR, largest, &star) ||
        !tree_curve(&figure, RZ_STUDY_TREE_BIN_BIN, largest, &bin)) {
        return false;
    }
    rz_chart_curve(chart, "an optimised allreduce, computed", RZ_CHART_DASHED);
    for (uint32_t i = 0; i < bin.n; i++) {
        rz_chart_point(chart, bin.x[i], allreduce(&network, bin.x[i]));
    }
    uint32_t last = bin.n - 1;
    bool worse = star.y[last] > flat.y[last], best = true;
    uint32_t there = 0; /* the largest size of the source's machine */
    for (uint32_t i = 0; i < bin.n && bin.x[i] <= 8192; i++) {
        best = best && bin.y[i] < flat.y[i] && bin.y[i] < star.y[i];
        there = i;
    }
    double ratio = bin.y[last] / allreduce(&network, bin.x[last]);
    rz_figure_assess(report, rz_ulfm_verdict(worse), "bin/star against flat",
                     "worse: 16 copies one after the other at each node's first rank",
                     worse ? NULL : "copies within a node are too cheap here",
                     "%.1f us against %.1f us at %.0f ranks", star.y[last], flat.y[last],
                     bin.x[last]);
    rz_figure_assess(report, rz_ulfm_verdict(best),
                     "bin/bin against the others, as many ranks as there", "the best of the three",
                     best ? NULL : "it is not at every size",
                     "%.1f us against %.1f us (bin/star %.1f us) at %.0f ranks, %s at all sizes "
                     "below",
                     bin.y[there], flat.y[there], star.y[there], bin.x[there],
                     best ? "lower than both" : "not lower");
    if (last > there) {
        rz_figure_assess(
            report, RZ_FIGURE_NOT_COMPARABLE, "bin/bin against flat, more ranks",
            "not measured there",
            "each level of bin/bin costs a little more: four children, near ones first",
            "%.1f us against %.1f us at %.0f ranks", bin.y[last], flat.y[last], bin.x[last]);
    }
    bool twice = ratio > 1.5 && ratio < 2.8;
    rz_figure_assess(report, rz_ulfm_verdict(twice), "bin/bin against an optimised allreduce",
                     "about twice: up and down do not overlap", twice ? NULL : "it is not",
                     "%.2f times at %.0f ranks, the allreduce computed", ratio, bin.x[last]);
    rz_figure_assess(report, RZ_FIGURE_NOT_COMPARABLE, "flat against Open MPI's allreduce",
                     "about the same, both blind to nodes", "no MPI library runs here",
                     "flat: %.1f us at %.0f ranks", flat.y[last], bin.x[last]);
    return true;
}

/* ---- shrink ---- */

static bool shrink_curve(struct rz_ulfm *figure, const char *study, uint32_t nodes_max,
                         struct rz_ulfm_curve *curve)
{
    struct rz_study_options point = rz_ulfm_options(figure);
    point.members = 4096;
    point.trials = figure->options->trials > 0 ? figure->options->trials : 3;
    point.victims = RZ_STUDY_VICTIMS_RACK;
    point.detector_lag = 10 * RZ_MICROSECOND;
    rz_ulfm_curve(figure, curve);
    for (uint32_t nodes = 1; nodes <= nodes_max; nodes *= 2) {
        point.kill = nodes * point.per_node;
        if (!rz_ulfm_point(figure, &(struct rz_ulfm_column){study, "decided_ms", 1000}, &point,
                           point.kill, curve)) {
            return false;
        }
    }
    return true;
}

static bool draw_shrink(const struct rz_figure_options *options, struct rz_table *table,
                        struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    struct rz_ulfm figure = {options, table, chart, report, why, true};
    struct rz_ulfm_curve era = {.label = "by ERA"},
                         scans = {.label = "by Log2phases with scans (1 ns per rank, assumed)"};
    uint32_t nodes_max = options->effort >= 1 ? 64 : options->effort >= 0.3 ? 16 : 4;
    rz_ulfm_begin(&figure, "failed", "failed ranks");
    rz_chart_labels(chart, NULL, "failed ranks, of 4096 (16 per node)", "shrink (us)");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LINEAR);
    rz_chart_range_y(chart, 0, NAN);
    if (!shrink_curve(&figure, "shrink", nodes_max, &era) ||
        !shrink_curve(&figure, "shrink-twophase", nodes_max, &scans)) {
        return false;
    }
    uint32_t last = era.n - 1, lower = 0;
    for (uint32_t i = 0; i < era.n; i++) {
        lower += era.y[i] < scans.y[i];
    }
    rz_figure_assess(report, rz_ulfm_verdict(lower == era.n), "ERA against Log2phases",
                     "ERA is lower throughout", lower == era.n ? NULL : "not at every point",
                     "lower at %u of %u points; %.0f us against %.0f us at %.0f failed", lower,
                     era.n, era.y[last], scans.y[last], era.x[last]);
    double growth = era.y[last] / era.y[0];
    rz_figure_assess(report, RZ_FIGURE_NOT_COMPARABLE, "shrink over failures",
                     "measured inside an application (S3D with Fenix), 16 to 1024 cores failed",
                     "here a shrink alone, after news of all failures within 10 us",
                     "%.2f times as long at %.0f failed as at %.0f", growth, era.x[last], era.x[0]);
    return true;
}

const struct rz_figure rz_ulfm_figures[] = {
    {.name = "ulfm-revoke",
     .title = "Revoke, and what it leaves for the next collectives",
     .source = "the ULFM site, revoke on Darter",
     .stated = "the last operation on the revoked communicator takes about a constant time more; "
               "on another one the first operation is moderately slower, the second slightly, the "
               "third not",
     .seconds = 12,
     .draw = rz_ulfm_draw_revoke},
    {.name = "ulfm-era",
     .title = "Agreement over ranks: ERA and Log2phases",
     .source = SOURCE "scalability",
     .stated = "ERA is logarithmic, 6.7 log_2.125(x); Log2phases is linear",
     .seconds = 8,
     .draw = draw_era},
    {.name = "ulfm-topology",
     .title = "ERA on three trees",
     .source = SOURCE "topologies",
     .stated = "bin/bin is best, bin/star is worse than flat, an optimised allreduce takes half",
     .seconds = 5,
     .draw = draw_topology},
    {.name = "ulfm-shrink-failures",
     .title = "Shrink over the number of failures",
     .source = SOURCE "S3D with Fenix",
     .stated = "ERA is lower than Log2phases throughout, for 16 to 1024 failed cores",
     .seconds = 8,
     .draw = draw_shrink},
    {.name = "ulfm-recovery",
     .title = "Recovery of the communicator of a program like MiniFE",
     .source = SOURCE "MiniFE with LFLR",
     .stated = "the communicator's recovery scales with ERA",
     .seconds = 9,
     .draw = rz_ulfm_draw_recovery},
};
const size_t rz_ulfm_figures_count = sizeof(rz_ulfm_figures) / sizeof(*rz_ulfm_figures);
