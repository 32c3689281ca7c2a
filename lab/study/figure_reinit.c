/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Global restart (Georgakoudis, Guo, Laguna: Reinit++, ISC 2020; figures 6 and 7) at sizes beyond
 * this machine: recovery by MPIX_Reinit over the number of ranks, 16 per node. The communication of
 * the daemons is run here, with the shipped objects: the failure report on the binomial graph, the
 * agreement on the failed processes, and that on the barrier. The local work of a node does not
 * depend on the others; it was measured, and is added. The parts are added as they follow each
 * other (tests/unit/study/reinit_test.c runs them together: within a quarter).
 */
#include "study/figure_ulfm_sweep.h"

#include <math.h>
#include <stdio.h>

#define SOURCE "Georgakoudis et al., ISC 2020 (Reinit++), figures 6 and 7"

enum { PER_NODE = 16 };

/* A growth of no more than this counts as constant. */
#define CONSTANT 1.25

/* A message between daemons by TCP, as measured on this machine's loopback (docs/benchmarks.md). */
#define TCP_LATENCY (10 * RZ_MICROSECOND)
#define TCP_OVERHEAD (5 * RZ_MICROSECOND)

/*
 * The local work of one node, in microseconds: the phases in rzrun --report of jobs on a machine of
 * two processors, the least of several runs. A new process begins when it has been forked, and is
 * at the start after exec, the dynamic linker and MPI_Init; those of a node begin one after the
 * other, and then have a processor each.
 */
static const double detect_process_us = 200, detect_node_us = 600, fork_us = 350, start_us = 4000;

/*
 * The local work of one node for each rank of the job, in nanoseconds of processor time: each step
 * alone in a loop, built for release, 2^14 to 2^20 ranks, medians. After any failure the placement
 * is handed to commit, 1.2 (the loop of daemon/recovery/recovery.c), which lays pieces out
 * again, 5.5 (rz_commit_step, RZ_COMMIT_EPOCH and RZ_COMMIT_OPENED, without copies), and processes
 * read the board, 1.2. Decision and barrier look at words of 64 ranks, 0.2 (rz_recover_step); a
 * node's failure lets the decision look for its ranks among all and for a place of each of the 16
 * among all nodes, 8, and the board be written, 0.5.
 */
static const double per_rank_process_ns = 1.2 + 5.5 + 1.2 + 0.2;
static const double per_rank_node_ns = 1.2 + 5.5 + 1.2 + 0.2 + 8 + 0.5;

struct parts {
    double network_us; /* news, decision, barrier */
    double node_us;    /* what does not depend on the number of ranks */
    double tables_us;  /* the part that does, without messages */
};

static struct rz_study_options daemons_of(const struct rz_ulfm *figure, uint64_t ranks)
{
    struct rz_study_options options = rz_ulfm_options(figure);
    options.members = ranks / PER_NODE;
    options.per_node = 1;
    options.tree = RZ_STUDY_TREE_BINARY;
    options.latency = TCP_LATENCY;
    options.send_overhead = options.receive_overhead = TCP_OVERHEAD;
    return options;
}

/* The report reaches all; all decide on the failed processes; all find that every rank is at the
 * start. */
static bool network_us(struct rz_ulfm *figure, uint64_t ranks, bool node, double *us)
{
    struct rz_study_options news = daemons_of(figure, ranks), decision = news, barrier = news;
    struct rz_table_spread known, decided, each;
    news.payload = decision.payload = 1; /* the failure */
    *us = 0;
    if (news.members < 2) {
        return true; /* one node needs no agreement */
    }
    if (!rz_ulfm_measure(figure, "spread", &news, "known_ms", &known)) {
        return false;
    }
    barrier.operations = decision.operations = 1;
    if (node) {
        decision.kill = 1;
        decision.kill_at = 0;
        decision.detector_lag = (rz_time)(known.median * RZ_MILLISECOND);
    }
    if (!rz_ulfm_measure(figure, "agree", &decision, node ? "decided_ms" : "each_us", &decided) ||
        !rz_ulfm_measure(figure, "agree", &barrier, "each_us", &each)) {
        return false;
    }
    /* For a node's failure the decision counts from the failure on, and includes the report. */
    *us = (node ? decided.median * 1000 : known.median * 1000 + decided.median) + each.median;
    return true;
}

static bool recovery(struct rz_ulfm *figure, uint64_t ranks, bool node, struct parts *parts)
{
    double forks = node ? PER_NODE : 1;
    parts->node_us = (node ? detect_node_us : detect_process_us) + forks * fork_us + start_us;
    parts->tables_us = (node ? per_rank_node_ns : per_rank_process_ns) * (double)ranks / 1000;
    return network_us(figure, ranks, node, &parts->network_us);
}

enum curve { PROCESS, NODE, NETWORK, CURVES };

