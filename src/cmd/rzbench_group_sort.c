/*
 * Figure 14 of Camargo, Duarte (JBCS 24:5, 2018): HyperQuickSort whose processes leave; and the
 * same amount sorted by one process; and large amounts.
 */
#include "cmd/rzbench_group.h"
#include "cmd/rzbench_slice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { RANKS = RZ_BENCH_GROUP_RANKS };

/* Sizes with which an undisturbed run takes some seconds; a quarter where few go on with a share of
 * a processor each. */
enum { COUNT = 96 << 20, COUNT_QUICK = 1 << 20, COUNT_SLICES = COUNT / 4 };

/* What the paper has. */
static const double OVERHEAD_MOST = 1.09;

static const struct way {
    const char *name, *method, *fail, *settings;
} ways[] = {{"ULFM", "ulfm", "kill", ""}, /* has no notion of slow: there they fail */
            {"DGRP, failures", "no-rejoin", "kill", ""}, /* the same event as there */
            {"DGRP, no rejoin", "no-rejoin", "stop", ""},
            {"DGRP, rejoin", "dgrp", "stop", "--group zeta=3"}};
enum { ULFM, FAILED, OUT, BACK, N_WAYS };

static const struct scenario {
    const char *name;
    unsigned leave;
    bool sliced; /* also with shares of processors */
} scenarios[] = {{"all recommended", 0, true},
                 {"one leaves", 1, false},
                 {"half leave", RANKS / 2, true},
                 {"one remains", RANKS - 1, true}};
enum { N_SCENARIOS = sizeof scenarios / sizeof *scenarios };

/* Tests that find a stop of a quarter of a second and more. */
static const char *const settings =
    "--group interval=250ms --group first_threshold=1s --group least_threshold=250ms";
/* They leave early and for long, so that there is a time to be out. */
static const char *const leaving = "--fail-within 34% --fail-time";
enum { AWAY_MS = 3000, AWAY_QUICK_MS = 300 };

/* One table of runs. */
struct figure {
    struct rz_bench_study *study;
    char program[PATH_MAX + 64];
    unsigned count;
    long processors;                      /* that the job has */
    const struct rz_bench_slices *slices; /* NULL: processes share the machine freely */
    struct rz_bench_table table;
};

