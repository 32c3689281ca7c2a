/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the figures of Camargo, Duarte 2018 (figure_dgrp.c). */
#ifndef RZ_STUDY_FIGURE_DGRP_H
#define RZ_STUDY_FIGURE_DGRP_H

#include "study/figure.h"
#include "study/study_diagnose_run.h"

#define RZ_DGRP_HOSTS 18
#define RZ_DGRP_INTERVALS 30000

extern const char *const rz_dgrp_load_differs; /* a reason */

/* Of the source's cluster; hosts must outlive its rz_dgrp_create. */
struct rz_dgrp_setup rz_dgrp_figure_setup(uint64_t seed, uint64_t intervals,
                                          const struct rz_dgrp_host *hosts);

/* The monitoring run is shared by figures 8 to 13, composition and table 3: it is kept for the next
 * one. */
const struct rz_dgrp_run *rz_dgrp_monitoring(const struct rz_figure_options *options);

bool rz_dgrp_draw_replay(const struct rz_figure_options *options, struct rz_table *table,
                         struct rz_chart *chart, struct rz_figure_report *report, const char **why);
bool rz_dgrp_draw_composition(const struct rz_figure_options *options, struct rz_table *table,
                              struct rz_chart *chart, struct rz_figure_report *report,
                              const char **why);
bool rz_dgrp_draw_table3(const struct rz_figure_options *options, struct rz_table *table,
                         struct rz_chart *chart, struct rz_figure_report *report, const char **why);
bool rz_dgrp_draw_loss(const struct rz_figure_options *options, struct rz_table *table,
                       struct rz_chart *chart, struct rz_figure_report *report, const char **why);

#endif
