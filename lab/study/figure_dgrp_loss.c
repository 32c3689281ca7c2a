/* SPDX-License-Identifier: BSD-3-Clause */
/* The group under message loss, and afterwards: what is violated, and how it recovers. */
#include "study/figure_dgrp.h"

#include <math.h>

#define HOSTS RZ_DGRP_HOSTS
#define LOSSY 3000 /* intervals */
#define LOSSY_LEAST 300
#define KIND 100 /* intervals afterwards, in which nothing gets lost */

static const uint32_t losses_ppm[] = {0, 100, 1000, 10000};
#define LOSSES (sizeof(losses_ppm) / sizeof(*losses_ppm))

static void columns(struct rz_table *table)
{
    rz_table_column(table, "loss", "messages lost", "%");
    rz_table_column(table, "intervals", "intervals", NULL);
    rz_table_column(table, "removals", "removals", NULL);
    rz_table_column(table, "least", "least group", NULL);
    rz_table_column(table, "mean", "mean group", NULL);
    rz_table_column(table, "apart", "intervals at whose end members have different groups", NULL);
    rz_table_column(table, "apart_longest", "in a row", NULL);
    rz_table_column(table, "views_apart", "different views of a round", NULL);
    rz_table_column(table, "healed", "all in, by the same counters, after the last loss",
                    "intervals");
}

/* NAN: not before the run's end. */
static double healed_after(const struct rz_dgrp_run *run)
{
    uint64_t last = run->apart_counters.last;
    for (uint64_t i = last + 1; i <= run->interval; i++) {
        if (run->group_size[i] < run->n) {
            last = i;
        }
    }
    if (last == run->interval) {
        return NAN;
    }
    return last > run->setup.lossy ? (double)(last - run->setup.lossy) : 0;
}

static void measure(const struct rz_figure_options *options, uint32_t ppm, struct rz_table *table)
{
    struct rz_dgrp_host hosts[HOSTS];
    uint32_t lossy = (uint32_t)(LOSSY * fmin(options->effort, 1)), least = HOSTS;
    double sum = 0;
    lossy = lossy < LOSSY_LEAST ? LOSSY_LEAST : lossy;
    rz_dgrp_hosts_even(hosts, HOSTS, 0);
    struct rz_dgrp_setup setup = rz_dgrp_figure_setup(options->seed, lossy + KIND, hosts);
    setup.storms = 0;
    setup.lossy = lossy;
    setup.lost_ppm = ppm;
    struct rz_dgrp_run *run = rz_dgrp_create(&setup);
    rz_dgrp_go(run);
    uint32_t removals = 0;
    for (rz_id k = 0; k < HOSTS; k++) {
        removals += run->removed[k];
    }
    for (uint64_t i = 1; i <= lossy; i++) {
        least = run->group_size[i] < least ? run->group_size[i] : least;
        sum += run->group_size[i];
    }
    rz_table_row(table);
    rz_table_number(table, ppm / 1e4);
    rz_table_number(table, lossy);
    rz_table_number(table, removals);
    rz_table_number(table, least);
    rz_table_number(table, sum / lossy);
    rz_table_number(table, (double)run->apart_groups.intervals);
    rz_table_number(table, (double)run->apart_groups.longest);
    rz_table_number(table, (double)run->views_apart);
    rz_table_number(table, healed_after(run));
    rz_dgrp_destroy(run);
}

static void curve(const struct rz_table *table, const char *column, const char *label,
                  struct rz_chart *chart)
{
    rz_chart_curve(chart, label, RZ_CHART_LINES_POINTS);
    for (uint32_t row = 0; row < rz_table_rows(table); row++) {
        rz_chart_point(chart, rz_table_at(table, row, "loss"), rz_table_at(table, row, column));
    }
}

static void assess(const struct rz_table *table, struct rz_figure_report *report)
{
    double different = 0, longest = 0, healed = 0;
    for (uint32_t row = 0; row < LOSSES; row++) {
        double at = rz_table_at(table, row, "healed");
        different += rz_table_at(table, row, "views_apart");
        longest = fmax(longest, rz_table_at(table, row, "apart_longest"));
        healed = isnan(at) || isnan(healed) ? NAN : fmax(healed, at);
    }
    rz_figure_assess(report, different == 0 ? RZ_FIGURE_AGREES : RZ_FIGURE_DIFFERS,
                     "views of one round that differ, up to 1 % lost",
                     "unreliable channels do not break the views",
                     different == 0 ? NULL : "the agreement is broken", "%.0f", different);
    rz_figure_assess(report, isnan(healed) ? RZ_FIGURE_DIFFERS : RZ_FIGURE_AGREES,
                     "what members know, after the last loss", "counters heal by themselves",
                     isnan(healed) ? "not within 100 intervals" : NULL,
                     "all in, by the same counters, after %.0f intervals at most; while messages "
                     "get lost, groups differ for at most %.0f in a row",
                     healed, longest);
    rz_figure_assess(report, RZ_FIGURE_NOT_COMPARABLE, "removals of processes that are in time",
                     "none stated", "one lost message is a failed test, and one is enough",
                     "%.0f, %.0f and %.0f in %.0f intervals at 0.01 %%, 0.1 %% and 1 %%; least "
                     "group %.0f",
                     rz_table_at(table, 1, "removals"), rz_table_at(table, 2, "removals"),
                     rz_table_at(table, 3, "removals"), rz_table_at(table, 3, "intervals"),
                     rz_table_at(table, 3, "least"));
}

bool rz_dgrp_draw_loss(const struct rz_figure_options *options, struct rz_table *table,
                       struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    (void)why;
    columns(table);
    for (size_t i = 0; i < LOSSES; i++) {
        measure(options, losses_ppm[i], table);
    }
    rz_chart_labels(chart, "the group where messages get lost", "messages lost (%)", "processes");
    rz_chart_scales(chart, RZ_CHART_LOG10, RZ_CHART_LINEAR);
    rz_chart_range_y(chart, 0, HOSTS + 1);
    curve(table, "mean", "group, mean", chart);
    curve(table, "least", "group, least", chart);
    assess(table, report);
    return true;
}
