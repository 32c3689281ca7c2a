/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of agreements: proposals one after the other, failures at drawn dates, network adapters
 * that ranks of a node share, and the dates of decisions. */
#include "study/study_agree_run.h"

#include "base/assert.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>

RZ_PROTOCOL(agree, RZ_PROTOCOL_AGREE);
RZ_PROTOCOL(twophase, RZ_PROTOCOL_TWOPHASE);
RZ_PROTOCOL(rounds, RZ_PROTOCOL_ROUNDS);

static void *memory(size_t bytes)
{
    void *block = calloc(1, bytes > 0 ? bytes : 1);
    rz_assert(block);
    return block;
}

/* Between nodes about what is published for the Aries network: 1.3 us, and half a microsecond of
 * processor time at each end; a node's adapter, which its ranks share, sends ten million messages
 * a second. Within a node a message is a copy in memory. */
void rz_agree_defaults(struct rz_study_options *options)
{
    options->members = 1024;
    options->per_node = 16;
    options->kill = 0;
    options->payload = 0;
    options->tree = RZ_STUDY_TREE_BIN_BIN;
    options->latency = 1300;
    options->latency_local = 300;
    options->jitter = 0;
    options->send_overhead = options->receive_overhead = 500;
}

/* ---- adapters ---- */

void rz_agree_adapters_begin(struct rz_agree_adapters *adapters, uint32_t members,
                             const struct rz_timing_network *network)
{
    uint32_t per_node = network->per_node > 0 ? network->per_node : 1;
    *adapters = (struct rz_agree_adapters){
        .per_node = per_node, .overhead = network->send_overhead, .sender = RZ_ID_NONE};
    adapters->free_at = memory((members / per_node + 1) * sizeof(*adapters->free_at));
}

void rz_agree_adapters_end(struct rz_agree_adapters *adapters)
{
    free(adapters->free_at);
}

rz_time rz_agree_adapters_wait(struct rz_agree_adapters *adapters, rz_time now, rz_id from,
                               rz_id to)
{
    uint32_t node = from / adapters->per_node;
    if (to / adapters->per_node == node) {
        return 0;
    }
    if (adapters->sender != from || adapters->sender_at != now) {
        adapters->sent = 0;
    }
    adapters->sender = from;
    adapters->sender_at = now;
    rz_time left = now + ++adapters->sent * adapters->overhead;
    rz_time *free_at = &adapters->free_at[node];
    rz_time at = *free_at > left ? *free_at : left;
    *free_at = at + RZ_AGREE_ADAPTER_GAP;
    return at - left;
}

static rz_time adapter_wait(struct rz_timing *timing, rz_id from, rz_id to)
{
    struct rz_agree_run *run = rz_timing_study(timing);
    return rz_agree_adapters_wait(&run->adapters, rz_timing_now(timing), from, to);
}

/* ---- the names of each protocol ---- */

static const struct rz_protocol *protocol_of(enum rz_agree_protocol protocol)
{
    static const struct rz_protocol *const protocols[] = {&rz_protocol_agree, &rz_protocol_twophase,
                                                          &rz_protocol_rounds};
    return protocols[protocol];
}

static const char *const messages_of[3][7] = {
    {"UP", "DOWN", "REQUEST"},
    {"VOTE", "DECISION", "QUERY", "GATHER", "ABORT", "ASK"},
    {"ESTIMATE", "DECISION"}};

static const char *message_name_agree(uint32_t part, uint8_t type)
{
    (void)part;
    return messages_of[RZ_AGREE_BY_ERA][type];
}

static const char *message_name_twophase(uint32_t part, uint8_t type)
{
    (void)part;
    return messages_of[RZ_AGREE_BY_TWOPHASE][type];
}

static const char *message_name_rounds(uint32_t part, uint8_t type)
{
    (void)part;
    return messages_of[RZ_AGREE_BY_ROUNDS][type];
}

static const char *notice_name(uint32_t part, uint32_t what)
{
    (void)part;
    return what == 0 ? "DECIDED" : "WANTED";
}

static const void *config(struct rz_timing *timing, rz_id member, uint32_t part)
{
    const struct rz_agree_run *run = rz_timing_study(timing);
    (void)member, (void)part;
    switch (run->protocol) {
    case RZ_AGREE_BY_TWOPHASE:
        return &run->twophase;
    case RZ_AGREE_BY_ROUNDS:
        return &run->rounds;
    case RZ_AGREE_BY_ERA:
        break;
    }
    return &run->agree;
}

