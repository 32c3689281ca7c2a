/* SPDX-License-Identifier: BSD-3-Clause */
/* The studies ring, process and spread measure what the formulas say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/spread/spread.h"
#include "study/study.h"
#include "study/study_ring_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define P (100 * RZ_MILLISECOND)
#define T (300 * RZ_MILLISECOND)

/* From a heartbeat's send to its arrival: 0.5 us at each end, 2 us between. */
#define TRANSFER_MS 0.003

static struct rz_study_options options_of(const char *name, uint64_t members)
{
    struct rz_study_options options;
    rz_study_defaults(&options);
    rz_study_find(name)->defaults(&options);
    options.members = members;
    return options;
}

static struct rz_table *run(const char *name, const struct rz_study_options *options)
{
    struct rz_table *table = rz_table_create(name);
    struct rz_chart *chart = rz_chart_create("", "", "");
    const char *why = "";
    bool done = rz_study_find(name)->run(options, table, chart, &why);
    if (!done) {
        fail_msg("%s: %s", name, why);
    }
    rz_chart_destroy(chart);
    return table;
}

static double measure(const char *name, const struct rz_study_options *options, const char *column)
{
    struct rz_table *table = run(name, options);
    double value = rz_table_at(table, 0, column);
    rz_table_destroy(table);
    return value;
}

/* ---- counts ---- */

static void a_quiet_ring_sends_one_heartbeat_per_member_and_period(void **state)
{
    (void)state;
    for (uint64_t n = 2; n <= 200; n += n < 20 ? 1 : 37) {
        struct rz_study_options options = options_of("ring", n);
        options.phases = n % 2 ? RZ_STUDY_PHASES_SAME : RZ_STUDY_PHASES_INDEPENDENT;
        options.kill = 0;
        options.until = 10 * P;
        struct rz_table *table = run("ring", &options);
        assert_true(rz_table_at(table, 0, "heartbeats") == (double)(10 * n));
        assert_true(rz_table_at(table, 0, "messages") == (double)(10 * n));
        assert_true(rz_table_at(table, 0, "bytes") == (double)(480 * n));
        assert_true(rz_table_at(table, 0, "messages_hot") == 10);
        assert_true(rz_table_at(table, 0, "lasted_ms") == 1000);
        rz_table_destroy(table);
    }
}

static void a_broadcast_takes_what_the_formula_says(void **state)
{
    (void)state;
    for (uint64_t n = 2; n <= 3000; n += n < 70 ? 1 : 313) {
        for (uint32_t near_first = 0; near_first < 2; near_first++) {
            struct rz_study_options options = options_of("spread", n);
            options.near_first = near_first;
            options.jitter = 700;
            double expected = (double)(n * rz_spread_degree((uint32_t)n) - (n - 1));
            assert_true(measure("spread", &options, "messages") == expected);
            assert_true(measure("spread", &options, "informed") == (double)n);
        }
    }
}

/* The same model as in tests/unit/spread: a send takes its sender 1, a transfer `latency`. There
 * copies also go back to where the first came from, so that ours may only be earlier. */
static void the_order_of_sending_is_worth_what_the_model_says(void **state)
{
    (void)state;
    static const struct {
        uint64_t n;
        double tree[2], near[2];
    } rows[] = {{12, {6, 26}, {10, 28}},
                {64, {11, 46}, {23, 50}},
                {256, {15, 58}, {38, 74}},
                {1024, {19, 78}, {58, 103}},
                {4096, {22, 92}, {82, 136}}};
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (uint32_t far = 0; far < 2; far++) {
            struct rz_study_options options = options_of("spread", rows[i].n);
            options.send_overhead = RZ_MILLISECOND;
            options.receive_overhead = 0;
            options.latency = far ? 10 * RZ_MILLISECOND : RZ_MILLISECOND;
            double tree = measure("spread", &options, "known_ms");
            options.near_first = true;
            double near = measure("spread", &options, "known_ms");
            assert_true(tree <= rows[i].tree[far] && tree >= 0.8 * rows[i].tree[far]);
            assert_true(near <= rows[i].near[far] && near >= 0.8 * rows[i].near[far]);
            assert_true(tree < near);
        }
    }
}

/* ---- dates ---- */

