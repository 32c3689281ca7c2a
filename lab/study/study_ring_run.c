/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of the ring with its broadcast, combined as in the paper, and the dates at which members
 * learn of failures. */
#include "study/study_ring_run.h"

#include "base/assert.h"
#include "base/lateness.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

RZ_PROTOCOL(ring, RZ_PROTOCOL_RING);
RZ_PROTOCOL(spread, RZ_PROTOCOL_SPREAD);
RZ_PROTOCOL(recover, RZ_PROTOCOL_RECOVER);

/* As src/daemon: state/core.h, recovery/silence.c. */
#define REDUNDANT_AFTER (10 * RZ_MILLISECOND)
#define ANSWER_TIMEOUTS 3

static void *memory(size_t bytes)
{
    void *block = calloc(1, bytes > 0 ? bytes : 1);
    rz_assert(block != NULL);
    return block;
}

static double milliseconds(rz_time time)
{
    return time == RZ_TIME_NEVER ? NAN : (double)time / (double)RZ_MILLISECOND;
}

/* ---- life ---- */

static void draw_slow(struct rz_ring_run *run, uint32_t count)
{
    struct rz_random random = {rz_mix(run->seed, 0x736C6F77)};
    run->slow = memory(run->n);
    while (count > 0) {
        rz_id id = (rz_id)rz_random_below(&random, run->n);
        count -= !run->slow[id];
        run->slow[id] = 1;
    }
}

void rz_ring_run_begin(struct rz_ring_run *run, const struct rz_study_options *options, uint32_t n,
                       uint32_t n_news, uint64_t seed)
{
    *run = (struct rz_ring_run){.options = options, .n = n, .n_news = n_news, .seed = seed};
    run->network = rz_study_network(options);
    run->embedded = options->flat ? 0 : options->per_node;
    if (!options->flat) {
        run->network.per_node = 1;
    }
    run->ring = (struct rz_ring_config){
        .n_members = n, .hb_period = options->hb_period, .hb_timeout = options->hb_timeout};
    run->spread = (struct rz_spread_config){.n_members = n,
                                            .order = options->near_first || options->flat
                                                         ? RZ_SPREAD_NEAR_FIRST
                                                         : RZ_SPREAD_TREE_FIRST};
    run->news = memory(n_news * sizeof(*run->news));
    run->doomed = memory(n);
    run->living = n;
    if (options->slow > 0) {
        draw_slow(run, options->slow < n ? options->slow : n);
    }
}

rz_time rz_ring_phase(uint64_t seed, rz_time period, rz_id member)
{
    struct rz_random random = {rz_mix(rz_mix(seed, 0x70686173), member)};
    return 1 + rz_random_below(&random, period);
}

static void combine_as_daemon(struct rz_ring_run *run)
{
    run->roll_call = true;
    run->ring.held = true;
    run->ring.lateness_max = RZ_LATENESS_MAX;
    run->spread.redundant_after = REDUNDANT_AFTER;
    run->placement = memory(run->n * sizeof(*run->placement));
    run->slots = memory(run->n * sizeof(*run->slots));
    run->asked_at = memory(run->n * sizeof(*run->asked_at));
    for (uint32_t i = 0; i < run->n; i++) {
        run->placement[i] = i;
        run->slots[i] = 1;
    }
    run->recover = (struct rz_recover_config){.n_daemons = run->n,
                                              .n_ranks = run->n,
                                              .tie_breaker = RZ_ID_NONE,
                                              .placement = run->placement,
                                              .slots = run->slots};
}

/* The first heartbeat to a member comes up to a period after the one that it would expect of a
 * member with its own start: the host gives the first timeout that much more. */
void rz_ring_run_with_ring(struct rz_ring_run *run)
{
    run->with_ring = true;
    if (run->options->as_daemon) {
        combine_as_daemon(run);
    }
    if (run->options->phases == RZ_STUDY_PHASES_INDEPENDENT) {
        run->begin = run->ring.start_slack = run->options->hb_period;
    }
}

void rz_ring_run_end(struct rz_ring_run *run)
{
    free(run->news);
    free(run->doomed);
    free(run->slow);
    free(run->placement);
    free(run->slots);
    free(run->asked_at);
}

void rz_ring_run_expect(struct rz_ring_run *run)
{
    for (uint32_t i = 0; i < run->n_news; i++) {
        run->news[i].seen_at = RZ_TIME_NEVER;
        run->news[i].known_at = 0;
        run->news[i].known_by = 0;
    }
    run->missing = run->living * run->n_news;
    run->curve_step = run->missing / RZ_RING_CURVE_MAX + 1;
}

