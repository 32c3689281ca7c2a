/* SPDX-License-Identifier: BSD-3-Clause */
/* rzsim figure: the figures of the papers, from runs made for them. */
#include "rzsim/rzsim.h"

#include "chart/chart.h"
#include "cli/quantity.h"
#include "study/figure.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define REQUEST ((struct request *)target)

enum { FIGURES_MAX = 256 };

#define EFFORT_LEAST 0.02 /* with less than that a figure is not meaningful */

struct request {
    struct rz_figure_options options;
    const char *out, *note;
    uint64_t seeds; /* rows are assessed with this number of seeds */
    rz_time budget; /* 0: none */
    bool all, resume;
    char command[512];
};

RZ_CLI_TAKE_TEXT(out, REQUEST->out)

RZ_CLI_TAKE(trials)
{
    uint64_t trials;
    *why = "it needs a whole number from 1 to 10000";
    if (!rz_quantity_number(value, 1, 10000, &trials)) {
        return false;
    }
    REQUEST->options.trials = (uint32_t)trials;
    return true;
}

RZ_CLI_TAKE(effort)
{
    *why = "it needs a number above 0, at most 1, such as 0.1";
    return rz_quantity_share(value, &REQUEST->options.effort) && REQUEST->options.effort > 0;
}

RZ_CLI_TAKE(seed)
{
    *why = "it needs a whole number";
    return rz_quantity_power(value, 0, UINT64_MAX, &REQUEST->options.seed);
}

RZ_CLI_TAKE(seeds)
{
    *why = "it needs a whole number from 1 to 1000";
    return rz_quantity_number(value, 1, 1000, &REQUEST->seeds);
}

RZ_CLI_TAKE(budget)
{
    *why = "it needs a time like 300s or 10m";
    return rz_quantity_duration(value, &REQUEST->budget) && REQUEST->budget > 0;
}

RZ_CLI_TAKE_FLAG(resume, REQUEST->resume)
RZ_CLI_TAKE_TEXT(note, REQUEST->note)

const struct rz_cli_option rz_rzsim_figure_options[] = {
    {NULL, NULL, NULL, "How much, and where to", NULL},
    {"--out", NULL, "DIR", "Write NAME.svg and NAME.csv there, of `all` also README.md. Default: .",
     take_out},
    {"--trials", NULL, "N", "Trials for each point. Default: the figure's own.", take_trials},
    {"--effort", NULL, "X", "Below 1: fewer points and smaller sizes. Default: 1.", take_effort},
    {"--seed", NULL, "S", "Seed of the first trial. Default: 1.", take_seed},
    {"--seeds", NULL, "N",
     "Assess each row with N seeds: S, S + 1000, and so on; its verdict is that of most of them, "
     "or "
     "that it depends on the seed, where the 95 % interval of their share has a half in it. The "
     "picture is that of the first. `all` writes each row in each seed to verdicts.csv. Default: "
     "1.",
     take_seeds},
    {"--budget", NULL, "T",
     "Lower the effort of each figure such that all take about this time, and leave out what does "
     "not fit; further seeds are assessed while time is left.",
     take_budget},
    {"--resume", NULL, NULL,
     "Of `all`: do not assess again the seeds that verdicts.csv in DIR has, which an earlier run "
     "with "
     "the same --trials left there, whole or cut short.",
     take_resume},
    {"--note", NULL, "TEXT", "A line for the head of README.md, such as a commit.", take_note},
    {NULL, NULL, NULL, NULL, NULL}};

static const struct rz_cli cli = {
    .name = "rzsim figure",
    .summary = "redraw the figures of the papers from runs made now",
    .synopsis = "NAME|all [OPTION]...",
    .description = "Runs what a figure shows, draws it beside the values that the paper states "
                   "(hollow marks), writes all points as CSV, and assesses row by row whether they "
                   "agree, with one seed or with many. rzsim list figures has the names.",
    .options = rz_rzsim_figure_options,
    .epilogue = "Exit status: 0, 1 a figure could not be drawn, 2 the command line is wrong. A "
                "figure\nthat differs from its paper is no error: the table says so."};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- which figures ---- */