/* ---- the hosts ---- */

/* The call of all three components has number 0 and the flag, or `and`, first. */
static void propose(struct rz_agree_run *run, struct rz_timing *timing, rz_id member, rz_time at)
{
    uint64_t arg[4] = {~(UINT64_C(1) << member % 64), member, member, 0};
    rz_timing_call(
        timing, member, 0, at,
        &(struct rz_timing_request){
            .call = 0, .arg = arg, .items = run->items, .n_items = (uint32_t)run->n_items});
}

/* Whether the decision found a member failed that no earlier one had. */
static bool found_failed(struct rz_agree_run *run, struct rz_timing *timing, rz_id member,
                         const struct rz_action *notice)
{
    if (run->protocol == RZ_AGREE_BY_ERA) {
        uint32_t n_failed, before = run->n_failed[member];
        rz_agree_failed(rz_timing_state(timing, member, 0), &n_failed);
        run->n_failed[member] = n_failed;
        return n_failed != before;
    }
    uint64_t any = 0;
    for (uint32_t i = 0; i < notice->n_items; i++) {
        any |= notice->items[i];
    }
    return any != 0;
}

/* As Open MPI shrinks: the failed are agreed until nothing new is among them, then the greatest of
 * the lowest free context ids, whether all accept it, and the activation; each repeated in place
 * when it finds a failed member. True: the shrink is done. */
static bool shrunk(struct rz_agree_run *run, struct rz_timing *timing, rz_id member,
                   const struct rz_action *notice)
{
    run->stage[member] += !found_failed(run, timing, member, notice);
    return run->stage[member] == 4;
}

static void done(struct rz_agree_run *run, struct rz_timing *timing, rz_id member)
{
    if (run->doomed[member]) {
        return;
    }
    run->last_at = rz_timing_now(timing);
    if (run->left == run->living) {
        run->first_at = run->last_at;
    }
    if ((run->living - run->left) % run->curve_step == 0 && run->n_curve < RZ_AGREE_CURVE_MAX) {
        run->curve_at[run->n_curve++] = run->last_at;
    }
    run->left--;
}

/* arg[0] is the operation, except in rounds, which have one only. */
static void notified(struct rz_timing *timing, rz_id member, uint32_t part,
                     const struct rz_action *notice)
{
    struct rz_agree_run *run = rz_timing_study(timing);
    (void)part;
    if (notice->what != 0) {
        return; /* all propose anyhow */
    }
    bool rounds = run->protocol == RZ_AGREE_BY_ROUNDS;
    uint64_t seq = rounds ? 1 : notice->arg[0];
    uint64_t digest = rz_mix(rz_mix(seq, notice->arg[rounds ? 0 : 1]), notice->n_items);
    for (uint32_t i = 0; i < notice->n_items; i++) {
        digest = rz_mix(digest, notice->items[i]);
    }
    run->digest[member] = digest;
    uint32_t attempts = run->protocol == RZ_AGREE_BY_ERA ? 1 : (uint32_t)notice->arg[2];
    if (!run->doomed[member] && attempts > run->attempts) {
        run->attempts = attempts;
    }
    if (!run->doomed[member] && seq > run->decided) {
        run->decided = (uint32_t)seq;
    }
    if (run->shrinks ? shrunk(run, timing, member, notice) : seq == run->operations) {
        done(run, timing, member);
    } else {
        propose(run, timing, member, 0);
    }
}

/* ---- failures ---- */

/* About when the decision is on its way down, without failures. */
static rz_time expected(const struct rz_agree_run *run)
{
    const struct rz_timing_network *network = &run->network;
    uint32_t depth = 1;
    while ((UINT64_C(1) << depth) < run->n) {
        depth++;
    }
    return 3 * depth *
           (network->latency + network->jitter / 2 + network->send_overhead +
            network->receive_overhead) /
           2;
}

static rz_time failure_date(const struct rz_agree_run *run, struct rz_random *random)
{
    const struct rz_study_options *options = run->options;
    rz_time lasts = expected(run);
    lasts += lasts == 0; /* a network without delays */
    if (options->kill_at == RZ_TIME_NEVER) {
        return run->shrinks ? 0 : rz_random_below(random, lasts);
    }
    return options->kill_at + (options->kill_during ? rz_random_below(random, lasts) : 0);
}

