/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the phases of a recovery from the events of all nodes: the times of detection,
 * agreement, start, restore and continuation. */
#include "launch/timeline.h"

#include "base/no_memory.h"

#include <math.h>
#include <stdlib.h>

const char *const rz_recovery_way_names[] = {[RZ_RECOVERY_REINIT] = "reinit",
                                             [RZ_RECOVERY_REPLACE] = "replace",
                                             [RZ_RECOVERY_RESTART] = "restart"};

const char *const rz_recovery_phase_names[RZ_RECOVERY_PHASE_COUNT] = {
    [RZ_RECOVERY_DETECT] = "detect",       [RZ_RECOVERY_SPREAD] = "spread",
    [RZ_RECOVERY_AGREE] = "agree",         [RZ_RECOVERY_STOP] = "stop",
    [RZ_RECOVERY_PLACE] = "place",         [RZ_RECOVERY_START] = "start",
    [RZ_RECOVERY_ROLL_BACK] = "roll_back", [RZ_RECOVERY_PROTECT] = "protect",
    [RZ_RECOVERY_BARRIER] = "barrier",     [RZ_RECOVERY_RESTORE] = "restore"};

/* A program that does not report that it continues is assumed to do so after this time. */
#define GOES_ON_AFTER (RZ_SECOND / 5)

static void later(rz_time *time, rz_time at)
{
    if (at > *time) {
        *time = at;
    }
}

static void earlier(rz_time *time, rz_time at)
{
    if (at && (!*time || at < *time)) {
        *time = at;
    }
}

/* ---- Work: at most a fixed number of dates of iterations, by which it is estimated ---- */

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

/* The recovery is over; what was lost is forgotten. */
static void go_on_working(struct rz_work *work)
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

/* ---- Init and finalize ---- */

void rz_timeline_open(struct rz_timeline *timeline, uint32_t n_ranks, struct rz_work *work,
                      const struct rz_recovery_times *before)
{
    *timeline = (struct rz_timeline){
        .n_ranks = n_ranks, .work = work, .ranks = calloc(n_ranks, sizeof(*timeline->ranks))};
    rz_need_memory(timeline->ranks, "for the times of a recovery");
    if (!before) {
        return;
    }
    timeline->way = RZ_RECOVERY_RESTART;
    timeline->open = true;
    timeline->failures = before->failures;
    timeline->rounds = before->rounds;
    timeline->killed = before->killed;
    timeline->seen = before->seen;
    timeline->stopped = before->run;
}

void rz_timeline_close(struct rz_timeline *timeline)
{
    free(timeline->ranks);
    timeline->ranks = NULL;
}

/* Resets the state of one round. */
static void begin_round(struct rz_timeline *timeline, uint32_t epoch, uint64_t generation)
{
    timeline->epoch = epoch;
    timeline->generation = generation;
    timeline->rounds++;
    timeline->agreed = timeline->begun = timeline->started = timeline->back = 0;
    timeline->protected = timeline->run = timeline->restored = 0;
    timeline->n_going_on = 0;
}

/* ---- Events ---- */

/* A recovery begins. News of the failure may have arrived before its first notice. */
static void begin_recovery(struct rz_timeline *timeline)
{
    begin_round(timeline, timeline->epoch, timeline->generation);
    timeline->way = RZ_RECOVERY_REINIT;
    timeline->killed = timeline->seen = 0;
    timeline->damaged = 0;
    timeline->failures = timeline->rounds = 0;
    timeline->open = true;
}

void rz_timeline_failure(struct rz_timeline *timeline, rz_time killed, rz_time seen, bool another)
{
    if (!timeline->open) {
        begin_recovery(timeline);
    }
    timeline->failures += another;
    earlier(&timeline->killed, killed);
    earlier(&timeline->seen, seen);
    rz_work_failed(timeline->work, killed ? killed : seen);
}

static void timeline_on_epoch(struct rz_timeline *timeline, const struct rz_launch_event *event)
{
    if (event->epoch < timeline->epoch) {
        return;
    }
    if (event->epoch > 1 && event->epoch > timeline->epoch && !timeline->open) {
        begin_recovery(timeline); /* the notice of the failure is on its way, from another node */
    }
    if (event->epoch > timeline->epoch) {
        begin_round(timeline, event->epoch, event->value);
    }
    later(&timeline->agreed, event->at_ns);
}

