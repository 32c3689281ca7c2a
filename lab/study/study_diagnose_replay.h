/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tests of p2 by p6 in figure 11 of Camargo, Duarte 2018, replayed through a member: 13,700
 * intervals whose test times are a base and, in the two intervals that are published, the published
 * times. The base: 45.5 ms, and noise to both sides, uniform up to a width. Its width is fitted so
 * that the thresholds of these two intervals are as published, and is assumed to change linearly
 * from the one to the other. All else is by the protocol: its thresholds, tests, rejoins.
 */
#ifndef RZ_STUDY_STUDY_DIAGNOSE_REPLAY_H
#define RZ_STUDY_STUDY_DIAGNOSE_REPLAY_H

#include <rhizome/types.h>

#define RZ_DGRP_REPLAY_INTERVALS 13700
#define RZ_DGRP_REPLAY_FROM 13200 /* the first one that is shown */
#define RZ_DGRP_REPLAY_PEAKS 2

struct rz_dgrp_peak {
    uint64_t interval;
    rz_time time, threshold;
};
extern const struct rz_dgrp_peak rz_dgrp_replay_peaks[RZ_DGRP_REPLAY_PEAKS]; /* as published */

struct rz_dgrp_replay {
    rz_time width[RZ_DGRP_REPLAY_PEAKS]; /* fitted */
    rz_time time[RZ_DGRP_REPLAY_INTERVALS + 1], threshold[RZ_DGRP_REPLAY_INTERVALS + 1];
    bool detected[RZ_DGRP_REPLAY_INTERVALS + 1]; /* a recommended p2 became non-recommended */
};

#define RZ_DGRP_REPLAY_MEAN (45500 * RZ_MICROSECOND)

/* The noise is of this seed. */
void rz_dgrp_replay(uint64_t seed, struct rz_dgrp_replay *replay);

#endif