static void one_failure_is_found_within_its_bounds(void **state)
{
    (void)state;
    struct rz_study_options options = options_of("ring", 40);
    options.trials = 50;
    struct rz_table *table = run("ring", &options);
    double sum = 0;
    for (uint32_t i = 0; i < 50; i++) {
        double seen = rz_table_at(table, i, "detect_last_ms");
        double known = rz_table_at(table, i, "known_ms");
        assert_true(seen > 200 && seen <= 300.01);
        assert_true(known > seen && known < seen + 0.1);
        assert_true(rz_table_at(table, i, "requests") == 1);
        assert_true(rz_table_at(table, i, "false_failure_reports") == 0);
        sum += seen;
    }
    assert_true(fabs(sum / 50 - 250) < 15); /* uniform: the mean deviates by 4 */
    rz_table_destroy(table);
}

/* The first within T, each further one after 2 T more: (2k - 1) T. */
static void neighbours_are_found_one_by_one(void **state)
{
    (void)state;
    for (uint32_t k = 1; k <= 8; k++) {
        struct rz_study_options options = options_of("ring", 64);
        options.kill = k;
        options.victims = RZ_STUDY_VICTIMS_CONTIGUOUS;
        struct rz_table *table = run("ring", &options);
        double last = rz_table_at(table, 0, "detect_last_ms");
        double first = rz_table_at(table, 0, "detect_first_ms");
        assert_true(last <= (2 * k - 1) * 300 + 0.01 && last > (2 * k - 1) * 300 - 100);
        assert_true(fabs(last - first - (k - 1) * 600) < 0.001);
        assert_true(rz_table_at(table, 0, "requests") == k);
        rz_table_destroy(table);
    }
}

/* ---- phases ---- */

static void phases_are_uniform_and_each_members_own(void **state)
{
    (void)state;
    enum { BINS = 16, MEMBERS = 4096 };
    for (uint64_t seed = 1; seed <= 4; seed++) {
        uint32_t bins[BINS] = {0}, as_before = 0, as_other_seed = 0;
        double square = 0, of_bin = (double)MEMBERS / BINS;
        for (rz_id id = 0; id < MEMBERS; id++) {
            rz_time phase = rz_ring_phase(seed, P, id);
            assert_true(phase > 0 && phase <= P);
            assert_true(phase == rz_ring_phase(seed, P, id));
            bins[(phase - 1) * BINS / P]++;
            as_before += id > 0 && phase == rz_ring_phase(seed, P, id - 1);
            as_other_seed += phase == rz_ring_phase(seed + 1, P, id);
        }
        for (uint32_t i = 0; i < BINS; i++) {
            square += (bins[i] - of_bin) * (bins[i] - of_bin) / of_bin;
        }
        assert_true(square < 37.7); /* chi squared, 15 degrees of freedom: 0.1 % */
        assert_true(as_before <= 1 && as_other_seed <= 1);
    }
}

/* A member fails at 2.5 P: half a period after the last heartbeat of all, or a phase of its own
 * before. */
static double expected_detection(const struct rz_study_options *options, uint64_t seed)
{
    rz_id victim;
    rz_study_draw_victims(options, seed, &victim);
    rz_time phase = options->phases == RZ_STUDY_PHASES_SAME
                        ? P
                        : rz_ring_phase(seed, options->hb_period, victim);
    rz_time last = phase + (phase <= P / 2 ? 2 * P : P);
    return (double)(last + T - 5 * P / 2) / (double)RZ_MILLISECOND + TRANSFER_MS;
}

static void the_date_of_detection_is_that_of_the_victims_phase(void **state)
{
    (void)state;
    enum { TRIALS = 40 };
    for (uint32_t same = 0; same < 2; same++) {
        struct rz_study_options options = options_of("ring", 40);
        options.phases = same ? RZ_STUDY_PHASES_SAME : RZ_STUDY_PHASES_INDEPENDENT;
        options.kill_at = 5 * P / 2;
        options.trials = TRIALS;
        struct rz_table *table = run("ring", &options), *again = run("ring", &options);
        uint32_t as_before = 0;
        for (uint32_t i = 0; i < TRIALS; i++) {
            double seen = rz_table_at(table, i, "detect_first_ms");
            assert_true(fabs(seen - expected_detection(&options, options.seed + i)) < 1e-6);
            assert_true(seen == rz_table_at(again, i, "detect_first_ms"));
            as_before += i > 0 && seen == rz_table_at(table, i - 1, "detect_first_ms");
        }
        assert_int_equal(as_before, same ? TRIALS - 1 : 0);
        rz_table_destroy(table);
        rz_table_destroy(again);
    }
}

