/* SPDX-License-Identifier: BSD-3-Clause */
/* Figure 11 with the published peaks: see study_diagnose_replay.h for the fit. */
#include "study/figure_dgrp.h"

#include "study/study_diagnose_replay.h"

#include "base/assert.h"

#include <stdlib.h>

static double milliseconds(rz_time time)
{
    return (double)time / (double)RZ_MILLISECOND;
}

static void rows(const struct rz_dgrp_replay *replay, struct rz_table *table)
{
    rz_table_column(table, "interval", "interval", NULL);
    rz_table_column(table, "time_ms", "test time", "ms");
    rz_table_column(table, "threshold_ms", "threshold", "ms");
    rz_table_column(table, "detected", "detected", NULL);
    for (uint64_t i = RZ_DGRP_REPLAY_FROM; i <= RZ_DGRP_REPLAY_INTERVALS; i++) {
        rz_table_row(table);
        rz_table_number(table, (double)i);
        rz_table_number(table, milliseconds(replay->time[i]));
        rz_table_number(table, milliseconds(replay->threshold[i]));
        rz_table_number(table, replay->detected[i]);
    }
}

static void curve(const struct rz_table *table, const char *column, const char *label,
                  enum rz_chart_style style, bool detected, struct rz_chart *chart)
{
    rz_chart_curve(chart, label, style);
    for (uint32_t row = 0; row < rz_table_rows(table); row++) {
        if (!detected || rz_table_at(table, row, "detected") > 0) {
            rz_chart_point(chart, rz_table_at(table, row, "interval"),
                           rz_table_at(table, row, column));
        }
    }
}

static void assess(const struct rz_dgrp_replay *replay, struct rz_figure_report *report)
{
    uint32_t found = 0, others = 0;
    for (uint64_t i = RZ_DGRP_REPLAY_FROM; i <= RZ_DGRP_REPLAY_INTERVALS; i++) {
        bool peak = i == rz_dgrp_replay_peaks[0].interval || i == rz_dgrp_replay_peaks[1].interval;
        found += replay->detected[i] && peak;
        others += replay->detected[i] && !peak;
    }
    bool agrees = found == RZ_DGRP_REPLAY_PEAKS && others == 0;
    rz_figure_assess(report, agrees ? RZ_FIGURE_AGREES : RZ_FIGURE_DIFFERS,
                     "detections where the published times are replayed",
                     "at 13,226 and 13,641, at no other of 13,200 to 13,700",
                     agrees ? NULL : "the base is not known, ours is fitted",
                     "%u of these two, %u others", found, others);
    for (uint32_t peak = 0; peak < RZ_DGRP_REPLAY_PEAKS; peak++) {
        const struct rz_dgrp_peak *stated = &rz_dgrp_replay_peaks[peak];
        rz_figure_assess(report, RZ_FIGURE_NOT_COMPARABLE,
                         peak == 0 ? "threshold at 13,226" : "threshold at 13,641",
                         peak == 0 ? "48.42 ms" : "62.1 ms", "the base's noise is fitted to it",
                         "%.2f ms, with a base of %.1f ms and noise of up to %.2f ms to both sides",
                         milliseconds(replay->threshold[stated->interval]),
                         milliseconds(RZ_DGRP_REPLAY_MEAN), milliseconds(replay->width[peak]));
    }
}

bool rz_dgrp_draw_replay(const struct rz_figure_options *options, struct rz_table *table,
                         struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    struct rz_dgrp_replay *replay = malloc(sizeof(*replay));
    rz_assert(replay != NULL);
    (void)why;
    rz_dgrp_replay(options->seed, replay);
    rows(replay, table);
    rz_chart_labels(chart, "p6 tests p2: the published peaks replayed", "interval",
                    "test time (ms)");
    curve(table, "time_ms", "test time", RZ_CHART_LINES, false, chart);
    curve(table, "threshold_ms", "threshold", RZ_CHART_DASHED, false, chart);
    curve(table, "time_ms", "non-recommended", RZ_CHART_POINTS, true, chart);
    rz_chart_curve(chart, "stated thresholds", RZ_CHART_STATED);
    for (uint32_t peak = 0; peak < RZ_DGRP_REPLAY_PEAKS; peak++) {
        rz_chart_point(chart, (double)rz_dgrp_replay_peaks[peak].interval,
                       milliseconds(rz_dgrp_replay_peaks[peak].threshold));
    }
    assess(replay, report);
    free(replay);
    return true;
}