rz_time rz_ring_run_all_know(const struct rz_ring_run *run)
{
    rz_time last = 0;
    for (uint32_t i = 0; i < run->n_news; i++) {
        last = run->news[i].known_at > last ? run->news[i].known_at : last;
    }
    bool any = run->n_news > 0 && run->living > 0;
    return run->missing > 0 || !any ? RZ_TIME_NEVER : last;
}

/* ---- knowledge ---- */

/* What is broadcast of a member. */
static uint64_t item_of(const struct rz_ring_run *run, uint64_t member)
{
    return run->roll_call ? rz_recover_pack_daemon((rz_id)member, false) : member;
}

static uint64_t member_of(const struct rz_ring_run *run, uint64_t item)
{
    rz_id member = RZ_ID_NONE;
    bool proof;
    if (!run->roll_call) {
        return item;
    }
    bool daemon = rz_recover_unpack_daemon(item, &member, &proof);
    rz_assert(daemon);
    return member;
}

static struct rz_ring_news *find_news(struct rz_ring_run *run, uint64_t item)
{
    uint32_t low = 0, high = run->n_news;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (run->news[middle].item < item) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < run->n_news && run->news[low].item == item ? &run->news[low] : NULL;
}

static void learn(struct rz_ring_run *run, struct rz_timing *timing, struct rz_ring_news *news,
                  rz_time at)
{
    news->known_by++;
    if (at > news->known_at) {
        news->known_at = at;
    }
    if (run->learnt++ % run->curve_step == 0 && run->n_curve < RZ_RING_CURVE_MAX) {
        run->curve_at[run->n_curve++] = at;
    }
    if (--run->missing == 0) {
        rz_timing_stop(timing);
    }
}

/* A living member gives up, because others consider it failed. */
static void failed(struct rz_timing *timing, rz_id member)
{
    struct rz_ring_run *run = rz_timing_study(timing);
    if (run->doomed[member]) {
        return;
    }
    run->doomed[member] = 1;
    run->living--;
    const void *spread = rz_timing_state(timing, member, run->with_ring ? RZ_RING_PART_SPREAD : 0);
    for (uint32_t i = 0; i < run->n_news; i++) {
        bool knew = rz_spread_knows(spread, item_of(run, run->news[i].item));
        run->news[i].known_by -= knew;
        run->missing -= !knew;
    }
}

/* ---- the host ---- */

/* A member holds another for failed, and tells all. */
static void found(struct rz_ring_run *run, struct rz_timing *timing, rz_id member, rz_id failed)
{
    uint64_t item = item_of(run, failed);
    struct rz_ring_news *news = find_news(run, failed);
    if (rz_timing_alive(timing, failed)) {
        run->false_failure_reports++;
    } else if (news && news->seen_at == RZ_TIME_NEVER) {
        news->seen_at = rz_timing_now(timing);
    }
    rz_timing_call(
        timing, member, RZ_RING_PART_SPREAD, 0,
        &(struct rz_timing_request){.call = RZ_SPREAD_BROADCAST, .items = &item, .n_items = 1});
}

static void fenced(struct rz_ring_run *run, struct rz_timing *timing, rz_id member)
{
    if (!run->roll_call ||
        rz_recover_fence_binds(rz_timing_state(timing, member, RZ_RING_PART_RECOVER))) {
        rz_timing_kill(timing, member, 0);
    }
}

static void on_ring(struct rz_ring_run *run, struct rz_timing *timing, rz_id member,
                    const struct rz_action *notice)
{
    if (notice->what == RZ_RING_FENCED) {
        fenced(run, timing, member);
    } else if (notice->what == RZ_RING_SUSPECT && run->roll_call) {
        rz_timing_call(timing, member, RZ_RING_PART_RECOVER, 0,
                       &(struct rz_timing_request){.call = RZ_RECOVER_SUSPECT,
                                                   .arg = (uint64_t[4]){notice->arg[0]}});
    } else if (notice->what == RZ_RING_SUSPECT) {
        found(run, timing, member, (rz_id)notice->arg[0]);
    }
}

/* As src/daemon/recovery/silence.c, but for processors that daemons wait for. Epochs have no
 * processes here: only their agreements take place. */