/* The results of the study from before members had phases. */
static void in_phase_the_former_results_come_back(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed;
        double first, last, known, messages, heartbeats, lasted, events;
    } rows[] = {{7, 222.09022, 256.328562, 256.361794, 3712, 802, 1300.037415, 7661},
                {8, 235.31859, 289.88612, 289.921805, 3929, 995, 1600.050364, 8296}};
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rz_study_options options = options_of("ring", 64);
        options.phases = RZ_STUDY_PHASES_SAME;
        options.seed = rows[i].seed;
        options.kill = 5;
        options.kill_during = true;
        options.jitter = 10 * RZ_MICROSECOND;
        struct rz_table *table = run("ring", &options);
        assert_true(fabs(rz_table_at(table, 0, "detect_first_ms") - rows[i].first) < 1e-9);
        assert_true(fabs(rz_table_at(table, 0, "detect_last_ms") - rows[i].last) < 1e-9);
        assert_true(fabs(rz_table_at(table, 0, "known_ms") - rows[i].known) < 1e-9);
        assert_true(rz_table_at(table, 0, "messages") == rows[i].messages);
        assert_true(rz_table_at(table, 0, "heartbeats") == rows[i].heartbeats);
        assert_true(fabs(rz_table_at(table, 0, "lasted_ms") - rows[i].lasted) < 1e-9);
        assert_true(rz_table_at(table, 0, "events") == rows[i].events);
        rz_table_destroy(table);
    }
}

/* Means of the first and the last detection of k failures at one date, none of them neighbours; in
 * periods below the timeout. Returns the number of trials. */
static uint32_t scattered(enum rz_study_phases phases, uint32_t k, double *first, double *last)
{
    struct rz_study_options options = options_of("ring", 128);
    options.phases = phases;
    options.kill = k;
    options.kill_at = 5 * P / 2;
    options.trials = 150;
    struct rz_table *table = run("ring", &options);
    uint32_t n = 0;
    *first = *last = 0;
    for (uint32_t i = 0; i < options.trials; i++) {
        double seen = rz_table_at(table, i, "detect_last_ms");
        if (seen <= 300 + TRANSFER_MS) { /* else there were neighbours: two timeouts more */
            *first += (300 + TRANSFER_MS - rz_table_at(table, i, "detect_first_ms")) / 100;
            *last += (300 + TRANSFER_MS - seen) / 100;
            n++;
        }
    }
    *first /= n;
    *last /= n;
    rz_table_destroy(table);
    return n;
}

/* With independent phases the time since a victim's last heartbeat is uniform in [0, P), for each
 * victim: the greatest of k is k / (k + 1) P in the mean, the least P / (k + 1); both with the
 * variance k / ((k + 1)^2 (k + 2)) P^2. In phase it is the same for all. */
static void latencies_are_those_of_uniform_phases(void **state)
{
    (void)state;
    for (uint32_t k = 1; k <= 8; k *= 2) {
        double first, last, same_first, same_last;
        uint32_t n = scattered(RZ_STUDY_PHASES_INDEPENDENT, k, &first, &last);
        double bound = 4 * sqrt(k / ((k + 1.0) * (k + 1.0) * (k + 2.0) * n));
        assert_true(n >= 80);
        assert_true(bound < 0.1);
        assert_true(fabs(first - k / (k + 1.0)) < bound);
        assert_true(fabs(last - 1 / (k + 1.0)) < bound);

        scattered(RZ_STUDY_PHASES_SAME, k, &same_first, &same_last);
        assert_true(fabs(same_first - 0.5) < 1e-6 && fabs(same_last - 0.5) < 1e-6);
        assert_true(k == 1 || fabs(same_first - k / (k + 1.0)) > bound);
        assert_true(k == 1 || fabs(same_last - 1 / (k + 1.0)) > bound);
    }
}

/* Whatever the timeout is, as long as it is longer than a period and a transfer. A member that
 * fails before its first heartbeat is found by the first timeout, which is a period longer. */
