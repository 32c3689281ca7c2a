/* SPDX-License-Identifier: BSD-3-Clause */
/* Replays the published test times of p2 by p6 (DGRP, figure 11) through a member. */
#include "study/study_diagnose_replay.h"

#include "base/assert.h"
#include "base/random.h"
#include "proto/diagnose/diagnose.h"
#include "study/study_diagnose_run.h"

#include <stdlib.h>
#include <string.h>

#define LAST RZ_DGRP_REPLAY_INTERVALS
#define WIDTH_MOST (20 * RZ_MILLISECOND)
#define FITS 60 /* halvings of an interval of widths: it is one nanosecond long then */

enum { P6, P2, MEMBERS };

const struct rz_dgrp_peak rz_dgrp_replay_peaks[RZ_DGRP_REPLAY_PEAKS] = {
    {13226, 62390 * RZ_MICROSECOND, 48420 * RZ_MICROSECOND},
    {13641, 68160 * RZ_MICROSECOND, 62100 * RZ_MICROSECOND}};

static const struct rz_diagnose_config config = {
    .n_members = MEMBERS, .interval = RZ_SECOND, .factor = RZ_DGRP_FACTOR_ADDED};

/* ---- test times ---- */

static rz_time width_at(const struct rz_dgrp_replay *replay, uint64_t interval)
{
    uint64_t first = rz_dgrp_replay_peaks[0].interval, second = rz_dgrp_replay_peaks[1].interval;
    if (interval <= first) {
        return replay->width[0];
    }
    if (interval >= second) {
        return replay->width[1];
    }
    double part = (double)(interval - first) / (double)(second - first);
    return (rz_time)((1 - part) * (double)replay->width[0] + part * (double)replay->width[1]);
}

/* The same draws for any widths. */
static void make_times(struct rz_dgrp_replay *replay, uint64_t seed)
{
    struct rz_random random = {rz_mix(seed, 0x7265706C)};
    for (uint64_t i = 1; i <= LAST; i++) {
        double share = (double)rz_random_below(&random, 2000001) / 1e6; /* 0..2 */
        double width = (double)width_at(replay, i);
        replay->time[i] = RZ_DGRP_REPLAY_MEAN + (rz_time)(share * width) - (rz_time)width;
    }
    for (uint32_t peak = 0; peak < RZ_DGRP_REPLAY_PEAKS; peak++) {
        replay->time[rz_dgrp_replay_peaks[peak].interval] = rz_dgrp_replay_peaks[peak].time;
    }
}

/* ---- the fit ---- */

static rz_time threshold_of(const struct rz_dgrp_replay *replay, uint64_t interval)
{
    struct rz_diagnose_config own = config;
    struct rz_diagnose_statistics statistics = {0};
    own.threshold_max = RZ_SECOND;
    for (uint64_t i = 1; i < interval; i++) {
        rz_diagnose_measure(&statistics, replay->time[i], &own);
    }
    return statistics.threshold;
}

/* The first threshold depends on the first width alone, the second one then on the second width. */
static void fit(struct rz_dgrp_replay *replay, uint64_t seed)
{
    for (uint32_t peak = 0; peak < RZ_DGRP_REPLAY_PEAKS; peak++) {
        rz_time low = 0, high = WIDTH_MOST;
        for (uint32_t i = 0; i < FITS && high - low > 1; i++) {
            replay->width[peak] = (low + high) / 2;
            make_times(replay, seed);
            bool above = threshold_of(replay, rz_dgrp_replay_peaks[peak].interval) >
                         rz_dgrp_replay_peaks[peak].threshold;
            *(above ? &high : &low) = replay->width[peak];
        }
    }
}

/* ---- the member ---- */

/* p6 alone votes on the rejoin that it requests. */
static void step(struct rz_diagnose *p6, const struct rz_event *event)
{
    struct rz_action actions[RZ_ACTIONS_MIN];
    struct rz_actions out = {.v = actions, .max = RZ_ACTIONS_MIN};
    enum rz_more more = rz_diagnose_step(p6, event, &out);
    rz_assert(more == RZ_DONE);
    for (uint32_t i = 0; i < out.count; i++) {
        if (actions[i].kind != RZ_ACTION_NOTIFY || actions[i].what != RZ_DIAGNOSE_WANT_REJOIN) {
            continue;
        }
        struct rz_event readmit = {.kind = RZ_EVENT_CALL,
                                   .now = event->now,
                                   .call = RZ_DIAGNOSE_READMIT,
                                   .arg = {actions[i].arg[0], actions[i].arg[1]}};
        step(p6, &readmit);
    }
}

static void replay_interval(struct rz_diagnose *p6, uint64_t interval,
                            struct rz_dgrp_replay *replay)
{
    rz_time began = interval * RZ_SECOND;
    step(p6, &(struct rz_event){.kind = RZ_EVENT_TICK, .now = began});
    rz_assert(rz_diagnose_interval(p6) == interval);
    struct rz_message reply = {.protocol = RZ_PROTOCOL_DIAGNOSE,
                               .type = RZ_DIAGNOSE_REPLY,
                               .from = P2,
                               .origin = P2,
                               .seq = interval,
                               .word = {began}};
    bool before = rz_diagnose_has(p6, P2);
    replay->threshold[interval] = rz_diagnose_threshold(p6, P2);
    step(p6, &(struct rz_event){.kind = RZ_EVENT_RECEIVE,
                                .now = began + replay->time[interval],
                                .message = &reply});
    replay->detected[interval] = before && !rz_diagnose_has(p6, P2);
}

void rz_dgrp_replay(uint64_t seed, struct rz_dgrp_replay *replay)
{
    struct rz_diagnose *p6 = malloc(rz_diagnose_size(&config));
    rz_assert(p6 != NULL);
    memset(replay, 0, sizeof(*replay));
    fit(replay, seed);
    make_times(replay, seed);
    rz_diagnose_init(p6, &config, P6, RZ_SECOND, 0);
    for (uint64_t i = 1; i <= LAST; i++) {
        replay_interval(p6, i, replay);
    }
    free(p6);
}