static void on_recover(struct rz_ring_run *run, struct rz_timing *timing, rz_id member,
                       const struct rz_action *notice)
{
    rz_time now = rz_timing_now(timing);
    if (notice->what == RZ_RECOVER_REPORT) {
        found(run, timing, member, (rz_id)notice->arg[0]);
    } else if (notice->what == RZ_RECOVER_ASKING) {
        run->asked_at[member] = now;
        rz_timing_alarm(timing, now + ANSWER_TIMEOUTS * run->ring.hb_timeout, member);
    } else if (notice->what == RZ_RECOVER_STOP) {
        rz_timing_kill(timing, member, 0);
    }
}

/* A roll call has had its time: too few have answered, so that this member is cut off. */
static void look_at_roll_call(struct rz_timing *timing, uint64_t what)
{
    const struct rz_ring_run *run = rz_timing_study(timing);
    rz_id member = (rz_id)what;
    const struct rz_recover *recover = rz_timing_state(timing, member, RZ_RING_PART_RECOVER);
    rz_time until = run->asked_at[member] + ANSWER_TIMEOUTS * run->ring.hb_timeout;
    if (rz_timing_alive(timing, member) && rz_timing_now(timing) >= until &&
        rz_recover_asking(recover) &&
        !rz_recover_has_quorum(rz_recover_answers(recover), run->n, RZ_ID_NONE)) {
        rz_timing_kill(timing, member, 0);
    }
}

static void received(struct rz_timing *timing, rz_id member, rz_id from)
{
    if (rz_recover_asking(rz_timing_state(timing, member, RZ_RING_PART_RECOVER))) {
        rz_timing_call(
            timing, member, RZ_RING_PART_RECOVER, 0,
            &(struct rz_timing_request){.call = RZ_RECOVER_HEARD, .arg = (uint64_t[4]){from}});
    }
}

/* The daemon informs its processes, one after the other; the date when the last one knows. */
static rz_time tell_processes(struct rz_ring_run *run, struct rz_timing *timing, rz_id member)
{
    if (run->embedded == 0) {
        return rz_timing_now(timing);
    }
    run->local_messages += run->embedded;
    return rz_timing_work(timing, member, run->embedded * run->network.send_overhead_local) +
           run->network.latency_local + run->network.receive_overhead_local;
}

/* As src/daemon/recovery/recovery.c: each failure is reported to the other components; a member
 * that learns of its own is fenced. */
static void on_spread(struct rz_ring_run *run, struct rz_timing *timing, rz_id member,
                      const struct rz_action *notice)
{
    rz_time at = tell_processes(run, timing, member);
    for (uint32_t i = 0; i < notice->n_items; i++) {
        struct rz_ring_news *news = find_news(run, member_of(run, notice->items[i]));
        if (news && !run->doomed[member]) {
            learn(run, timing, news, at);
        }
        if (!run->with_ring) {
            continue;
        }
        rz_id failed = (rz_id)member_of(run, notice->items[i]);
        if (failed == member && run->roll_call) {
            fenced(run, timing, member);
            continue;
        }
        rz_timing_tell(timing, member, RZ_RING_PART_RING, 0, &failed, 1);
        if (failed != member) {
            rz_timing_tell(timing, member, RZ_RING_PART_SPREAD, 0, &failed, 1);
        }
        if (run->roll_call) {
            rz_timing_tell(timing, member, RZ_RING_PART_RECOVER, 0, &failed, 1);
        }
    }
}

static void notified(struct rz_timing *timing, rz_id member, uint32_t part,
                     const struct rz_action *notice)
{
    struct rz_ring_run *run = rz_timing_study(timing);
    if (run->with_ring && part == RZ_RING_PART_RING) {
        on_ring(run, timing, member, notice);
    } else if (run->roll_call && part == RZ_RING_PART_RECOVER) {
        on_recover(run, timing, member, notice);
    } else {
        on_spread(run, timing, member, notice);
    }
}

/* ---- the setup ---- */

static const void *config(struct rz_timing *timing, rz_id member, uint32_t part)
{
    const struct rz_ring_run *run = rz_timing_study(timing);
    (void)member;
    if (run->with_ring && part == RZ_RING_PART_RING) {
        return &run->ring;
    }
    if (run->roll_call && part == RZ_RING_PART_RECOVER) {
        return &run->recover;
    }
    return &run->spread;
}

static rz_time starts(struct rz_timing *timing, rz_id member)
{
    const struct rz_ring_run *run = rz_timing_study(timing);
    return rz_ring_phase(run->seed, run->begin, member);
}