static void bounds_hold_for_every_timeout(void **state)
{
    (void)state;
    static const uint32_t tenths[] = {11, 12, 15, 20, 30, 50};
    for (uint32_t i = 0; i < sizeof(tenths) / sizeof(*tenths); i++) {
        double timeout = 10 * tenths[i];
        struct rz_study_options options = options_of("ring", 64);
        options.hb_timeout = tenths[i] * P / 10;
        options.trials = 30;
        struct rz_study_options quiet = options, early = options;
        quiet.kill = 0;
        early.kill_at = 0;
        struct rz_table *table = run("ring", &options), *calm = run("ring", &quiet);
        struct rz_table *before = run("ring", &early);
        for (uint32_t trial = 0; trial < options.trials; trial++) {
            double seen = rz_table_at(table, trial, "detect_last_ms");
            assert_true(seen > timeout - 100 && seen <= timeout + TRANSFER_MS);
            assert_true(rz_table_at(table, trial, "false_failure_reports") == 0);
            assert_true(rz_table_at(calm, trial, "false_failure_reports") == 0);
            seen = rz_table_at(before, trial, "detect_last_ms");
            assert_true(seen > timeout && seen <= timeout + 100);
            assert_true(rz_table_at(before, trial, "false_failure_reports") == 0);
        }
        rz_table_destroy(table);
        rz_table_destroy(calm);
        rz_table_destroy(before);
    }
}

/* ---- as the daemon does ---- */

/* The same failures, found as early by the ring, and reported once the others have answered, and as
 * long again. */
static void a_roll_call_comes_before_the_news(void **state)
{
    (void)state;
    struct rz_study_options paper = options_of("ring", 40), daemon;
    paper.trials = 30;
    daemon = paper;
    daemon.as_daemon = true;
    struct rz_table *at_once = run("ring", &paper), *asked = run("ring", &daemon);
    for (uint32_t i = 0; i < paper.trials; i++) {
        double later =
            rz_table_at(asked, i, "detect_last_ms") - rz_table_at(at_once, i, "detect_last_ms");
        double spread = rz_table_at(asked, i, "known_ms") - rz_table_at(asked, i, "detect_last_ms");
        assert_true(later > 4 * TRANSFER_MS && later < 0.5); /* there and back, twice */
        assert_true(spread > 0 && spread < 0.5);
        assert_true(rz_table_at(asked, i, "false_failure_reports") == 0);
        assert_true(rz_table_at(asked, i, "messages") > rz_table_at(at_once, i, "messages") + 38);
    }
    rz_table_destroy(at_once);
    rz_table_destroy(asked);
}

/* A member whose heartbeats are lost answers when it is asked. */
static void the_living_answer_a_roll_call(void **state)
{
    (void)state;
    double wrong[2];
    for (uint32_t as_daemon = 0; as_daemon < 2; as_daemon++) {
        struct rz_study_options options = options_of("ring", 64);
        options.as_daemon = as_daemon;
        options.kill = 0;
        options.loss = 0.1;
        options.until = 30 * P;
        options.trials = 20;
        struct rz_table *table = run("ring", &options);
        struct rz_table_spread spread = rz_table_spread(table, "false_failure_reports");
        wrong[as_daemon] = spread.mean * spread.n;
        rz_table_destroy(table);
    }
    assert_true(wrong[0] >= 10);
    assert_true(wrong[1] < wrong[0] / 2);
}

/* Of 40 members 24 fail: the others find that they are no quorum, after three timeouts, and stop.
 * Of two, the lower one breaks the tie. */
static void without_a_quorum_members_stop(void **state)
{
    (void)state;
    struct rz_study_options options = options_of("ring", 40);
    options.as_daemon = true;
    options.kill = 24;
    options.trials = 5;
    struct rz_table *many = run("ring", &options);
    for (uint32_t i = 0; i < options.trials; i++) {
        assert_true(isnan(rz_table_at(many, i, "detect_first_ms")));
        assert_true(isnan(rz_table_at(many, i, "known_ms")));
        assert_true(rz_table_at(many, i, "false_failure_reports") == 0);
    }
    rz_table_destroy(many);
    options.members = 2;
    options.kill = 1;
    for (options.seed = 1; options.seed <= 10; options.seed++) {
        rz_id victim;
        rz_study_draw_victims(&options, options.seed, &victim);
        assert_true(isnan(measure("ring", &options, "known_ms")) == (victim == 0));
    }
}