static int by_seconds(const void *a, const void *b)
{
    double x = (*(const struct rz_figure *const *)a)->seconds;
    double y = (*(const struct rz_figure *const *)b)->seconds;
    return (x > y) - (x < y);
}

static size_t find(const char *name, const struct rz_figure **out)
{
    const char *names[FIGURES_MAX + 1] = {NULL};
    const struct rz_figure *figure;
    size_t n = 0, all = 0;
    if (!name) {
        rz_cli_refuse(&cli, "name a figure, or all; rzsim list figures has them");
    }
    for (; all < FIGURES_MAX && (figure = rz_figure_at(all)); all++) {
        names[all] = figure->name;
        if (strcmp(name, "all") == 0 || strcmp(name, figure->name) == 0) {
            out[n++] = figure;
        }
    }
    const char *nearest = rz_cli_nearest(name, names);
    if (n == 0 && nearest) {
        rz_cli_refuse(&cli, "there is no figure '%s'; did you mean %s?", name, nearest);
    }
    if (n == 0) {
        rz_cli_refuse(&cli, "there is no figure '%s'; rzsim list figures has them", name);
    }
    qsort(out, n, sizeof(*out), by_seconds); /* the cheap ones first */
    return n;
}

/* ---- time budget ---- */

struct purse {
    double end;             /* 0: no budget */
    double planned, spent;  /* of the figures that are done, in their own seconds and in ours */
    double seconds_to_come; /* of those that are not done, in their own seconds */
};

static double seconds_of(const struct rz_figure *figure)
{
    return figure->seconds > 0.1 ? figure->seconds : 0.1;
}

/* The effort with which a figure takes its share of the remaining time, estimated from the progress
 * so far. */
static double effort_for(const struct purse *purse, double most)
{
    if (purse->end == 0) {
        return most;
    }
    double pace =
        purse->planned > 0.5 && purse->spent > purse->planned ? purse->spent / purse->planned : 1;
    double share = (purse->end - now()) / purse->seconds_to_come; /* for each of its seconds */
    double effort = share / pace;
    return effort < most ? effort : most;
}

/* Makes a figure. Returns whether it was made. */
static bool make(const struct rz_figure *figure, const struct request *request, struct purse *purse,
                 struct rz_figure_report *report)
{
    struct rz_figure_options options = request->options;
    const char *why = "it does not say why";
    double seconds = seconds_of(figure);
    options.effort = effort_for(purse, request->options.effort);
    purse->seconds_to_come -= seconds;
    if (options.effort < EFFORT_LEAST && options.effort < request->options.effort) {
        rz_figure_leave_out(report, figure, "left out, no time was left");
        printf("%-20s left out, no time is left\n", figure->name);
        return false;
    }
    bool good = rz_figure_make(figure, &options, request->out, report, &why);
    double took = rz_figure_report_seconds(report);
    purse->planned += seconds * options.effort;
    purse->spent += took;
    if (good) {
        printf("%-20s %7.1f s, effort %.2f\n", figure->name, took, options.effort);
    } else {
        fprintf(stderr, "rzsim: figure %s: %s\n", figure->name, why);
    }
    fflush(stdout);
    return good;
}

/* Rows of a figure that was made, with one more seed; false: it failed, or no time is left. */
static bool assess_again(const struct rz_figure *figure, const struct request *request,
                         uint64_t number, const struct purse *purse,
                         struct rz_figure_report *report)
{
    struct rz_figure_options options = request->options;
    const char *why = "it does not say why";
    options.seed += number * RZ_FIGURE_SEED_STEP;
    if (rz_figure_report_has(report, figure, options.seed)) {
        return true;
    }
    if (purse->end > 0 && purse->end < now()) {
        return false;
    }
    if (rz_figure_assess_again(figure, &options, report, &why)) {
        return true;
    }
    fprintf(stderr, "rzsim: figure %s, seed %llu: %s\n", figure->name,
            (unsigned long long)options.seed, why);
    return false;
}

/* Seeds that a figure still needs for its assessment. */
static uint64_t seeds_to_come(const struct rz_figure *figure, const struct request *request,
                              const struct rz_figure_report *report)
{
    uint64_t n = 0;
    for (uint64_t number = 1; number < request->seeds; number++) {
        n += !rz_figure_report_has(report, figure,
                                   request->options.seed + number * RZ_FIGURE_SEED_STEP);
    }
    return n;
}