static struct rz_timeline_rank *rank_of(struct rz_timeline *timeline,
                                        const struct rz_launch_event *event)
{
    return event->rank < timeline->n_ranks ? &timeline->ranks[event->rank] : NULL;
}

static void timeline_on_spawned(struct rz_timeline *timeline, const struct rz_launch_event *event)
{
    struct rz_timeline_rank *rank = rank_of(timeline, event);
    if (event->value != RZ_START_REPLACES || !rank || event->incarnation < rank->incarnation) {
        return;
    }
    timeline->way = RZ_RECOVERY_REPLACE;
    timeline->replaced = true;
    later(&timeline->agreed, event->at_ns);
    if (event->incarnation == rank->incarnation) {
        return; /* other nodes report the same spawn */
    }
    timeline->n_awaited += !rank->awaited;
    *rank = (struct rz_timeline_rank){.incarnation = event->incarnation, .awaited = true};
}

static void timeline_on_joined(struct rz_timeline *timeline, const struct rz_launch_event *event)
{
    struct rz_timeline_rank *rank = rank_of(timeline, event);
    if (!rank || event->incarnation < rank->incarnation) {
        return;
    }
    timeline->n_awaited -= rank->awaited;
    rank->awaited = false;
    rank->incarnation = event->incarnation;
    rank->joined = event->epoch;
    if (timeline->way == RZ_RECOVERY_REPLACE) {
        later(&timeline->started, event->at_ns);
    }
}

static void timeline_on_at_start(struct rz_timeline *timeline, const struct rz_launch_event *event)
{
    struct rz_timeline_rank *rank = rank_of(timeline, event);
    if (!rank || event->epoch != timeline->epoch || event->incarnation < rank->incarnation) {
        return;
    }
    bool spawned_process = rank->joined == event->epoch;
    rank->at_start = event->epoch;
    later(spawned_process ? &timeline->started : &timeline->back, event->at_ns);
}

static void goes_on(struct rz_timeline *timeline, struct rz_timeline_rank *rank)
{
    timeline->n_going_on += rank->going_on != timeline->epoch;
    rank->going_on = timeline->epoch;
}

static void timeline_on_restored(struct rz_timeline *timeline, const struct rz_launch_event *event)
{
    struct rz_timeline_rank *rank = rank_of(timeline, event);
    later(&timeline->restored, event->at_ns);
    if (timeline->way == RZ_RECOVERY_RESTART) {
        timeline->generation = event->value;
    }
    if (rank) {
        goes_on(timeline, rank);
    }
}

void rz_timeline_event(struct rz_timeline *timeline, const struct rz_launch_event *event)
{
    bool now = event->epoch == timeline->epoch;
    switch (event->kind) {
    case RZ_EVENT_RECORD_FAILURE_NEWS:
        later(&timeline->news, event->at_ns);
        break;
    case RZ_EVENT_RECORD_EPOCH:
        timeline_on_epoch(timeline, event);
        break;
    case RZ_EVENT_RECORD_SPAWNED:
        timeline_on_spawned(timeline, event);
        break;
    case RZ_EVENT_RECORD_BEGUN:
        if (now) {
            later(&timeline->begun, event->at_ns);
        }
        break;
    case RZ_EVENT_RECORD_JOINED:
        timeline_on_joined(timeline, event);
        break;
    case RZ_EVENT_RECORD_AT_START:
        timeline_on_at_start(timeline, event);
        break;
    case RZ_EVENT_RECORD_PROTECTED:
        if (now) {
            later(&timeline->protected, event->at_ns);
        }
        break;
    case RZ_EVENT_RECORD_RUN:
        if (now) {
            later(&timeline->run, event->at_ns);
        }
        break;
    case RZ_EVENT_RECORD_RESTORED:
        if (now) {
            timeline_on_restored(timeline, event);
        }
        break;
    case RZ_EVENT_RECORD_FELL_BACK: /* stays so if there is another round */
        if (now) {
            timeline->damaged = event->value;
        }
        break;
    default:
        break;
    }
}

