/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The waiting time of a program like MiniFE when one process failed and a spare replaces it: the
 * revoke reaches all, the survivors shrink, and two collectives assign the ranks (an allgather and
 * a split; counted as agreements without failures, which communicate like an allreduce). The parts
 * are measured one by one and added: none begins before the one before has ended everywhere.
 * `rzbench ulfm program` measures the same on real processes.
 */
#include "study/figure_ulfm_sweep.h"

#include <math.h>
#include <stdio.h>

enum { COLLECTIVES = 2 };

/* One process has failed, and all others learn it ten microseconds later. */
static struct rz_study_options with_a_failure(const struct rz_study_options *point)
{
    struct rz_study_options options = *point;
    options.kill = 1;
    options.trials = 3;
    options.detector_lag = 10 * RZ_MICROSECOND;
    return options;
}

/* Revoke and collectives, which are the same for any shrink. */
static bool rest_us(struct rz_ulfm *figure, const struct rz_study_options *point, double *us)
{
    struct rz_study_options revoke = *point, collective = *point;
    struct rz_table_spread revoked, each;
    revoke.payload = 1;
    collective.operations = 10;
    if (!rz_ulfm_measure(figure, "revoke", &revoke, "known_ms", &revoked) ||
        !rz_ulfm_measure(figure, "agree", &collective, "each_us", &each)) {
        return false;
    }
    *us = revoked.median * 1000 + COLLECTIVES * each.median;
    return true;
}

static bool rests_us(struct rz_ulfm *figure, uint64_t largest, double rests[RZ_ULFM_POINTS_MAX])
{
    struct rz_study_options point = rz_ulfm_options(figure);
    uint32_t n = 0;
    for (point.members = 32; point.members <= largest; point.members *= 2) {
        if (!rest_us(figure, &point, &rests[n++])) {
            return false;
        }
    }
    return true;
}

static bool recovery_curve(struct rz_ulfm *figure, const char *study, uint64_t largest,
                           const double *rests, struct rz_ulfm_curve *curve)
{
    struct rz_study_options point = rz_ulfm_options(figure);
    rz_ulfm_curve(figure, curve);
    for (point.members = 32; point.members <= largest; point.members *= 2) {
        struct rz_study_options failed = with_a_failure(&point);
        struct rz_table_spread shrunk;
        if (!rz_ulfm_measure(figure, study, &failed, "decided_ms", &shrunk)) {
            return false;
        }
        rz_ulfm_add(figure, (double)point.members, rests[curve->n] + shrunk.median * 1000, curve);
    }
    return true;
}

static void assess(struct rz_ulfm *figure, const struct rz_ulfm_curve *era,
                   const struct rz_ulfm_curve *scans, const struct rz_ulfm_curve *one)
{
    struct rz_ulfm_fit logarithm = rz_ulfm_fit(era, true), line = rz_ulfm_fit(era, false);
    bool scales = logarithm.r2 > line.r2 && logarithm.r2 > 0.95;
    uint32_t last = scans->n - 1, end = era->n - 1;
    bool below = era->y[last] < scans->y[last] / 2;
    rz_figure_assess(figure->report, rz_ulfm_verdict(scales), "recovery by ERA over ranks",
                     "scales with ERA: logarithmic", scales ? NULL : "the curve bends",
                     "%.1f us per doubling; R2 = %.3f logarithmic, %.3f linear", logarithm.a,
                     logarithm.r2, line.r2);
    rz_figure_assess(figure->report, rz_ulfm_verdict(below), "ERA against Log2phases, at scale",
                     "ERA is far below", below ? NULL : "it is not",
                     "%.0f us against %.0f us at %.0f ranks", era->y[last], scans->y[last],
                     scans->x[last]);
    rz_figure_assess(
        figure->report, RZ_FIGURE_NOT_COMPARABLE, "one agreement (ours) against three for a shrink",
        "measured inside an application, on another network", "the network's figures are assumed",
        "%.0f us against %.0f us at %.0f ranks", one->y[end], era->y[end], era->x[end]);
}

bool rz_ulfm_draw_recovery(const struct rz_figure_options *options, struct rz_table *table,
                           struct rz_chart *chart, struct rz_figure_report *report,
                           const char **why)
{
    struct rz_ulfm figure = {options, table, chart, report, why, true};
    struct rz_ulfm_curve era = {.label = "shrink of three agreements, by ERA"},
                         one = {.label = "shrink of one agreement, by ERA"},
                         scans = {.label = "by Log2phases with scans (1 ns per rank, assumed)"};
    uint64_t largest = rz_ulfm_largest(&figure, 1 << 16);
    uint64_t of_scans = largest < RZ_TWOPHASE_MEMBERS_MAX ? largest : RZ_TWOPHASE_MEMBERS_MAX;
    rz_ulfm_begin(&figure, "ranks", "ranks");
    rz_chart_labels(chart, NULL, "ranks, 16 per node", "recovery of the communicator (us)");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LOG10);
    double rests[RZ_ULFM_POINTS_MAX];
    if (!rests_us(&figure, largest, rests) ||
        !recovery_curve(&figure, "shrink", largest, rests, &era) ||
        !recovery_curve(&figure, "agree", largest, rests, &one) ||
        !recovery_curve(&figure, "shrink-twophase", of_scans, rests, &scans)) {
        return false;
    }
    assess(&figure, &era, &scans, &one);
    return true;
}
