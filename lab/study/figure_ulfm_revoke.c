/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The benchmark of revoke: plan A repeats a collective on a communicator until one rank revokes it
 * instead; then plan B does the same collective on another one. The collective is an agreement
 * without failures on a tree by node, because it communicates like an allreduce: up and down a
 * tree. Its messages and the rest of the revoke's flood share the processes' time.
 */
#include "base/assert.h"
#include "proto/spread/spread.h"
#include "study/figure_ulfm_sweep.h"

#include <math.h>
#include <stdlib.h>

RZ_PROTOCOL(spread, RZ_PROTOCOL_SPREAD);
RZ_PROTOCOL(agree, RZ_PROTOCOL_AGREE);

enum { PART_REVOKE, PART_COLLECTIVE };
#define OPERATIONS 4 /* of plan B */

struct plans {
    struct rz_agree_adapters adapters;
    struct rz_spread_config spread;
    struct rz_agree_config agree;
    rz_time revoked_at; /* the last rank knows */
    rz_time
        done_at[OPERATIONS + 1]; /* the last rank has completed this many operations of plan B */
};

static const void *config(struct rz_timing *timing, rz_id member, uint32_t part)
{
    const struct plans *plans = rz_timing_study(timing);
    (void)member;
    if (part == PART_REVOKE) {
        return &plans->spread;
    }
    return &plans->agree;
}

static rz_time adapter_wait(struct rz_timing *timing, rz_id from, rz_id to)
{
    struct plans *plans = rz_timing_study(timing);
    return rz_agree_adapters_wait(&plans->adapters, rz_timing_now(timing), from, to);
}

static void collective(struct rz_timing *timing, rz_id member)
{
    uint64_t arg[4] = {UINT64_MAX, 0, 0, 0};
    rz_timing_call(timing, member, PART_COLLECTIVE, 0,
                   &(struct rz_timing_request){.call = RZ_AGREE_PROPOSE, .arg = arg});
}

static void notified(struct rz_timing *timing, rz_id member, uint32_t part,
                     const struct rz_action *notice)
{
    struct plans *plans = rz_timing_study(timing);
    rz_time now = rz_timing_now(timing);
    if (part == PART_REVOKE) {
        plans->revoked_at = now;
        plans->done_at[0] = now;
        collective(timing, member);
    } else if (notice->what == RZ_AGREE_DECIDED) {
        plans->done_at[notice->arg[0]] = now;
        if (notice->arg[0] < OPERATIONS) {
            collective(timing, member);
        }
    }
}

/* Every rank is in plan A's collective when a random one revokes, at date 0. */
static struct plans run_plans(const struct rz_study_options *options, uint64_t seed)
{
    struct plans plans = {.spread = {.n_members = (uint32_t)options->members, .items_max = 1},
                          .agree = {.n_members = (uint32_t)options->members,
                                    .in_flight_max = 1,
                                    .tree = RZ_AGREE_BIN_BIN,
                                    .per_node = options->per_node}};
    struct rz_timing_network network = rz_study_network(options);
    network.send_overhead_local = options->send_overhead * 2 / 5;
    network.receive_overhead_local = options->receive_overhead * 2 / 5;
    struct rz_timing_setup setup = {.members = (uint32_t)options->members,
                                    .n_parts = 2,
                                    .parts = {&rz_protocol_spread, &rz_protocol_agree},
                                    .network = network,
                                    .seed = seed,
                                    .study = &plans,
                                    .config = config,
                                    .notified = notified,
                                    .delay = adapter_wait};
    rz_agree_adapters_begin(&plans.adapters, setup.members, &network);
    struct rz_timing *timing = rz_timing_create(&setup);
    uint64_t item = 1;
    rz_timing_call(
        timing, (rz_id)rz_timing_random(timing, options->members), PART_REVOKE, 0,
        &(struct rz_timing_request){.call = RZ_SPREAD_BROADCAST, .items = &item, .n_items = 1});
    rz_timing_run(timing);
    rz_timing_destroy(timing);
    rz_agree_adapters_end(&plans.adapters);
    return plans;
}

static double microseconds(rz_time time)
{
    return (double)time / RZ_MICROSECOND;
}

/* Mean over the trials of the results for each rank count: A's last operation, B's first three. */
static void measure(struct rz_ulfm *figure, const struct rz_study_options *options, uint32_t trials,
                    double y[4])
{
    for (uint32_t k = 0; k < 4; k++) {
        y[k] = 0;
    }
    for (uint32_t trial = 0; trial < trials; trial++) {
        struct plans plans = run_plans(options, figure->options->seed + trial);
        y[0] += microseconds(plans.revoked_at) / trials;
        for (uint32_t k = 1; k < 4; k++) {
            y[k] += microseconds(plans.done_at[k] - plans.done_at[k - 1]) / trials;
        }
    }
}