static bool all_curves(struct rz_ulfm *figure, uint64_t largest, struct rz_ulfm_curve *curves)
{
    for (int i = 0; i < CURVES; i++) {
        rz_ulfm_curve(figure, &curves[i]);
        /* After the failure of a node another one must remain. */
        for (uint64_t ranks = i == NODE ? 4 * PER_NODE : PER_NODE; ranks <= largest; ranks *= 2) {
            struct parts parts;
            if (!recovery(figure, ranks, i == NODE, &parts)) {
                return false;
            }
            double us = parts.network_us + (i == NETWORK ? 0 : parts.node_us + parts.tables_us);
            if (us > 0) {
                rz_ulfm_add(figure, (double)ranks, us, &curves[i]);
            }
        }
    }
    return true;
}

/* The value of the curve at this many ranks; NAN: it was not run. */
static double at(const struct rz_ulfm_curve *curve, double ranks)
{
    for (uint32_t i = 0; i < curve->n; i++) {
        if (curve->x[i] == ranks) {
            return curve->y[i];
        }
    }
    return NAN;
}

static void assess_constant(struct rz_ulfm *figure, const struct rz_ulfm_curve *curve, double from,
                            double to, const char *stated)
{
    char what[128], why[128];
    double ratio = at(curve, to) / at(curve, from);
    bool constant = ratio <= CONSTANT;
    if (isnan(ratio)) {
        return; /* a run of little effort */
    }
    snprintf(what, sizeof(what), "%s, %.0f to %.0f ranks", curve->label, from, to);
    snprintf(why, sizeof(why),
             "messages along trees, and passes of each node over tables of all ranks, %.1f ms",
             per_rank_process_ns * to / 1e6);
    rz_figure_assess(figure->report, rz_ulfm_verdict(constant), what, stated, constant ? NULL : why,
                     "%.2f ms and %.2f ms: %.2f times", at(curve, from) / 1000,
                     at(curve, to) / 1000, ratio);
}

static void assess(struct rz_ulfm *figure, const struct rz_ulfm_curve *curves, double largest)
{
    assess_constant(figure, &curves[PROCESS], 16, 1024, "constant");
    assess_constant(figure, &curves[NODE], 64, 1024, "nearly constant");
    assess_constant(figure, &curves[PROCESS], 16, 65536, "not stated; asked for: constant");
    assess_constant(figure, &curves[PROCESS], 16, largest, "not stated; asked for: constant");
    struct rz_ulfm_fit logarithm = rz_ulfm_fit(&curves[NETWORK], true),
                       line = rz_ulfm_fit(&curves[NETWORK], false);
    bool logarithmic = logarithm.r2 > line.r2;
    rz_figure_assess(figure->report, rz_ulfm_verdict(logarithmic), curves[NETWORK].label,
                     "not stated; messages along trees: logarithmic",
                     logarithmic ? NULL : "the curve bends",
                     "%.0f us per doubling; R2 = %.3f logarithmic, %.3f linear", logarithm.a,
                     logarithm.r2, line.r2);
    rz_figure_assess(figure->report, RZ_FIGURE_NOT_COMPARABLE, "heights at 1024 ranks",
                     "0.5 s for a process, 1.5 s for a node",
                     "another machine, and what one node does was measured on this one",
                     "%.1f ms and %.1f ms", at(&curves[PROCESS], 1024) / 1000,
                     at(&curves[NODE], 1024) / 1000);
}

static bool draw(const struct rz_figure_options *options, struct rz_table *table,
                 struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    struct rz_ulfm figure = {options, table, chart, report, why, true};
    struct rz_ulfm_curve curves[CURVES] = {
        [PROCESS] = {.label = "failure of a process"},
        [NODE] = {.label = "failure of a node of 16"},
        [NETWORK] = {.label = "news, decision and barrier alone (process)"}};
    uint64_t largest = rz_ulfm_largest(&figure, 1 << 20);
    rz_ulfm_begin(&figure, "ranks", "ranks");
    rz_chart_labels(chart, NULL, "ranks, 16 per node", "recovery by Reinit (us)");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LOG10);
    if (!all_curves(&figure, largest, curves)) {
        return false;
    }
    assess(&figure, curves, (double)largest);
    return true;
}

const struct rz_figure rz_reinit_figures[] = {
    {.name = "reinit-recovery",
     .title = "Recovery by global restart over the number of ranks",
     .source = SOURCE,
     .stated =
         "Reinit++ recovers from the failure of a process in about 0.5 s and of a node in about "
         "1.5 s, constant from 16 to 1024 ranks",
     .seconds = 12,
     .draw = draw},
};
const size_t rz_reinit_figures_count = sizeof(rz_reinit_figures) / sizeof(*rz_reinit_figures);
