/*
 * The study group: the dynamic group of recommended processes after Camargo, Duarte (JBCS 24:5,
 * 2018): figure 14, HyperQuickSort whose processes leave; and what the tests among processes cost.
 */
#include "cmd/rzbench_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 16, USUAL = 10, QUICK = 2 };

/* Sizes with which an undisturbed run takes some seconds. */
enum { COUNT = 96 << 20, COUNT_QUICK = 1 << 20 };

const char *const rz_bench_group_parts[] = {"sort", "scale", "noise", "watch", "all", NULL};

static const struct way {
    const char *name, *method, *fail, *settings;
} ways[] = {{"ULFM", "ulfm", "kill", ""}, /* has no notion of slow: there they die */
            {"DGRP, no rejoin", "no-rejoin", "stop", ""},
            {"DGRP, rejoin", "dgrp", "stop", "--group zeta=3"}};
enum { N_WAYS = sizeof ways / sizeof *ways };

static const struct scenario {
    const char *name;
    unsigned leave;
} scenarios[] = {{"all recommended", 0},
                 {"one leaves", 1},
                 {"half leave", RANKS / 2},
                 {"one remains", RANKS - 1}};

/* Tests that find a stop of a quarter of a second and more. */
static const char *const settings =
    "--group interval=250ms --group first_threshold=1s --group least_threshold=250ms";
/* They leave early and for long, so that there is a time to be out. */
static const char *const leaving = "--fail-within 34% --fail-time";
enum { AWAY_MS = 3000, AWAY_QUICK_MS = 300 };

/* ---- figure 14 ---- */

static unsigned count_of(const struct rz_bench_study *study)
{
    return study->bench->quick ? COUNT_QUICK : COUNT;
}

/* Seconds by the program's own clock, from "sorted COUNT in T s"; NAN: it was not complete. */
static double sorted_in(struct rz_bench_study *study, const struct rz_bench_command *command)
{
    struct rz_bench_run run;
    bool good = rz_bench_study_run(study, command, &run);
    const char *line = rz_bench_line(&run, "sorted", NULL),
               *in = line ? strstr(line, " in ") : NULL;
    study->failed += good && !in;
    double seconds = good && in ? strtod(in + strlen(" in "), NULL) : (double)NAN;
    rz_bench_run_free(&run);
    return seconds;
}

static double sort_once(struct rz_bench_study *study, const char *path, const struct way *way,
                        const struct scenario *scenario, unsigned repetition)
{
    struct rz_bench_command command = {0};
    rz_bench_command_add(&command, "%s/rzrun", study->bench->bin);
    rz_bench_study_words(&command, "--oversubscribe --on-failure continue -n");
    rz_bench_command_add(&command, "%d", RANKS);
    rz_bench_command_add(&command, "%s", path);
    rz_bench_command_add(&command, "%u", count_of(study));
    rz_bench_command_add(&command, "--method");
    rz_bench_command_add(&command, "%s", way->method);
    rz_bench_study_words(&command, settings);
    rz_bench_study_words(&command, way->settings);
    if (scenario->leave > 0) {
        rz_bench_study_words(&command, leaving);
        rz_bench_command_add(&command, "%d", study->bench->quick ? AWAY_QUICK_MS : AWAY_MS);
        rz_bench_command_add(&command, "--fail");
        rz_bench_command_add(&command, "%s", way->fail);
        rz_bench_command_add(&command, "--fail-count");
        rz_bench_command_add(&command, "%u", scenario->leave);
        rz_bench_command_add(&command, "--fail-seed");
        rz_bench_command_add(&command, "%u", repetition + 1);
    }
    return sorted_in(study, &command);
}

static void claim_sort(struct rz_bench_study *study, struct rz_bench_table *table)
{
    char what[RZ_BENCH_CLAIM_TEXT_MAX];
    struct rz_bench_interval overhead =
        rz_bench_interval_ratio(rz_bench_cell(table, scenarios[0].name, ways[1].name),
                                rz_bench_cell(table, scenarios[0].name, ways[0].name));
    rz_bench_claim_most(&study->claims, "DGRP over ULFM, all recommended", 1.09, &overhead, "");
    for (unsigned i = 2; i < sizeof scenarios / sizeof *scenarios; i++) {
        struct rz_bench_interval gain =
            rz_bench_interval_ratio(rz_bench_cell(table, scenarios[i].name, ways[1].name),
                                    rz_bench_cell(table, scenarios[i].name, ways[2].name));
        snprintf(what, sizeof what, "DGRP without rejoin over with rejoin, %s", scenarios[i].name);
        rz_bench_claim_least(&study->claims, what, 1.0, &gain, "");
    }
}

static bool make_sort(struct rz_bench_study *study)
{
    static struct rz_bench_table table;
    static char title[160];
    char path[PATH_MAX + 64];
    unsigned repetitions = rz_bench_repetitions(study->bench, USUAL, QUICK);
    if (!rz_bench_app_path(study->bench, "hyperquicksort", path, sizeof path))
        return true;
    snprintf(title, sizeof title,
             "Figure 14: %u integers sorted by %d processes that leave in the first third, s",
             count_of(study), RANKS);
    table = (struct rz_bench_table){.name = "group-sort",
                                    .title = title,
                                    .rows_are = "scenario",
                                    .unit = "s",
                                    .intervals = true,
                                    .plot = true};
    for (unsigned r = 0; r < repetitions && rz_bench_may_go_on(study->bench); r++)
        for (unsigned s = 0; s < sizeof scenarios / sizeof *scenarios; s++)
            for (unsigned w = 0; w < N_WAYS && rz_bench_may_go_on(study->bench); w++)
                rz_bench_put(rz_bench_cell(&table, scenarios[s].name, ways[w].name), r,
                             sort_once(study, path, &ways[w], &scenarios[s], r));
    rz_bench_table_show(study->bench, &table);
    claim_sort(study, &table);
    return true;
}

/* ---- for scale: one process ---- */

static double sort_alone(struct rz_bench_study *study, const char *path)
{
    struct rz_bench_command command = {0};
    rz_bench_command_add(&command, "%s", path);
    rz_bench_command_add(&command, "%u", count_of(study));
    return sorted_in(study, &command);
}

static bool make_scale(struct rz_bench_study *study)
{
    static struct rz_bench_table table;
    static const char *const row = "all";
    char path[PATH_MAX + 64];
    unsigned repetitions = rz_bench_repetitions(study->bench, USUAL, QUICK);
    if (!rz_bench_app_path(study->bench, "hyperquicksort", path, sizeof path))
        return true;
    table = (struct rz_bench_table){.name = "group-scale",
                                    .title = "The same integers by one process alone, s",
                                    .rows_are = "integers",
                                    .unit = "s",
                                    .intervals = true,
                                    .ratios = true};
    for (unsigned r = 0; r < repetitions && rz_bench_may_go_on(study->bench); r++) {
        rz_bench_put(rz_bench_cell(&table, row, "16 processes, DGRP"), r,
                     sort_once(study, path, &ways[2], &scenarios[0], r));
        rz_bench_put(rz_bench_cell(&table, row, "one, radix sort"), r, sort_alone(study, path));
    }
    rz_bench_table_show(study->bench, &table);
    return true;
}

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
    struct rz_bench_start start = {.ranks = RANKS, .program = "bench_monitor"};
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
    unsigned repetitions = rz_bench_repetitions(study->bench, USUAL, QUICK);
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
    static bool (*const parts[])(struct rz_bench_study *) = {make_sort, make_scale, make_noise,
                                                             make_watch};
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