/* Whether the mark was made after the failure. Marks that a process made before it may still arrive
 * when its daemon knows the new epoch, until the process is at the start. */
static bool is_after(const struct rz_timeline *timeline, const struct rz_timeline_rank *rank,
                     const struct rz_launch_mark *mark)
{
    switch (timeline->way) {
    case RZ_RECOVERY_REINIT:
        return timeline->rounds > 0 && mark->epoch == timeline->epoch &&
               rank->at_start == timeline->epoch;
    case RZ_RECOVERY_REPLACE: /* the spawned process says where it continues; the others are there,
                                 too */
        return timeline->replaced && timeline->n_awaited == 0 &&
               (rank->incarnation > 1 || timeline->work->resumed);
    case RZ_RECOVERY_RESTART:
        return true;
    }
    return false;
}

void rz_timeline_mark(struct rz_timeline *timeline, const struct rz_launch_mark *mark)
{
    if (mark->rank >= timeline->n_ranks) {
        return; /* of a spawned process: it counts its own iterations */
    }
    struct rz_timeline_rank *rank = &timeline->ranks[mark->rank];
    if (!timeline->open || !is_after(timeline, rank, mark)) {
        rz_work_mark(timeline->work, mark->iteration, mark->at_ns);
        return;
    }
    rz_work_resume(timeline->work, mark->iteration, mark->at_ns);
    goes_on(timeline, rank);
    if (timeline->run && mark->at_ns > timeline->run + GOES_ON_AFTER) {
        timeline->n_going_on = timeline->n_ranks;
    }
}

/* ---- Results ---- */

bool rz_timeline_runs(const struct rz_timeline *timeline)
{
    if (!timeline->open) {
        return false;
    }
    if (timeline->way == RZ_RECOVERY_REPLACE) {
        return timeline->replaced && timeline->n_awaited == 0 && timeline->started > 0;
    }
    return timeline->rounds > 0 && timeline->run > 0;
}

bool rz_timeline_settled(const struct rz_timeline *timeline)
{
    if (!rz_timeline_runs(timeline)) {
        return false;
    }
    if (timeline->way != RZ_RECOVERY_RESTART && !timeline->seen) {
        return false; /* whoever saw the failure is read later than those that heard of it */
    }
    return timeline->way == RZ_RECOVERY_REPLACE ? timeline->work->resumed
                                                : timeline->n_going_on >= timeline->n_ranks;
}

/* From the latest end of the phases before until `to`, which becomes the end; NAN: there is no
 * `to`. */
static double phase(rz_time *end, rz_time to)
{
    rz_time from = *end;
    if (!to) {
        return NAN;
    }
    later(end, to);
    return from ? (double)(*end - from) / 1e6 : NAN;
}

static double since(rz_time from, rz_time to)
{
    return !from || !to ? NAN : to > from ? (double)(to - from) / 1e6 : 0;
}

static void measure(const struct rz_timeline *timeline, struct rz_recovery_times *times)
{
    double *ms = times->phase_ms;
    bool restart = timeline->way == RZ_RECOVERY_RESTART;
    rz_time end = timeline->killed ? timeline->killed : timeline->seen;
    rz_time whole = end;
    ms[RZ_RECOVERY_DETECT] = timeline->killed ? phase(&end, timeline->seen) : NAN;
    ms[RZ_RECOVERY_SPREAD] = phase(&end, restart ? 0 : timeline->news);
    ms[RZ_RECOVERY_AGREE] = phase(&end, restart ? 0 : timeline->agreed);
    ms[RZ_RECOVERY_STOP] = phase(&end, timeline->stopped);
    ms[RZ_RECOVERY_ROLL_BACK] = since(end, timeline->back);
    ms[RZ_RECOVERY_PROTECT] = since(end, restart ? 0 : timeline->protected);
    ms[RZ_RECOVERY_PLACE] = phase(&end, timeline->begun);
    ms[RZ_RECOVERY_START] = phase(&end, timeline->started);
    later(&end, timeline->back);
    later(&end, timeline->protected);
    ms[RZ_RECOVERY_BARRIER] = phase(&end, timeline->run);
    times->whole_ms = since(whole, end);
    ms[RZ_RECOVERY_RESTORE] = phase(&end, timeline->restored);
}