static bool figure_open(struct figure *figure, struct rz_bench_study *study, unsigned count)
{
    *figure = (struct figure){.study = study,
                              .count = study->bench->quick ? COUNT_QUICK : count,
                              .processors = sysconf(_SC_NPROCESSORS_ONLN)};
    return rz_bench_app_path(study->bench, "hyperquicksort", figure->program,
                             sizeof figure->program);
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

static void add_leaving(const struct figure *figure, const struct way *way, unsigned leave,
                        unsigned repetition, struct rz_bench_command *command)
{
    rz_bench_study_words(command, leaving);
    rz_bench_command_add(command, "%d", figure->study->bench->quick ? AWAY_QUICK_MS : AWAY_MS);
    rz_bench_command_add(command, "--fail");
    rz_bench_command_add(command, "%s", way->fail);
    rz_bench_command_add(command, "--fail-count");
    rz_bench_command_add(command, "%u", leave);
    rz_bench_command_add(command, "--fail-seed");
    rz_bench_command_add(command, "%u", repetition + 1);
}

static double sort_once(const struct figure *figure, const struct way *way,
                        const struct scenario *scenario, unsigned repetition)
{
    const struct rz_bench *bench = figure->study->bench;
    struct rz_bench_command command = {0};
    rz_bench_command_add(&command, "%s/rzrun", bench->bin);
    rz_bench_study_words(&command, "--oversubscribe --on-failure continue -n");
    rz_bench_command_add(&command, "%d", RANKS);
    if (figure->slices)
        rz_bench_slices_add(bench, figure->slices, 100 * (unsigned)figure->processors / RANKS,
                            &command);
    rz_bench_command_add(&command, "%s", figure->program);
    rz_bench_command_add(&command, "%u", figure->count);
    rz_bench_command_add(&command, "--method");
    rz_bench_command_add(&command, "%s", way->method);
    rz_bench_study_words(&command, settings);
    rz_bench_study_words(&command, way->settings);
    if (scenario->leave > 0)
        add_leaving(figure, way, scenario->leave, repetition, &command);
    double seconds = sorted_in(figure->study, &command);
    if (figure->slices)
        rz_bench_slices_sweep(figure->slices);
    return seconds;
}

/* Where nobody leaves, failures are as stops. */
static bool is_run(const struct figure *figure, const struct scenario *scenario, unsigned way)
{
    return (scenario->sliced || !figure->slices) && (scenario->leave > 0 || way != FAILED);
}

static void sort_all(struct figure *figure)
{
    struct rz_bench *bench = figure->study->bench;
    unsigned n = rz_bench_repetitions(bench, RZ_BENCH_GROUP_USUAL, RZ_BENCH_GROUP_QUICK);
    for (unsigned r = 0; r < n && rz_bench_may_go_on(bench); r++)
        for (unsigned s = 0; s < N_SCENARIOS; s++)
            for (unsigned w = 0; w < N_WAYS && rz_bench_may_go_on(bench); w++)
                if (is_run(figure, &scenarios[s], w))
                    rz_bench_put(rz_bench_cell(&figure->table, scenarios[s].name, ways[w].name), r,
                                 sort_once(figure, &ways[w], &scenarios[s], r));
    rz_bench_table_show(bench, &figure->table);
}

static struct rz_bench_interval ratio(struct figure *figure, const struct scenario *scenario,
                                      unsigned over, unsigned under)
{
    return rz_bench_interval_ratio(rz_bench_cell(&figure->table, scenario->name, ways[over].name),
                                   rz_bench_cell(&figure->table, scenario->name, ways[under].name));
}

static void claim_over_ulfm(struct figure *figure, const struct scenario *scenario, unsigned way,
                            const char *how, const char *where)
{
    char what[RZ_BENCH_CLAIM_TEXT_MAX];
    struct rz_bench_interval overhead = ratio(figure, scenario, way, ULFM);
    snprintf(what, sizeof what, "DGRP over ULFM, %s%s%s", scenario->name, how, where);
    rz_bench_claim_most(&figure->study->claims, what, OVERHEAD_MOST, &overhead, "");
}

/* A failure is news of the runtime. Of a stop only tests tell, when an answer is late: ULFM has
 * nothing to set against that. */
static void claim_overhead(struct figure *figure, const char *where)
{
    claim_over_ulfm(figure, &scenarios[0], OUT, "", where);
    for (unsigned s = 1; s < N_SCENARIOS; s++) {
        if (!is_run(figure, &scenarios[s], FAILED))
            continue;
        claim_over_ulfm(figure, &scenarios[s], FAILED, ", by failure in both", where);
        if (figure->slices)
            rz_bench_claim_excuse(&figure->study->claims, "a known failure ends a round at once");
        claim_over_ulfm(figure, &scenarios[s], OUT, ", by stops, there by failure", where);
        rz_bench_claim_excuse(&figure->study->claims, "a stop is known by late answers alone");
    }
}

/* Who comes back helps where those who remain leave processors idle. */
static void claim_return(struct figure *figure, const char *where)
{
    char what[RZ_BENCH_CLAIM_TEXT_MAX], why[RZ_BENCH_CLAIM_TEXT_MAX];
    for (unsigned s = N_SCENARIOS - 2; s < N_SCENARIOS; s++) {
        unsigned remain = RANKS - scenarios[s].leave;
        struct rz_bench_interval gain = ratio(figure, &scenarios[s], OUT, BACK);
        snprintf(what, sizeof what, "DGRP without rejoin over with rejoin, %s%s", scenarios[s].name,
                 where);
        rz_bench_claim_least(&figure->study->claims, what, 1.0, &gain, "");
        snprintf(why, sizeof why, "%u processes keep %ld processors busy, see slices", remain,
                 figure->processors);
        if (!figure->slices && remain >= figure->processors)
            rz_bench_claim_excuse(&figure->study->claims, why);
    }
}

bool rz_bench_group_sort(struct rz_bench_study *study)
{
    static struct figure figure;
    static char title[160];
    if (!figure_open(&figure, study, COUNT))
        return true;
    snprintf(title, sizeof title,
             "Figure 14: %u integers sorted by %d processes that leave in the first third, s",
             figure.count, RANKS);
    figure.table = (struct rz_bench_table){.name = "group-sort",
                                           .title = title,
                                           .rows_are = "scenario",
                                           .unit = "s",
                                           .intervals = true,
                                           .plot = true};
    sort_all(&figure);
    claim_overhead(&figure, "");
    claim_return(&figure, "");
    return true;
}

bool rz_bench_group_slices(struct rz_bench_study *study)
{
    static struct figure figure;
    static struct rz_bench_slices slices;
    static char title[200];
    if (!figure_open(&figure, study, COUNT_SLICES))
        return true;
    if (figure.processors >= RANKS || !rz_bench_slices_open(&slices)) {
        rz_bench_say(study->bench, "\nFigure 14 with a share of a processor for each process: left "
                                   "out, for there are enough, or the system gives none (it takes "
                                   "root, and the controller cpu of cgroup).\n");
        return true;
    }
    figure.slices = &slices;
    snprintf(title, sizeof title,
             "Figure 14 as if there were a processor for each: %u integers, %d processes that have "
             "%ld/%d of one each, s",
             figure.count, RANKS, figure.processors, RANKS);
    figure.table = (struct rz_bench_table){.name = "group-slices",
                                           .title = title,
                                           .rows_are = "scenario",
                                           .unit = "s",
                                           .intervals = true,
                                           .plot = true};
    sort_all(&figure);
    rz_bench_slices_close(&slices);
    claim_overhead(&figure, ", a share each");
    claim_return(&figure, ", a share each");
    return true;
}

static double sort_alone(const struct figure *figure)
{
    struct rz_bench_command command = {0};
    rz_bench_command_add(&command, "%s", figure->program);
    rz_bench_command_add(&command, "%u", figure->count);
    return sorted_in(figure->study, &command);
}

bool rz_bench_group_scale(struct rz_bench_study *study)
{
    static struct figure figure;
    static const char *const row = "all";
    struct rz_bench *bench = study->bench;
    unsigned n = rz_bench_repetitions(bench, RZ_BENCH_GROUP_USUAL, RZ_BENCH_GROUP_QUICK);
    if (!figure_open(&figure, study, COUNT))
        return true;
    figure.table = (struct rz_bench_table){.name = "group-scale",
                                           .title = "The same integers by one process alone, s",
                                           .rows_are = "integers",
                                           .unit = "s",
                                           .intervals = true,
                                           .ratios = true};
    for (unsigned r = 0; r < n && rz_bench_may_go_on(bench); r++) {
        rz_bench_put(rz_bench_cell(&figure.table, row, "16 processes, DGRP"), r,
                     sort_once(&figure, &ways[BACK], &scenarios[0], r));
        rz_bench_put(rz_bench_cell(&figure.table, row, "one, radix sort"), r, sort_alone(&figure));
    }
    rz_bench_table_show(bench, &figure.table);
    return true;
}

/* ---- large amounts ---- */

enum { LARGE_LIMIT_S = 900 };

static const struct large {
    const char *row, *store, *quick_row;
    unsigned count, quick_count;
    unsigned memory; /* bytes for each integer */
} larges[] = {
    {"1 000 000 000, files", "file", "4 000 000, files", 1000000000, 4000000, 12},
    {"256 000 000, memory", "memory", "1 000 000, memory", 256000000, 1000000, 24},
};

/* Bytes for each integer in checkpoints: of two generations, and of the one being written. */
enum { STORE_BYTES = 3 * 4 };

static bool has_room(const struct figure *figure, const struct large *large, bool files)
{
    const char *folder = files ? figure->study->bench->folder : "/dev/shm";
    struct statvfs facts;
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double room =
        statvfs(folder, &facts) == 0 ? (double)facts.f_bavail * (double)facts.f_frsize : 0;
    double n = figure->count;
    if (memory >= n * large->memory && room >= n * STORE_BYTES)
        return true;
    rz_bench_say(figure->study->bench,
                 "\n%u integers are left out: they take %.0f GB of memory and %.0f GB in %s.\n",
                 figure->count, n * large->memory / 1e9, n * STORE_BYTES / 1e9, folder);
    return false;
}

static double sort_large(const struct figure *figure, const char *store, bool files)
{
    struct rz_bench_command command = {0};
    rz_bench_command_add(&command, "%s/rzrun", figure->study->bench->bin);
    rz_bench_study_words(&command, "--oversubscribe -n");
    rz_bench_command_add(&command, "%d", RANKS);
    rz_bench_command_add(&command, "%s", figure->program);
    rz_bench_command_add(&command, "%u", figure->count);
    rz_bench_study_words(&command, "--method dgrp --store");
    rz_bench_command_add(&command, "%s", store);
    if (files) {
        rz_bench_command_add(&command, "--dir");
        rz_bench_command_add(&command, "%s", figure->study->bench->folder);
    }
    return sorted_in(figure->study, &command);
}

static void large_once(struct figure *figure, const struct large *large, unsigned repetition)
{
    bool quick = figure->study->bench->quick, files = strcmp(large->store, "file") == 0;
    const char *row = quick ? large->quick_row : large->row;
    figure->count = quick ? large->quick_count : large->count;
    if (!has_room(figure, large, files))
        return;
    rz_bench_put(rz_bench_cell(&figure->table, row, "16 processes, DGRP"), repetition,
                 sort_large(figure, large->store, files));
    if (rz_bench_may_go_on(figure->study->bench))
        rz_bench_put(rz_bench_cell(&figure->table, row, "one, radix sort"), repetition,
                     sort_alone(figure));
}

/* Minutes, which the other parts do not have: not among all of them. */
bool rz_bench_group_large(struct rz_bench_study *study)
{
    static struct figure figure;
    struct rz_bench *bench = study->bench;
    if (!bench->quick && strcmp(bench->part, "all") == 0) {
        rz_bench_say(bench, "\nLarge sorts are made by `rzbench group large` alone.\n");
        return true;
    }
    if (!figure_open(&figure, study, COUNT))
        return true;
    figure.table = (struct rz_bench_table){.name = "group-large",
                                           .title = "Large sorts, checkpoints in files or in "
                                                    "memory; one alone keeps none, s",
                                           .rows_are = "integers, checkpoints",
                                           .unit = "s",
                                           .intervals = true,
                                           .ratios = true};
    study->limit = LARGE_LIMIT_S * RZ_SECOND;
    for (unsigned r = 0; r < rz_bench_repetitions(bench, 1, 1); r++)
        for (unsigned i = 0; i < sizeof larges / sizeof *larges; i++)
            if (rz_bench_may_go_on(bench))
                large_once(&figure, &larges[i], r);
    study->limit = 0;
    rz_bench_table_show(bench, &figure.table);
    return true;
}
