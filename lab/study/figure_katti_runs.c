/* SPDX-License-Identifier: BSD-3-Clause */
/* Trials that several figures of Katti et al. share, each run once; means, lines and ranges of
 * them. */
#include "study/figure_katti_runs.h"

#include "base/assert.h"
#include "base/random.h"
#include "study/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CYCLE (100 * RZ_MILLISECOND)
#define KILLS_MAX 8
#define STREAM_DATES 0x64617465
#define FAILURES_WITHIN (4 * CYCLE) /* of failures in the run; the source's dates are not known */

/* ---- trials, kept ---- */

struct kept {
    struct rz_katti_case what;
    uint64_t seed;
    struct rz_gossip_trial *trial;
};

static bool same(const struct rz_katti_case *a, const struct rz_katti_case *b)
{
    return a->n == b->n && a->kind == b->kind && a->kills == b->kills && a->ppm == b->ppm &&
           a->loss_ppm == b->loss_ppm && a->during == b->during && a->told == b->told &&
           a->model == b->model;
}

static void draw_victims(const struct rz_katti_case *what, uint64_t seed, rz_id *victims,
                         rz_time *dates)
{
    struct rz_study_options options;
    struct rz_random random = {rz_mix(seed, STREAM_DATES)};
    rz_study_defaults(&options);
    options.members = what->n;
    options.kill = what->kills;
    rz_study_draw_victims(&options, seed, victims);
    for (uint32_t i = 0; i < what->kills; i++) {
        dates[i] = what->during ? rz_random_below(&random, FAILURES_WITHIN) : 0;
    }
}

static struct rz_gossip_trial *run(const struct rz_katti_case *what, uint64_t seed)
{
    rz_id victims[KILLS_MAX];
    rz_time dates[KILLS_MAX];
    const char *why = NULL;
    rz_assert(what->kills <= KILLS_MAX);
    draw_victims(what, seed, victims, dates);
    struct rz_gossip_trial_setup setup = {
        .gossip = {.n_members = (uint32_t)what->n,
                   .view = 1,
                   .kind = what->kind,
                   .cycle = CYCLE,
                   .timeout = CYCLE / 2,
                   .start_spread = CYCLE,
                   .tolerance_ppm = what->ppm,
                   .before_only = what->kind == RZ_GOSSIP_SUM && !what->during,
                   .report = !what->told},
        .network = {.latency = 50 * RZ_MICROSECOND,
                    .jitter = 20 * RZ_MICROSECOND,
                    .loss = what->loss_ppm / 1e6},
        .seed = seed,
        .victims = victims,
        .n_victims = what->kills,
        .dates = dates,
        .told = what->told,
        .model = what->model,
        .observe = true,
    };
    struct rz_gossip_trial *trial = rz_gossip_trial_run(&setup, &why);
    rz_assert(trial != NULL);
    return trial;
}

static struct kept *all; /* trials of figures drawn from seed `from` */
static uint32_t n_kept, kept_max;
static uint64_t from;

void rz_katti_begin(const struct rz_figure_options *options)
{
    if (options->seed == from) {
        return;
    }
    for (uint32_t i = 0; i < n_kept; i++) {
        free(all[i].trial);
    }
    n_kept = 0;
    from = options->seed;
}

const struct rz_gossip_trial *rz_katti_trial(const struct rz_katti_case *what, uint64_t seed)
{
    for (uint32_t i = 0; i < n_kept; i++) {
        if (all[i].seed == seed && same(&all[i].what, what)) {
            return all[i].trial;
        }
    }
    if (n_kept == kept_max) {
        kept_max = kept_max > 0 ? 2 * kept_max : 64;
        all = realloc(all, kept_max * sizeof(*all));
        rz_assert(all != NULL);
    }
    all[n_kept] = (struct kept){*what, seed, run(what, seed)};
    return all[n_kept++].trial;
}

/* ---- over several ---- */

struct rz_katti_point rz_katti_point(const struct rz_katti_case *what, uint32_t stage,
                                     uint64_t seed, uint32_t trials)
{
    struct rz_katti_point sum = {.trials = trials, .least = INFINITY, .most = 0};
    uint32_t complete = 0;
    for (uint32_t i = 0; i < trials; i++) {
        const struct rz_gossip_trial *trial = rz_katti_trial(what, seed + i);
        double last = (double)trial->last[stage];
        double process_cycles = (double)trial->lasted / (double)CYCLE * (double)what->n;
        sum.traffic += (double)trial->bytes / process_cycles;
        sum.disagreeing += (double)trial->disagreeing / (double)trial->living;
        sum.failure_reports += (double)trial->false_failure_reports / process_cycles;
        if (last == 0) {
            continue;
        }
        complete++;
        sum.first += (double)trial->first[stage];
        sum.last += last;
        sum.least = fmin(sum.least, last);
        sum.most = fmax(sum.most, last);
    }
    sum.first /= complete; /* NAN where there is none */
    sum.last /= complete;
    sum.traffic /= trials;
    sum.disagreeing /= trials;
    sum.failure_reports /= trials;
    return sum;
}

struct rz_katti_line rz_katti_line(const double *x, const double *y, uint32_t n)
{
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (uint32_t i = 0; i < n; i++) {
        mean_x += x[i] / n;
        mean_y += y[i] / n;
    }
    for (uint32_t i = 0; i < n; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
        yy += (y[i] - mean_y) * (y[i] - mean_y);
    }
    return (struct rz_katti_line){mean_y - xy / xx * mean_x, xy / xx, fmin(xy * xy / (xx * yy), 1)};
}

uint32_t rz_katti_largest(const struct rz_figure_options *options, uint32_t least, uint32_t most,
                          uint32_t power)
{
    double effort = options->effort;
    while (most > least && effort < 0.75) {
        effort *= 1 << power;
        most--;
    }
    return most;
}

uint32_t rz_katti_trials(const struct rz_figure_options *options, uint32_t usual)
{
    if (options->trials > 0) {
        return options->trials;
    }
    return options->effort < 0.3 ? (usual + 3) / 4 : usual;
}

void rz_katti_assess(struct rz_figure_report *report, const char *what, const char *stated,
                     double measured, struct rz_katti_range range, const char *reason)
{
    double rounding = 1e-9; /* of means and fits */
    bool agrees = measured >= range.low - rounding && measured <= range.high + rounding;
    char accepted[256];
    if (range.low == range.high) {
        snprintf(accepted, sizeof(accepted), "%s", stated);
    } else if (isinf(range.high)) {
        snprintf(accepted, sizeof(accepted), "%s (accepted: from %g)", stated, range.low);
    } else {
        snprintf(accepted, sizeof(accepted), "%s (accepted: %g to %g)", stated, range.low,
                 range.high);
    }
    rz_figure_assess(report, agrees ? RZ_FIGURE_AGREES : RZ_FIGURE_DIFFERS, what, accepted,
                     agrees ? NULL : reason, "%.3g", measured);
}