/* Whoever saw the failure may have ended before it said so. */
static rz_time seen_by(const struct rz_timeline *timeline)
{
    return timeline->seen ? timeline->seen : timeline->killed ? timeline->killed : timeline->agreed;
}

bool rz_timeline_take(struct rz_timeline *timeline, struct rz_recovery_times *times)
{
    if (!rz_timeline_runs(timeline)) {
        return false;
    }
    *times = (struct rz_recovery_times){.way = timeline->way,
                                        .epoch = timeline->epoch,
                                        .failures = timeline->failures,
                                        .rounds = timeline->rounds,
                                        .killed = timeline->killed,
                                        .seen = seen_by(timeline),
                                        .run = timeline->run,
                                        .restored = timeline->restored,
                                        .generation = timeline->generation,
                                        .damaged = timeline->damaged};
    measure(timeline, times);
    times->lost = rz_work_lost(timeline->work);
    go_on_working(timeline->work);
    timeline->open = timeline->replaced = false;
    timeline->stopped = timeline->news = 0;
    return true;
}

bool rz_timeline_again(struct rz_timeline *timeline, rz_time stopped,
                       struct rz_recovery_times *times)
{
    if (!timeline->open) {
        return false;
    }
    *times = (struct rz_recovery_times){.failures = timeline->failures,
                                        .killed = timeline->killed,
                                        .seen = timeline->seen,
                                        .run = stopped};
    return true;
}

/* ---- Text ---- */

void rz_recovery_times_record(const struct rz_recovery_times *times, FILE *report)
{
    fprintf(report, "event=recovery way=%s epoch=%u failures=%u rounds=%u generation=%llu",
            rz_recovery_way_names[times->way], times->epoch, times->failures, times->rounds,
            (unsigned long long)times->generation);
    if (times->damaged) {
        fprintf(report, " damaged_generation=%llu", (unsigned long long)times->damaged);
    }
    for (int i = 0; i < RZ_RECOVERY_PHASE_COUNT; i++) {
        if (!isnan(times->phase_ms[i])) {
            fprintf(report, " %s_ms=%.3f", rz_recovery_phase_names[i], times->phase_ms[i]);
        }
    }
    if (!isnan(times->whole_ms)) {
        fprintf(report, " whole_ms=%.3f", times->whole_ms);
    }
    if (times->lost.known) {
        fprintf(report, " newest_iteration=%llu again_iteration=%llu lost_iterations=%llu",
                (unsigned long long)times->lost.to, (unsigned long long)times->lost.from,
                (unsigned long long)(times->lost.to - times->lost.from));
    }
    if (!isnan(times->lost.seconds)) {
        fprintf(report, " lost_s=%.6f", times->lost.seconds);
    }
    fputc('\n', report);
    fflush(report);
}

void rz_recovery_tell(const struct rz_recovery_times *times, FILE *terminal)
{
    const char *comma = "            ";
    for (int i = 0; i < RZ_RECOVERY_PHASE_COUNT; i++) {
        if (!isnan(times->phase_ms[i])) {
            const char *name =
                i == RZ_RECOVERY_ROLL_BACK ? "roll back" : rz_recovery_phase_names[i];
            fprintf(terminal, "%s%s %.2f", comma, name, times->phase_ms[i]);
            comma = ", ";
        }
    }
    fprintf(terminal, " ms\n");
    if (times->damaged) {
        fprintf(terminal, "            checkpoint %llu could not be restored: back to %s\n",
                (unsigned long long)times->damaged,
                times->generation ? "the one before" : "the start of the program");
    }
    if (!times->lost.known) {
        return;
    }
    fprintf(terminal, "            continues with iteration %llu of %llu: %llu lost",
            (unsigned long long)times->lost.from, (unsigned long long)times->lost.to,
            (unsigned long long)(times->lost.to - times->lost.from));
    if (!isnan(times->lost.seconds)) {
        fprintf(terminal, ", %.3f s of work", times->lost.seconds);
    }
    fputc('\n', terminal);
}