static void assess(struct rz_ulfm *figure, const struct rz_ulfm_curve *quiet,
                   const struct rz_ulfm_curve *revoke, const struct rz_ulfm_curve *b)
{
    uint32_t last = quiet->n - 1;
    struct rz_ulfm_fit logarithm = rz_ulfm_fit(revoke, true), line = rz_ulfm_fit(revoke, false);
    bool grows_slowly = logarithm.r2 > line.r2 && logarithm.r2 > 0.9;
    rz_figure_assess(figure->report, rz_ulfm_verdict(grows_slowly), "revoke over ranks",
                     "about constant to logarithmic", grows_slowly ? NULL : "a line fits better",
                     "%.1f us at %.0f, %.1f us at %.0f; "
                     "R2 = %.3f logarithmic, %.3f linear",
                     revoke->y[0], revoke->x[0], revoke->y[last], revoke->x[last], logarithm.r2,
                     line.r2);
    bool shorter = revoke->y[last] < quiet->y[last];
    rz_figure_assess(
        figure->report, rz_ulfm_verdict(shorter),
        "A's last operation, which is revoked, against one that is not",
        "Bouteiller, Bosilca, Dongarra, EuroMPI'15, on figure 3: a revoked barrier takes "
        "less time than a normal one",
        shorter ? NULL : "the revoke takes longer here",
        "%.2f times at %.0f ranks, %.2f times at %.0f", revoke->y[0] / quiet->y[0], revoke->x[0],
        revoke->y[last] / quiet->y[last], revoke->x[last]);
    double first = b[0].y[0] - quiet->y[0], final = b[0].y[last] - quiet->y[last];
    bool constant = final - first < fmax(2, first / 2);
    rz_figure_assess(
        figure->report, rz_ulfm_verdict(constant),
        "B's first operation: its extra time over one without a revoke",
        "almost constant over the ranks, or falling (accepted: half as much again, or 2 us)",
        constant ? NULL
                 : "the flood of the revoke sends n log2(n) messages, and what is left of it meets "
                   "the first operation at more places the more ranks there are",
        "%+.1f us at %.0f ranks, %+.1f us at %.0f", first, quiet->x[0], final, quiet->x[last]);
    static const char *const names[] = {"B's first operation", "B's second", "B's third"};
    static const char *const stated[] = {"moderately slower (accepted: 1.01 to 3 times)",
                                         "slightly slower (accepted: 1.001 to 1.25 times)",
                                         "indistinguishable (accepted: 0.98 to 1.02 times)"};
    static const double least[] = {1.01, 1.001, 0.98}, most[] = {3, 1.25, 1.02};
    for (uint32_t k = 0; k < 3; k++) {
        double ratio = b[k].y[last] / quiet->y[last];
        bool agrees = ratio >= least[k] && ratio <= most[k];
        rz_figure_assess(figure->report, rz_ulfm_verdict(agrees), names[k], stated[k],
                         agrees ? NULL
                                : "no more of the flood is left here: a message costs its "
                                  "receiver half a microsecond and nothing afterwards",
                         "%.3f times a quiet one at %.0f ranks", ratio, quiet->x[last]);
    }
}

bool rz_ulfm_draw_revoke(const struct rz_figure_options *options, struct rz_table *table,
                         struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    struct rz_ulfm figure = {options, table, chart, report, why, true};
    struct rz_ulfm_curve quiet = {.label = "collective, nothing revoked"};
    struct rz_ulfm_curve revoke = {.label = "A's last: until all are revoked"};
    struct rz_ulfm_curve b[3] = {
        {.label = "B's first"}, {.label = "B's second"}, {.label = "B's third"}};
    double y[RZ_ULFM_POINTS_MAX][4];
    uint32_t trials = options->trials > 0 ? options->trials : 5, n = 0;
    uint64_t largest = rz_ulfm_largest(&figure, 1 << 16);
    rz_ulfm_begin(&figure, "ranks", "ranks");
    rz_chart_labels(chart, NULL, "ranks", "time of an operation (us)");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LINEAR);
    rz_ulfm_curve(&figure, &quiet);
    struct rz_study_options point = rz_ulfm_options(&figure);
    for (point.members = 32; point.members <= largest; point.members *= 2, n++) {
        point.operations = 10;
        if (!rz_ulfm_point(&figure, &(struct rz_ulfm_column){"agree", "each_us", 1}, &point,
                           (double)point.members, &quiet)) {
            return false;
        }
        measure(&figure, &point, trials, y[n]);
    }
    for (uint32_t k = 0; k < 4; k++) {
        struct rz_ulfm_curve *curve = k == 0 ? &revoke : &b[k - 1];
        rz_ulfm_curve(&figure, curve);
        for (uint32_t i = 0; i < n; i++) {
            rz_ulfm_add(&figure, quiet.x[i], y[i][k], curve);
        }
    }
    assess(&figure, &quiet, &revoke, b);
    return true;
}