/* ---- dates of a broadcast ---- */

/* Two daemons with three processes each. The first: 0.2 us until it sees the failure, 0.5 for the
 * message, 3 * 0.5 for the star, 0.2 and 0.5 until the last process has it. The second: 2 us and
 * 0.5 after the message left; then its own star. */
static void a_star_takes_its_time(void **state)
{
    (void)state;
    struct rz_study_options options = options_of("process", 2);
    options.per_node = 3;
    assert_true(fabs(measure("process", &options, "known_ms") * 1000 -
                     (0.2 + 0.5 + 2 + 0.5 + 3 * 0.5 + 0.2 + 0.5)) < 1e-9);
    assert_true(measure("process", &options, "messages") == 1);
    assert_true(measure("process", &options, "local_messages") == 6);
    options.flat = true; /* six processes, of which five get to know */
    assert_true(measure("process", &options, "known_ms") > 0);
}

/* ---- faults ---- */

/* A member whose messages are too late is declared failed; it learns so and gives up, and the
 * others agree on it. */
static void a_member_that_is_too_slow_is_fenced(void **state)
{
    (void)state;
    struct rz_study_options options = options_of("ring", 20);
    options.kill = 2;
    options.slow = 1;
    options.slow_by = 2 * T;
    options.victims = RZ_STUDY_VICTIMS_FIRST;
    struct rz_table *table = run("ring", &options);
    assert_true(rz_table_at(table, 0, "false_failure_reports") >= 1);
    assert_true(rz_table_at(table, 0, "known_ms") > 0);
    rz_table_destroy(table);
}

/* Heartbeats are lost, so that some are declared failed, and end, before their date of failure:
 * others knew it from the start. If all have ended, none knows anything. */
static void a_member_that_ends_before_its_date_is_known_from_the_start(void **state)
{
    (void)state;
    struct rz_study_options options = options_of("ring", 16);
    options.kill = 8;
    options.kill_at = 5 * RZ_SECOND;
    options.trials = 100;
    uint32_t early = 0, none = 0;
    for (uint32_t i = 0; i < 2; i++) {
        options.loss = i == 0 ? 0.05 : 0.5;
        struct rz_table *table = run("ring", &options);
        for (uint32_t trial = 0; trial < options.trials; trial++) {
            double known = rz_table_at(table, trial, "known_ms");
            double first = rz_table_at(table, trial, "detect_first_ms");
            double last = rz_table_at(table, trial, "detect_last_ms");
            assert_true(isnan(known) || (known >= 0 && known < 60000));
            assert_true(isnan(first) || (first >= 0 && first < 60000));
            assert_true(isnan(last) || last >= first);
            early += known == 0;
            none += isnan(known);
        }
        rz_table_destroy(table);
    }
    assert_true(early > 0);
    assert_true(none > 0);
}

static void a_network_without_delays_is_allowed(void **state)
{
    (void)state;
    static const char *const studies[] = {"spread", "agree", "twophase"};
    for (uint32_t i = 0; i < sizeof(studies) / sizeof(*studies); i++) {
        struct rz_study_options options = options_of(studies[i], 32);
        options.latency = options.latency_local = 0;
        options.send_overhead = options.receive_overhead = 0;
        options.kill = 1;
        options.kill_during = true;
        assert_true(measure(studies[i], &options, "messages") > 0);
    }
}

static void what_does_not_fit_into_memory_is_refused(void **state)
{
    (void)state;
    static const char *const studies[] = {"ring", "spread", "agree"};
    for (uint32_t i = 0; i < sizeof(studies) / sizeof(*studies); i++) {
        struct rz_study_options options = options_of(studies[i], 1 << 20);
        options.kill = 1 << 18;
        struct rz_table *table = rz_table_create("");
        struct rz_chart *chart = rz_chart_create("", "", "");
        const char *why = NULL;
        assert_false(rz_study_find(studies[i])->run(&options, table, chart, &why));
        assert_non_null(strstr(why, "memory"));
        rz_table_destroy(table);
        rz_chart_destroy(chart);
    }
}