static rz_time slow_senders(struct rz_timing *timing, rz_id from, rz_id to)
{
    const struct rz_ring_run *run = rz_timing_study(timing);
    (void)to;
    return run->slow[from] ? run->options->slow_by : 0;
}

static const char *ring_or_spread_message(uint32_t part, uint8_t type)
{
    static const char *const names[] = {"HEARTBEAT", "REQUEST", "QUIT"};
    static const char *const calls[] = {"DOUBT", "ASK", "HERE"};
    if (part == RZ_RING_PART_RECOVER) {
        return type < RZ_RECOVER_DOUBT ? "AGREE" : calls[type - RZ_RECOVER_DOUBT];
    }
    return part == RZ_RING_PART_RING ? names[type] : "NEWS";
}

static const char *spread_message(uint32_t part, uint8_t type)
{
    (void)part, (void)type;
    return "NEWS";
}

static const char *ring_or_spread_notice(uint32_t part, uint32_t what)
{
    static const char *const names[] = {"SUSPECT", "LEFT", "FENCED"};
    if (part == RZ_RING_PART_RECOVER) {
        return what == RZ_RECOVER_ASKING   ? "ASKING"
               : what == RZ_RECOVER_REPORT ? "REPORT"
                                           : "DECIDED";
    }
    return part == RZ_RING_PART_RING ? names[what] : "DELIVER";
}

static const char *spread_notice(uint32_t part, uint32_t what)
{
    (void)part, (void)what;
    return "DELIVER";
}

struct rz_timing_setup rz_ring_run_setup(struct rz_ring_run *run)
{
    struct rz_timing_setup setup = {
        .members = run->n,
        .network = run->network,
        .seed = run->seed,
        .study = run,
        .config = config,
        .starts = run->begin > 0 ? starts : NULL,
        .notified = notified,
        .failed = failed,
        .delay = run->slow ? slow_senders : NULL,
        .message_name = run->with_ring ? ring_or_spread_message : spread_message,
        .notice_name = run->with_ring ? ring_or_spread_notice : spread_notice};
    if (run->with_ring) {
        setup.parts[setup.n_parts++] = &rz_protocol_ring;
    }
    setup.parts[setup.n_parts++] = &rz_protocol_spread;
    if (run->roll_call) {
        setup.parts[setup.n_parts++] = &rz_protocol_recover;
        setup.alarm = look_at_roll_call;
        setup.received = received;
    }
    return setup;
}

/* ---- what is shown ---- */

void rz_ring_columns(struct rz_table *table, bool seen)
{
    rz_table_column(table, "trial", "trial", NULL);
    if (seen) {
        rz_table_column(table, "detect_first_ms", "first detection", "ms");
        rz_table_column(table, "detect_last_ms", "last detection", "ms");
    }
    rz_table_column(table, "known_ms", "all know", "ms");
    rz_table_column(table, "messages", "messages", NULL);
    rz_table_column(table, "bytes", "bytes", NULL);
    if (seen) {
        rz_table_column(table, "heartbeats", "heartbeats", NULL);
        rz_table_column(table, "requests", "requests", NULL);
    }
    rz_table_column(table, "news", "news", NULL);
    rz_table_column(table, "local_messages", "local messages", NULL);
    rz_table_column(table, "messages_hot", "most by one", NULL);
    if (seen) {
        rz_table_column(table, "false_failure_reports", "false failure reports", NULL);
    }
    rz_table_column(table, "lasted_ms", "virtual time", "ms");
    rz_table_column(table, "events", "events", NULL);
    rz_table_column(table, "seconds", "processor time", "s");
    rz_table_column(table, "event_ns", "per event", "ns");
    rz_table_column(table, "bytes_member", "memory per member", "B");
}

/* A member that was considered failed before its date of failure was known from the start. */
static double after(rz_time date, rz_time failure)
{
    return date > failure ? milliseconds(date - failure) : 0;
}

/* For each failure from its own date: when it was detected, and when all members knew it. */
static void latencies(const struct rz_ring_run *run, double *first, double *last, double *known)
{
    *first = *last = NAN;
    *known = rz_ring_run_all_know(run) == RZ_TIME_NEVER ? NAN : 0;
    bool all_seen = true;
    for (uint32_t i = 0; i < run->n_news; i++) {
        const struct rz_ring_news *news = &run->news[i];
        double all = after(news->known_at, news->at);
        *known = all > *known ? all : *known;
        if (news->seen_at == RZ_TIME_NEVER) {
            all_seen = false;
            continue;
        }
        *first = fmin(*first, after(news->seen_at, news->at)); /* of two, not the NAN */
        *last = fmax(*last, after(news->seen_at, news->at));
    }
    if (!all_seen) {
        *last = NAN;
    }
}

