/*
 * The study group: the dynamic group of recommended processes after Camargo, Duarte (JBCS 24:5,
 * 2018): what the tests among processes cost, and the group over time. Its sort: another file.
 */
#include "cmd/rzbench_group.h"

#include <math.h>
#include <stdlib.h>

const char *const rz_bench_group_parts[] = {"sort",  "slices", "scale", "noise",
                                            "watch", "large",  "all",   NULL};

/* ---- the noise of monitoring ---- */

static const struct watch {
    const char *name, *interval, *assignment;
} watches[] = {{"none", "none", "full"},
               {"1 s", "1s", "full"},
               {"100 ms", "100ms", "full"},
               {"100 ms, cube", "100ms", "cube"}};

/* "time S" and "messages N INTERVALS": tests and answers sent by all, and in how many intervals. */
static void noise_once(struct rz_bench_study *study, const struct watch *watch, unsigned repetition,
                       struct rz_bench_table *times, struct rz_bench_table *messages)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    struct rz_bench_start start = {.ranks = RZ_BENCH_GROUP_RANKS, .program = "bench_monitor"};
    char *behind;
    rz_bench_command_start(study->bench, &start, &command);
    rz_bench_command_add(&command, "%s", study->bench->quick ? "0.5" : "2");
    rz_bench_command_add(&command, "%s", watch->interval);
    rz_bench_command_add(&command, "%s", watch->assignment);
    bool good = rz_bench_study_run(study, &command, &run);
    const char *time = rz_bench_line(&run, "time", NULL);
    const char *sent = rz_bench_line(&run, "messages", NULL);
    study->failed += good && (!time || !sent);
    if (good && time && sent) {
        double n = strtod(sent, &behind), intervals = strtod(behind, NULL);
        rz_bench_put(rz_bench_cell(times, watch->name, "compute"), repetition, strtod(time, NULL));
        if (intervals > 0)
            rz_bench_put(rz_bench_cell(messages, watch->name, "messages"), repetition,
                         n / intervals);
    }
    rz_bench_run_free(&run);
}

static bool make_noise(struct rz_bench_study *study)
{
    static struct rz_bench_table times, messages;
    unsigned repetitions =
        rz_bench_repetitions(study->bench, RZ_BENCH_GROUP_USUAL, RZ_BENCH_GROUP_QUICK);
    times = (struct rz_bench_table){.name = "group-noise",
                                    .title = "A fixed computation of 16 processes while they test "
                                             "one another, s",
                                    .rows_are = "interval of tests",
                                    .unit = "s",
                                    .intervals = true};
    messages = (struct rz_bench_table){.name = "group-messages",
                                       .title = "Tests and answers in an interval; 2n(n-1) = 480 "
                                                "where everybody tests everybody, 2n log2 n = 128 "
                                                "by the cube",
                                       .rows_are = "interval of tests",
                                       .unit = "messages"};
    if (!rz_bench_compile(study->bench, "bench_monitor", false))
        return false;
    for (unsigned r = 0; r < repetitions && rz_bench_may_go_on(study->bench); r++)
        for (unsigned w = 0; w < sizeof watches / sizeof *watches; w++)
            noise_once(study, &watches[w], r, &times, &messages);
    rz_bench_table_show(study->bench, &times);
    rz_bench_table_show(study->bench, &messages);
    return true;
}

/* ---- the group over time ---- */

enum { HOSTS = 18, WATCH_S = 25, WATCH_QUICK_S = 4 };

/* After the load: thresholds are long then, and tests in a row are to be passed. */
#define RECOVERY_INTERVALS 100.0

static void claim_recovery(struct rz_bench_study *study, const struct rz_bench_run *run)
{
    const char *recovered = rz_bench_line(run, "recovered", NULL);
    double intervals = recovered ? strtod(recovered, NULL) : 0;
    const struct rz_bench_interval measured = {
        .n = 1, .median = intervals, .mean = intervals, .half = (double)NAN};
    study->failed += !recovered;
    if (recovered)
        rz_bench_claim_most(&study->claims, "all are in again after the load, no round begun",
                            RECOVERY_INTERVALS, &measured, " intervals");
}

/* Adds a row for each line "size T N"; and how often somebody was put out and came back. */
static void read_watch(struct rz_bench_study *study, const struct rz_bench_run *run,
                       struct rz_bench_table *sizes)
{
    char *behind, row[RZ_BENCH_NAME_MAX];
    const char *left = rz_bench_line(run, "left", NULL), *back = rz_bench_line(run, "back", NULL);
    for (const char *at = NULL; (at = rz_bench_line(run, "size", at));) {
        snprintf(row, sizeof row, "%.1f", strtod(at, &behind));
        rz_bench_put(rz_bench_cell(sizes, row, "in the group"), 0, strtod(behind, NULL));
    }
    study->failed += !left || !back || sizes->n_rows == 0;
    rz_bench_table_show(study->bench, sizes);
    if (left && back)
        rz_bench_say(study->bench, "\n%ld times somebody was put out, %ld times voted back.\n",
                     strtol(left, NULL, 10), strtol(back, NULL, 10));
    claim_recovery(study, run);
}

static bool make_watch(struct rz_bench_study *study)
{
    static struct rz_bench_table sizes;
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    struct rz_bench_start start = {
        .ranks = HOSTS, .nodes = HOSTS, .path = RZ_BENCH_BETWEEN, .program = "bench_monitor"};
    sizes = (struct rz_bench_table){.name = "group-watch",
                                    .title = "18 emulated hosts, tests every 100 ms, half of them "
                                             "under bursts of load: the group over time",
                                    .rows_are = "seconds",
                                    .unit = "processes",
                                    .axis = RZ_BENCH_AXIS_LINEAR,
                                    .plot = true};
    if (!rz_bench_compile(study->bench, "bench_monitor", false))
        return false;
    rz_bench_command_start(study->bench, &start, &command);
    rz_bench_command_add(&command, "%d", study->bench->quick ? WATCH_QUICK_S : WATCH_S);
    rz_bench_study_words(&command, "100ms full watch");
    if (rz_bench_study_run(study, &command, &run))
        read_watch(study, &run, &sizes);
    rz_bench_run_free(&run);
    return true;
}

static bool make_part(void *study, unsigned part)
{
    static bool (*const parts[])(struct rz_bench_study *) = {
        rz_bench_group_sort, rz_bench_group_slices, rz_bench_group_scale, make_noise,
        make_watch,          rz_bench_group_large};
    return parts[part](study);
}

bool rz_bench_group(struct rz_bench *bench)
{
    static struct rz_bench_study study;
    study = (struct rz_bench_study){.bench = bench};
    rz_bench_say(bench, "\n## The dynamic group of recommended processes\n\nAll ways take turns in "
                        "each repetition. Values are medians (95 %% interval of the mean by "
                        "Student's t).\n");
    return rz_bench_study_make(&study, rz_bench_group_parts, make_part, 40 * RZ_SECOND);
}