static void a_trace_that_is_cut_off_is_no_success(void **state)
{
    (void)state;
    static const char *const studies[] = {"ring", "process", "spread", "agree", "diagnose"};
    for (uint32_t i = 0; i < sizeof(studies) / sizeof(*studies); i++) {
        struct rz_study_options options = options_of(studies[i], 8);
        options.trace = "/dev/full";
        options.until = 3 * RZ_SECOND;
        struct rz_table *table = rz_table_create("");
        struct rz_chart *chart = rz_chart_create("", "", "");
        const char *why = NULL;
        assert_false(rz_study_find(studies[i])->run(&options, table, chart, &why));
        assert_non_null(strstr(why, "/dev/full"));
        rz_table_destroy(table);
        rz_chart_destroy(chart);
    }
}

static void a_broadcast_survives_fewer_failures_than_neighbours(void **state)
{
    (void)state;
    struct rz_study_options options = options_of("spread", 100);
    options.trials = 100;
    options.kill = 6; /* D(100) = 14 */
    options.kill_during = true;
    struct rz_table *table = run("spread", &options);
    uint32_t all = 0, none = 0;
    for (uint32_t i = 0; i < 100; i++) {
        double informed = rz_table_at(table, i, "informed");
        all += informed == 94;
        none += informed == 0; /* member 0 failed first */
        assert_true(isnan(rz_table_at(table, i, "known_ms")) == (informed != 94));
    }
    assert_int_equal(all + none, 100);
    assert_true(all >= 80);
    rz_table_destroy(table);
}

/* Few members do not pay for what is taken ahead for many. */
static void memory_is_that_of_the_members(void **state)
{
    (void)state;
    struct rz_study_options few = options_of("ring", 64), many = options_of("ring", 4096);
    double of_few = measure("ring", &few, "bytes_member");
    double of_many = measure("ring", &many, "bytes_member");
    assert_true(of_few > 0.5 * of_many && of_few < 2 * of_many);
}

static void a_trial_repeats(void **state)
{
    (void)state;
    static const char *const columns[] = {"detect_last_ms", "known_ms", "messages",    "bytes",
                                          "heartbeats",     "events",   "messages_hot"};
    struct rz_study_options options = options_of("ring", 300);
    options.kill = 5;
    options.jitter = 10 * RZ_MICROSECOND;
    options.kill_during = true;
    options.trials = 2;
    struct rz_table *a = run("ring", &options), *b = run("ring", &options);
    for (uint32_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        assert_true(rz_table_at(a, 0, columns[i]) == rz_table_at(b, 0, columns[i]));
    }
    assert_true(rz_table_at(a, 0, "known_ms") != rz_table_at(a, 1, "known_ms"));
    rz_table_destroy(a);
    rz_table_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_ring_sends_one_heartbeat_per_member_and_period),
        cmocka_unit_test(a_broadcast_takes_what_the_formula_says),
        cmocka_unit_test(the_order_of_sending_is_worth_what_the_model_says),
        cmocka_unit_test(one_failure_is_found_within_its_bounds),
        cmocka_unit_test(neighbours_are_found_one_by_one),
        cmocka_unit_test(phases_are_uniform_and_each_members_own),
        cmocka_unit_test(the_date_of_detection_is_that_of_the_victims_phase),
        cmocka_unit_test(in_phase_the_former_results_come_back),
        cmocka_unit_test(latencies_are_those_of_uniform_phases),
        cmocka_unit_test(bounds_hold_for_every_timeout),
        cmocka_unit_test(a_roll_call_comes_before_the_news),
        cmocka_unit_test(the_living_answer_a_roll_call),
        cmocka_unit_test(without_a_quorum_members_stop),
        cmocka_unit_test(a_star_takes_its_time),
        cmocka_unit_test(a_member_that_is_too_slow_is_fenced),
        cmocka_unit_test(a_member_that_ends_before_its_date_is_known_from_the_start),
        cmocka_unit_test(a_network_without_delays_is_allowed),
        cmocka_unit_test(what_does_not_fit_into_memory_is_refused),
        cmocka_unit_test(a_trace_that_is_cut_off_is_no_success),
        cmocka_unit_test(a_broadcast_survives_fewer_failures_than_neighbours),
        cmocka_unit_test(memory_is_that_of_the_members),
        cmocka_unit_test(a_trial_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
