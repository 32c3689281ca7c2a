/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps at most a fixed number of dates of iterations, and estimates from them the work that a
 * failure has lost. */
#include "launch/work.h"

#include <math.h>

/* Drops every second date, but not the newest. */
static void thin(struct rz_work *work)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < work->n; i++) {
        if (i % 2 == 0 || i + 1 == work->n) {
            work->dates[kept++] = work->dates[i];
        }
    }
    work->n = kept;
}

static void note(struct rz_work *work, uint64_t iteration, rz_time at)
{
    struct rz_work_date *last = work->n > 0 ? &work->dates[work->n - 1] : NULL;
    if (last && last->iteration == iteration && at < last->at) {
        last->at = at; /* others were earlier, and this mark arrived late */
    }
    if (last && last->iteration >= iteration) {
        return;
    }
    if (work->n == RZ_WORK_DATES_MAX) {
        thin(work);
    }
    work->dates[work->n++] = (struct rz_work_date){iteration, at};
}

void rz_work_mark(struct rz_work *work, uint64_t iteration, rz_time at)
{
    note(work, iteration, at);
    work->newest = work->marked && work->newest > iteration ? work->newest : iteration;
    work->marked = true;
}

void rz_work_failed(struct rz_work *work, rz_time at)
{
    if (!work->failed) {
        work->failed = at;
    }
}

void rz_work_resume(struct rz_work *work, uint64_t iteration, rz_time at)
{
    if (!work->resumed || iteration < work->again) {
        work->again = iteration;
        work->again_at = at;
    }
    if (!work->resumed || iteration > work->reached) {
        work->reached = iteration;
        work->reached_at = at;
    }
    work->resumed = true;
}

/* When the iteration was begun: between two dates that are kept, in proportion. */
static double begun_at(const struct rz_work *work, uint64_t iteration)
{
    for (uint32_t i = 0; i < work->n; i++) {
        const struct rz_work_date *after = &work->dates[i], *before = i > 0 ? after - 1 : after;
        if (after->iteration < iteration) {
            continue;
        }
        if (after->iteration == iteration) {
            return (double)after->at;
        }
        if (i == 0) {
            return NAN; /* it was begun before the first mark that arrived */
        }
        double part = (double)(iteration - before->iteration) /
                      (double)(after->iteration - before->iteration);
        return (double)before->at + part * ((double)after->at - (double)before->at);
    }
    return NAN;
}

struct rz_work_lost rz_work_lost(const struct rz_work *work)
{
    struct rz_work_lost lost = {.seconds = NAN};
    if (!work->marked || !work->resumed || !work->failed) {
        return lost;
    }
    lost.known = true;
    lost.from = work->again;
    lost.to = work->newest > work->again ? work->newest : work->again;
    double at = begun_at(work, work->again), failed = (double)work->failed;
    if (work->newest < work->again) {
        lost.seconds = 0; /* it continued at an iteration that no process had reached */
    } else if (!isnan(at)) {
        lost.seconds = failed > at ? (failed - at) / 1e9 : 0;
    }
    return lost;
}

void rz_work_go_on(struct rz_work *work)
{
    if (work->resumed) {
        while (work->n > 0 && work->dates[work->n - 1].iteration >= work->again) {
            work->n--;
        }
        work->marked = false;
        rz_work_mark(work, work->again, work->again_at);
        rz_work_mark(work, work->reached, work->reached_at);
    }
    work->failed = 0;
    work->resumed = false;
}