/* The number of figures, the cheap ones first, that can be assessed with all seeds in the remaining
 * time. */
static size_t affordable(const struct rz_figure *const *figures, size_t n,
                         const struct request *request, const struct purse *purse,
                         const struct rz_figure_report *report)
{
    double pace =
        purse->planned > 0.5 && purse->spent > purse->planned ? purse->spent / purse->planned : 1;
    double left = purse->end - now();
    size_t fit = 0;
    for (; fit < n && purse->end > 0; fit++) {
        left -=
            seconds_of(figures[fit]) * pace * (double)seeds_to_come(figures[fit], request, report);
        if (left < 0) {
            break;
        }
    }
    return purse->end > 0 ? fit : n;
}

/* ---- the report ---- */

static void machine(FILE *out)
{
    char line[256], model[128] = "";
    struct utsname system;
    FILE *cpu = fopen("/proc/cpuinfo", "r");
    while (cpu && !model[0] && fgets(line, sizeof(line), cpu)) {
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            snprintf(model, sizeof(model), "%.*s", (int)strcspn(strchr(line, ':') + 2, "\n"),
                     strchr(line, ':') + 2);
        }
    }
    if (cpu) {
        fclose(cpu);
    }
    uname(&system);
    fprintf(out, "* Machine: %ld processors (%s), %s %s\n", sysconf(_SC_NPROCESSORS_ONLN),
            model[0] ? model : system.machine, system.sysname, system.release);
}

static void write_report(const struct request *request, const struct rz_figure_report *report,
                         FILE *out)
{
    char date[64];
    time_t seconds = time(NULL);
    strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime(&seconds));
    fprintf(out,
            "# The papers' figures, measured here\n\n"
            "Written by `%s` (Rhizome %s) on %s.\n\n",
            request->command, RZ_VERSION, date);
    machine(out);
    if (request->note) {
        fprintf(out, "* %s\n", request->note);
    }
    fputs("* Hollow marks, where a picture has them, are values that its key names; all else was "
          "measured in these runs, in virtual time unless a row says otherwise.\n",
          out);
    fprintf(
        out,
        "* What was measured is that of seed %llu; each row was assessed with up to %llu seed%s "
        "(verdicts.csv has all), and its verdict is that of most of them: of all of them where the "
        "column of seeds is empty, else with the 95 %% interval of their share; a row whose "
        "interval has a half in it depends on the seed, and is neither. One figure: `rzsim figure "
        "NAME`.\n\n",
        (unsigned long long)request->options.seed, (unsigned long long)request->seeds,
        request->seeds == 1 ? "" : "s");
    rz_figure_report_markdown(report, out);
}

/* Written after each figure, so that an interrupted run leaves a report of what it did. */
static bool write_readme(const struct request *request, struct rz_figure_report *report)
{
    rz_figure_report_sort(report);
    char path[PATH_MAX], temporary[PATH_MAX + 8];
    snprintf(path, sizeof(path), "%s/README.md", request->out);
    snprintf(temporary, sizeof(temporary), "%s.part", path);
    FILE *out = fopen(temporary, "w");
    if (!out) {
        return false;
    }
    write_report(request, report, out);
    bool good = !ferror(out);
    good = fclose(out) == 0 && good;
    return good && rename(temporary, path) == 0;
}

static bool write_verdicts(const struct request *request, const struct rz_figure_report *report,
                           const char **why)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/verdicts.csv", request->out);
    return rz_figure_report_csv(report, path, why);
}

/* The assessment of an earlier run; none is no error. */
static bool take_over(const struct request *request, struct rz_figure_report *report,
                      const char **why)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/verdicts.csv", request->out);
    if (!request->resume || access(path, F_OK) != 0) {
        return true;
    }
    long seeds = rz_figure_report_resume(report, path, why);
    if (seeds >= 0) {
        printf("%s: %ld seeds of figures were assessed before\n", path, seeds);
    }
    return seeds >= 0;
}

/* Seed by seed, because figures share the runs of a seed. Each result is written at once: an
 * interrupted run can be resumed. */