/* The detector is perfect: each living member learns of each failure within detector_lag, at its
 * own time; of failures at one date together. A shrink begins with that. */
static void plan_failures(struct rz_agree_run *run, struct rz_timing *timing, const rz_id *victims)
{
    const struct rz_study_options *options = run->options;
    uint32_t each = options->kill_during ? 1 : options->kill;
    struct rz_random random = {rz_mix(run->seed, 0x64617465)};
    for (uint32_t i = 0; i < options->kill; i += each) {
        rz_time at = failure_date(run, &random);
        for (uint32_t k = i; k < i + each; k++) {
            rz_timing_kill(timing, victims[k], at);
        }
        for (rz_id id = 0; id < run->n; id++) {
            if (run->doomed[id]) {
                continue;
            }
            rz_time heard = at + rz_random_below(&random, options->detector_lag + 1);
            rz_timing_tell(timing, id, 0, heard, &victims[i], each);
            if (run->shrinks && i == 0) {
                propose(run, timing, id, heard);
            }
        }
    }
}

static void plan(struct rz_agree_run *run, struct rz_timing *timing)
{
    const struct rz_study_options *options = run->options;
    rz_id *victims = memory((options->kill + 1) * sizeof(*victims));
    rz_study_draw_victims(options, run->seed, victims);
    for (uint32_t i = 0; i < options->kill; i++) {
        run->doomed[victims[i]] = 1;
    }
    run->living = run->left = run->n - options->kill;
    run->curve_step = run->living / RZ_AGREE_CURVE_MAX + 1;
    if (!run->shrinks || options->kill == 0) {
        for (rz_id id = 0; id < run->n; id++) {
            propose(run, timing, id, 0);
        }
    }
    plan_failures(run, timing, victims);
    free(victims);
}

/* ---- one trial ---- */

static void begin(struct rz_agree_run *run, uint64_t seed)
{
    const struct rz_study_options *options = run->options;
    run->seed = seed;
    run->n = (uint32_t)options->members;
    run->operations = options->operations;
    run->agree =
        (struct rz_agree_config){.n_members = run->n,
                                 .in_flight_max = 1,
                                 .items_max = options->payload,
                                 .tree = options->tree == RZ_STUDY_TREE_BIN_STAR ? RZ_AGREE_BIN_STAR
                                         : options->tree == RZ_STUDY_TREE_BIN_BIN ? RZ_AGREE_BIN_BIN
                                                                                  : RZ_AGREE_BINARY,
                                 .per_node = options->per_node};
    run->twophase.n_members = run->rounds.n_members = run->n;
    run->n_items = run->protocol == RZ_AGREE_BY_ERA ? options->payload : 0;
    run->items = memory(run->n_items * sizeof(*run->items));
    for (uint32_t i = 0; i < run->n_items; i++) {
        run->items[i] = i;
    }
    run->doomed = memory(run->n);
    rz_agree_adapters_begin(&run->adapters, run->n, &run->network);
    run->digest = memory(run->n * sizeof(*run->digest));
    run->stage = memory(run->shrinks ? run->n : 0);
    run->n_failed = memory(run->shrinks ? run->n * sizeof(*run->n_failed) : 0);
    run->first_at = run->last_at = 0;
    run->decided = run->attempts = run->n_curve = 0;
}

static void end(struct rz_agree_run *run)
{
    rz_agree_adapters_end(&run->adapters);
    free(run->items);
    free(run->doomed);
    free(run->digest);
    free(run->stage);
    free(run->n_failed);
}

static struct rz_timing_setup setup_of(struct rz_agree_run *run)
{
    return (struct rz_timing_setup){
        .members = run->n,
        .n_parts = 1,
        .parts = {protocol_of(run->protocol)},
        .network = run->network,
        .seed = run->seed,
        .until = run->options->until,
        .study = run,
        .config = config,
        .notified = notified,
        .delay = adapter_wait,
        .message_name = run->protocol == RZ_AGREE_BY_ERA        ? message_name_agree
                        : run->protocol == RZ_AGREE_BY_TWOPHASE ? message_name_twophase
                                                                : message_name_rounds,
        .notice_name = notice_name};
}

