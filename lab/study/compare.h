/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The comparison of failure detectors: the heartbeat ring with its broadcast, SWIM with and without
 * Lifeguard, and gossip 1, 2 and 3, over the number of members, under loss and with slow members.
 * All have the same period: the heartbeat period is SWIM's probe interval and gossip's cycle.
 *
 * It runs the studies ring, swim, gossip1, gossip2 and gossip3 (rz_study_find); one that is
 * missing, or does not support a size, has a row that says so.
 */
#ifndef RZ_STUDY_COMPARE_H
#define RZ_STUDY_COMPARE_H

#include "study/study.h"

/*
 * From 16 to members_max members, each size four times the one before (0: 2^16; at most 2^20). Of
 * the options it uses trials (0: forty of small groups, one of large ones), seed, hb_period (the
 * period of all) and progress, and the network's latencies. Makes *table and *chart, which the
 * caller has created: columns, rows and panels are added here. False: *why says what is wrong with
 * the options.
 */
bool rz_compare(const struct rz_study_options *options, uint64_t members_max,
                struct rz_table *table, struct rz_chart *chart, const char **why);

/* The meaning of cases and columns, for a reader of the table. */
extern const char rz_compare_legend[];

#endif