static void assess_seeds(const struct request *request, const struct rz_figure **figures, size_t n,
                         const struct purse *purse, struct rz_figure_report *report)
{
    for (uint64_t number = 1; number < request->seeds; number++) {
        bool any = false;
        for (size_t i = 0; i < n; i++) {
            if (figures[i] && !assess_again(figures[i], request, number, purse, report)) {
                figures[i] = NULL;
            }
            any = any || figures[i];
        }
        if (!any) {
            return;
        }
        const char *why;
        if (request->all) {
            (void)write_verdicts(request, report, &why); /* the last time reports what is wrong */
        }
        printf("%zu figures, seed %llu of %llu\n", n, (unsigned long long)number + 1,
               (unsigned long long)request->seeds);
        fflush(stdout);
    }
}

/* First those that the time suffices for, then the others, with the seeds that it suffices for. */
static void assess_again_all(const struct request *request, const struct rz_figure **figures,
                             size_t n, const struct purse *purse, struct rz_figure_report *report)
{
    size_t fit = affordable(figures, n, request, purse, report);
    assess_seeds(request, figures, fit, purse, report);
    assess_seeds(request, figures + fit, n - fit, purse, report);
}

static int finish(const struct request *request, struct rz_figure_report *report)
{
    uint32_t failures = rz_figure_report_failures(report);
    const char *why = "";
    if (!request->all) {
        putchar('\n');
        rz_figure_report_print(report, stdout);
    } else if (!write_readme(request, report)) {
        return rz_rzsim_fail("no README.md", strerror(errno));
    } else if (!write_verdicts(request, report, &why)) {
        return rz_rzsim_fail("no verdicts.csv", why);
    } else {
        printf("%s/README.md: %u rows differ, %u figures could not be drawn\n", request->out,
               rz_figure_report_differences(report), failures);
    }
    return failures == 0 ? RZ_RZSIM_GOOD : RZ_RZSIM_BAD;
}

/* Writes the command line for the report, without --note, whose text the report has already. */
static void spell_command(struct request *request, int argc, char **argv)
{
    size_t used = (size_t)snprintf(request->command, sizeof(request->command), "rzsim");
    for (int i = 0; i < argc && used < sizeof(request->command); i++) {
        if (i > 0 && (strcmp(argv[i], "--note") == 0 || strcmp(argv[i - 1], "--note") == 0)) {
            continue;
        }
        const char *quote = argv[i][strcspn(argv[i], " `'\"")] ? "'" : "";
        used += (size_t)snprintf(request->command + used, sizeof(request->command) - used,
                                 " %s%s%s", quote, argv[i], quote);
    }
}

int rz_rzsim_figure(int argc, char **argv)
{
    struct request request = {
        .options = {.seed = 1, .effort = 1, .progress = true}, .seeds = 1, .out = "."};
    const struct rz_figure *figures[FIGURES_MAX];
    spell_command(&request, argc, argv);
    const char *name = rz_rzsim_word(&cli, argc, argv, &request);
    size_t n = find(name, figures);
    request.all = strcmp(name, "all") == 0;
    if (request.resume && !request.all) {
        rz_cli_refuse(&cli, "--resume goes with all alone: verdicts.csv has what all assesses");
    }
    if (mkdir(request.out, 0777) != 0 && errno != EEXIST) {
        return rz_rzsim_fail(request.out, strerror(errno));
    }
    struct rz_figure_report *report = rz_figure_report_create();
    struct purse purse = {.end = request.budget ? now() + (double)request.budget * 1e-9 : 0};
    for (size_t i = 0; i < n; i++) {
        purse.seconds_to_come += seconds_of(figures[i]);
    }
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        if (make(figures[i], &request, &purse, report)) {
            figures[made++] = figures[i];
        }
        if (request.all) {
            write_readme(&request, report);
        }
    }
    const char *why;
    int status;
    if (take_over(&request, report, &why)) {
        assess_again_all(&request, figures, made, &purse, report);
        status = finish(&request, report);
    } else {
        status = rz_rzsim_fail("verdicts.csv of an earlier run", why);
    }
    rz_figure_report_destroy(report);
    return status;
}