/* Living members whose last decision is not that of the first living one. */
static uint64_t disagreeing(const struct rz_agree_run *run)
{
    uint64_t common = 0, others = 0;
    for (rz_id id = 0; id < run->n; id++) {
        if (run->doomed[id]) {
            continue;
        }
        if (common == 0) {
            common = run->digest[id];
        }
        others += run->digest[id] != common;
    }
    return others;
}

void rz_agree_columns(struct rz_table *table, enum rz_agree_protocol protocol)
{
    static const char *const headings[] = {"operations", "attempts", "rounds"};
    rz_table_column(table, "trial", "trial", NULL);
    rz_table_column(table, "decided_first_ms", "first decides", "ms");
    rz_table_column(table, "decided_ms", "all have decided", "ms");
    rz_table_column(table, headings[protocol], headings[protocol], NULL);
    rz_table_column(table, "each_us", "per operation", "us");
    rz_table_column(table, "undecided", "never decide", NULL);
    rz_table_column(table, "disagreeing", "decide otherwise", NULL);
    rz_table_column(table, "messages", "messages", NULL);
    rz_table_column(table, "formula", "2 (n - 1) each", NULL);
    rz_table_column(table, "bytes", "bytes", NULL);
    rz_table_column(table, "messages_hot", "most by one", NULL);
    rz_table_column(table, "events", "events", NULL);
    rz_table_column(table, "seconds", "processor time", "s");
    rz_table_column(table, "event_ns", "per event", "ns");
    rz_table_column(table, "bytes_member", "memory per member", "B");
}

static void row(const struct rz_agree_run *run, const struct rz_timing *timing, uint32_t trial,
                struct rz_table *table)
{
    struct rz_timing_counts all = rz_timing_count(timing, 0, UINT32_MAX);
    struct rz_timing_cost cost = rz_timing_cost(timing);
    bool finished = run->left == 0;
    double last = finished ? (double)run->last_at / RZ_MILLISECOND : NAN;
    rz_table_row(table);
    rz_table_number(table, trial);
    rz_table_number(table, run->left < run->living ? (double)run->first_at / RZ_MILLISECOND : NAN);
    rz_table_number(table, last);
    rz_table_number(table, run->protocol == RZ_AGREE_BY_ERA ? run->decided : run->attempts);
    rz_table_number(table, 1000 * last / (run->decided > 0 ? run->decided : 1));
    rz_table_number(table, (double)run->left);
    rz_table_number(table, (double)disagreeing(run));
    rz_table_number(table, (double)all.messages);
    if (run->options->kill == 0 && run->protocol != RZ_AGREE_BY_ROUNDS) {
        rz_table_number(table, 2.0 * (run->n - 1) * run->decided);
    } else {
        rz_table_number(table, NAN);
    }
    rz_table_number(table, (double)all.bytes);
    rz_table_number(table, (double)rz_timing_hottest(timing).sent);
    rz_table_number(table, (double)cost.events);
    rz_table_number(table, cost.seconds);
    rz_table_number(table, cost.events > 0 ? 1e9 * cost.seconds / (double)cost.events : NAN);
    rz_table_number(table, (double)cost.bytes_peak / run->n);
}

static void draw(const struct rz_agree_run *run, struct rz_chart *chart)
{
    if (!chart) {
        return;
    }
    rz_chart_labels(chart, "agreement", "time [us]", "members that have decided");
    rz_chart_curve(chart, protocol_of(run->protocol)->name, RZ_CHART_STEPS);
    for (uint32_t i = 0; i < run->n_curve; i++) {
        rz_chart_point(chart, (double)run->curve_at[i] / RZ_MICROSECOND,
                       (double)(i * run->curve_step + 1));
    }
    if (run->left == 0) {
        rz_chart_point(chart, (double)run->last_at / RZ_MICROSECOND, (double)run->living);
    }
}

bool rz_agree_trial(struct rz_agree_run *run, uint32_t trial, struct rz_table *table,
                    struct rz_chart *chart, const char **why)
{
    FILE *trace = rz_study_open_trace(run->options, trial, why);
    if (*why) {
        return false;
    }
    begin(run, run->options->seed + trial);
    struct rz_timing_setup setup = setup_of(run);
    setup.trace = trace;
    struct rz_timing *timing = rz_timing_create(&setup);
    plan(run, timing);
    rz_timing_run(timing);
    row(run, timing, trial, table);
    if (trial == 0) {
        draw(run, chart);
    }
    rz_timing_destroy(timing);
    end(run);
    return rz_study_close_trace(trace, why);
}