void rz_ring_row(struct rz_table *table, const struct rz_ring_run *run,
                 const struct rz_timing *timing, uint32_t trial, bool seen)
{
    double first, last, known;
    latencies(run, &first, &last, &known);
    struct rz_timing_counts news =
        rz_timing_count(timing, run->with_ring ? RZ_RING_PART_SPREAD : 0, UINT32_MAX);
    struct rz_timing_counts ring = {0}, recover = {0};
    if (run->with_ring) {
        ring = rz_timing_count(timing, RZ_RING_PART_RING, UINT32_MAX);
    }
    if (run->roll_call) {
        recover = rz_timing_count(timing, RZ_RING_PART_RECOVER, UINT32_MAX);
    }
    struct rz_timing_cost cost = rz_timing_cost(timing);
    rz_table_row(table);
    rz_table_number(table, trial);
    if (seen) {
        rz_table_number(table, first);
        rz_table_number(table, last);
    }
    rz_table_number(table, known);
    rz_table_number(table, (double)(news.messages + ring.messages + recover.messages));
    rz_table_number(table, (double)(news.bytes + ring.bytes + recover.bytes));
    if (seen) {
        rz_table_number(table, (double)rz_timing_count(timing, 0, RZ_RING_HEARTBEAT).messages);
        rz_table_number(table, (double)rz_timing_count(timing, 0, RZ_RING_REQUEST).messages);
    }
    rz_table_number(table, (double)news.messages);
    rz_table_number(table, (double)run->local_messages);
    rz_table_number(table, (double)rz_timing_hottest(timing).sent);
    if (seen) {
        rz_table_number(table, (double)run->false_failure_reports);
    }
    rz_table_number(table, milliseconds(rz_timing_now(timing) - run->begin));
    rz_table_number(table, (double)cost.events);
    rz_table_number(table, cost.seconds);
    rz_table_number(table, cost.seconds * 1e9 / (double)(cost.events > 0 ? cost.events : 1));
    rz_table_number(table, (double)cost.bytes_peak / run->n);
}

static int by_date(const void *a, const void *b)
{
    rz_time x = *(const rz_time *)a, y = *(const rz_time *)b;
    return x < y ? -1 : x > y;
}

/* The dissemination of the first failure detected: the millisecond after its detection. */
static void draw_close(struct rz_chart *chart, const struct rz_ring_run *run, rz_time from)
{
    rz_chart_panel(chart, NULL, "microseconds since the first detection",
                   run->n_news > 1 ? "members that know (mean)" : "members that know");
    rz_chart_curve(chart, "members that know", RZ_CHART_STEPS);
    rz_chart_point(chart, 0, 0);
    for (uint32_t i = 0; i < run->n_curve && run->curve_at[i] <= from + RZ_MILLISECOND; i++) {
        rz_chart_point(chart, ((double)run->curve_at[i] - (double)from) / (double)RZ_MICROSECOND,
                       ((double)i * (double)run->curve_step + 1) / run->n_news);
    }
}

void rz_ring_draw_curve(struct rz_chart *chart, struct rz_ring_run *run)
{
    rz_time begin = RZ_TIME_NEVER, seen = RZ_TIME_NEVER;
    for (uint32_t i = 0; i < run->n_news; i++) {
        begin = run->news[i].at < begin ? run->news[i].at : begin;
        seen = run->news[i].seen_at < seen ? run->news[i].seen_at : seen;
    }
    if (run->n_news == 0) {
        return;
    }
    /* Members inform their processes at their own time: the last one of each may be late. */
    qsort(run->curve_at, run->n_curve, sizeof(*run->curve_at), by_date);
    rz_chart_labels(chart, NULL, run->with_ring ? "milliseconds since the first failure" : "ms",
                    run->n_news > 1 ? "members that know (mean)" : "members that know");
    rz_chart_curve(chart, "members that know", RZ_CHART_STEPS);
    rz_chart_point(chart, 0, 0);
    for (uint32_t i = 0; i < run->n_curve; i++) {
        rz_chart_point(chart, milliseconds(run->curve_at[i]) - milliseconds(begin),
                       ((double)i * (double)run->curve_step + 1) / run->n_news);
    }
    if (run->with_ring && seen != RZ_TIME_NEVER) {
        draw_close(chart, run, seen);
    }
}
