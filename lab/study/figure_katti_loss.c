/* SPDX-License-Identifier: BSD-3-Clause */
/* Not in the source: the three algorithms on a network that loses messages. */
#include "study/figure_katti_runs.h"

#include <math.h>

#define POWER 8
#define TRIALS 10

static const struct contestant {
    const char *label;
    enum rz_gossip_kind kind;
    uint32_t ppm;
} contestants[] = {{"algorithm 1", RZ_GOSSIP_MATRIX, RZ_KATTI_PPM},
                   {"algorithm 2", RZ_GOSSIP_LIST, RZ_KATTI_PPM},
                   {"algorithm 3, tolerance 0.1 %", RZ_GOSSIP_SUM, RZ_KATTI_PPM},
                   {"algorithm 3, tolerance 5 %", RZ_GOSSIP_SUM, 50000}};
#define CONTESTANTS (sizeof(contestants) / sizeof(*contestants))

static const uint32_t losses_ppm[] = {0, 10000, 50000, 100000};
#define LOSSES (sizeof(losses_ppm) / sizeof(*losses_ppm))

static struct rz_katti_case case_of(const struct contestant *contestant, uint32_t loss_ppm,
                                    bool told)
{
    return (struct rz_katti_case){.n = 1 << POWER,
                                  .kind = contestant->kind,
                                  .kills = 1,
                                  .ppm = contestant->ppm,
                                  .loss_ppm = loss_ppm,
                                  .told = told};
}

static void columns(struct rz_table *table)
{
    rz_table_column(table, "algorithm", "algorithm", NULL);
    rz_table_column(table, "loss", "messages lost", "%");
    rz_table_column(table, "trials", "trials", NULL);
    rz_table_column(table, "cycles",
                    "last consensus (3: commit), failure told, where all come to it", "cycles");
    rz_table_column(table, "disagreeing", "calls that disagree, failure told", NULL);
    rz_table_column(table, "failure reports", "false failure reports, by silence",
                    "per process and cycle");
    rz_table_column(table, "disagreeing_silence", "calls that disagree, by silence", NULL);
}

static void measure(const struct rz_figure_options *options, struct rz_table *table)
{
    uint32_t trials = rz_katti_trials(options, TRIALS);
    for (size_t c = 0; c < CONTESTANTS; c++) {
        for (size_t i = 0; i < LOSSES; i++) {
            uint32_t stage = contestants[c].kind == RZ_GOSSIP_SUM ? 2 : 1;
            struct rz_katti_case told = case_of(&contestants[c], losses_ppm[i], true),
                                 silence = case_of(&contestants[c], losses_ppm[i], false);
            struct rz_katti_point a = rz_katti_point(&told, stage, options->seed, trials);
            struct rz_katti_point b = rz_katti_point(&silence, stage, options->seed, 1);
            rz_table_row(table);
            rz_table_text(table, "%s", contestants[c].label);
            rz_table_number(table, losses_ppm[i] / 1e4);
            rz_table_number(table, trials);
            rz_table_number(table, a.last);
            rz_table_number(table, a.disagreeing);
            rz_table_number(table, b.failure_reports);
            rz_table_number(table, b.disagreeing);
        }
    }
}

static void curves(const struct rz_table *table, const char *column, struct rz_chart *chart)
{
    for (uint32_t c = 0; c < CONTESTANTS; c++) {
        rz_chart_curve(chart, contestants[c].label, RZ_CHART_LINES_POINTS);
        for (uint32_t i = 0; i < LOSSES; i++) {
            double y = rz_table_at(table, c * LOSSES + i, column);
            if (!isnan(y)) {
                rz_chart_point(chart, losses_ppm[i] / 1e4, y);
            }
        }
    }
}

bool rz_katti_draw_loss(const struct rz_figure_options *options, struct rz_table *table,
                        struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    (void)why;
    rz_katti_begin(options);
    columns(table);
    measure(options, table);
    rz_chart_labels(chart, "256 processes, one is told of one failure", "messages lost (percent)",
                    "cycles to the last consensus (3: commit)");
    rz_chart_range_y(chart, 0, NAN);
    curves(table, "cycles", chart);
    rz_chart_panel(chart, "256 processes, silence reports", "messages lost (percent)",
                   "false failure reports per process and cycle");
    curves(table, "failure reports", chart);
    double more = rz_table_at(table, LOSSES - 1, "cycles") / rz_table_at(table, 0, "cycles");
    rz_katti_assess(report, "algorithm 1 at 10 % loss: so many times the cycles",
                    "gossip tolerates moderate loss", more, (struct rz_katti_range){0.9, 1.5},
                    NULL);
    double list = rz_table_at(table, 2 * LOSSES - 1, "disagreeing");
    rz_katti_assess(report, "algorithm 2 at 10 % loss: share of calls that disagree",
                    "gossip tolerates moderate loss", list, (struct rz_katti_range){0, 0.01}, NULL);
    rz_figure_assess(report, RZ_FIGURE_NOT_COMPARABLE,
                     "algorithm 3 at 1 % loss, tolerance 0.1 %: share of calls that disagree",
                     "reliable channels are assumed",
                     "a lost answer takes mass out of the count for good", "%.3g",
                     rz_table_at(table, 2 * LOSSES + 1, "disagreeing"));
    rz_figure_assess(report, RZ_FIGURE_NOT_COMPARABLE,
                     "false failure reports per process and cycle at 1 % loss, algorithm 1",
                     "reliable channels are assumed",
                     "a lost ping or answer is a detection: there is no suspicion", "%.3g",
                     rz_table_at(table, 1, "failure reports"));
    return true;
}
