/* One SIGKILL: when the survivors' calls return an error, when they are rolled back. */
#include "cmd/rzbench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 7, REPETITIONS_QUICK = 2 };

enum what { WHAT_RECEIVE, WHAT_BARRIER, WHAT_REINIT, WHAT_COUNT };
static const char *const what_names[] = {"receive", "barrier", "reinit"};

struct setting {
    unsigned ranks, nodes, mebibytes;
    bool quick; /* one of those of --quick */
};

static const struct setting settings[] = {
    {8, 1, 32, true},   {8, 1, 512, true},   {8, 4, 32, true},   {8, 4, 512, false},
    {64, 1, 32, false}, {64, 1, 512, false}, {64, 4, 32, false}, {64, 4, 512, false}};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* Neither rank 0, nor the root's neighbour in any tree, nor the last. */
static unsigned victim_of(const struct setting *setting)
{
    return setting->ranks / 2 + 1;
}

static void report_path(const struct rz_bench *bench, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/failure.report", bench->folder);
}

static void command_of(const struct rz_bench *bench, const struct setting *setting, enum what what,
                       struct rz_bench_command *command)
{
    char fault[64], report[PATH_MAX + 32];
    const char *options[] = {"--on-failure",
                             what == WHAT_REINIT ? "repair" : "continue",
                             "--inject",
                             fault,
                             "--report",
                             report,
                             NULL};
    snprintf(fault, sizeof fault, "kill rank %u at iteration 1", victim_of(setting));
    report_path(bench, report, sizeof report);
    struct rz_bench_start start = {.system = RZ_BENCH_RHIZOME,
                                   .ranks = setting->ranks,
                                   .nodes = setting->nodes,
                                   .program = "bench_failure",
                                   .options = options};
    rz_bench_command_start(bench, &start, command);
    rz_bench_command_add(command, "%s", what_names[what]);
    rz_bench_command_add(command, "%u", victim_of(setting));
    rz_bench_command_add(command, "%u", setting->mebibytes);
}

/* The earliest date of this event in the launcher's record; 0: there is none. */
static rz_time recorded(const struct rz_bench *bench, const char *event)
{
    char path[PATH_MAX + 32], line[1024], wanted[64];
    rz_time earliest = 0;
    report_path(bench, path, sizeof path);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    snprintf(wanted, sizeof wanted, "event=%s ", event);
    while (fgets(line, sizeof line, f)) {
        const char *at = strstr(line, " at_ns=");
        rz_time date = at ? strtoull(at + strlen(" at_ns="), NULL, 10) : 0;
        if (strncmp(line, wanted, strlen(wanted)) == 0 && date && (!earliest || date < earliest))
            earliest = date;
    }
    fclose(f);
    return earliest;
}

/* Of all lines that begin with word: how many, the first and the last of the dates at their ends.
 */
struct dates {
    unsigned n;
    rz_time first, last;
};

static struct dates dates_of(const struct rz_bench_run *run, const char *word)
{
    struct dates dates = {0};
    for (const char *line = NULL; (line = rz_bench_line(run, word, line)) != NULL;) {
        size_t length = strcspn(line, "\n");
        while (length > 0 && line[length - 1] != ' ')
            length--;
        rz_time date = strtoull(line + length, NULL, 10);
        if (dates.n == 0 || date < dates.first)
            dates.first = date;
        if (date > dates.last)
            dates.last = date;
        dates.n++;
    }
    return dates;
}

struct outcome {
    struct rz_bench_table *table;
    const char *row;
    unsigned repetition;
    rz_time injected;
};

static void put_ms(const struct outcome *outcome, const char *column, rz_time at)
{
    if (at >= outcome->injected)
        rz_bench_put(rz_bench_cell(outcome->table, outcome->row, column), outcome->repetition,
                     (double)(at - outcome->injected) / 1e6);
}

/* False: not everybody told what was expected of him. */
static bool take(const struct rz_bench *bench, const struct setting *setting, enum what what,
                 const struct rz_bench_run *run, struct outcome *outcome)
{
    static const char *const last_error[] = {"last error, MPI_Recv", "last error, MPI_Barrier"};
    unsigned survivors = setting->ranks - 1;
    outcome->injected = recorded(bench, "injected");
    if (!outcome->injected || run->end != RZ_BENCH_ENDED)
        return false;
    if (what == WHAT_REINIT) {
        struct dates back = dates_of(run, "back"), whole = dates_of(run, "whole");
        if (run->status != 0 || back.n != survivors || whole.n != setting->ranks)
            return false;
        put_ms(outcome, "last survivor rolled back", back.last);
        put_ms(outcome, "all past a barrier", whole.last);
        return true;
    }
    struct dates errors = dates_of(run, "error");
    if (errors.n != survivors)
        return false;
    if (what == WHAT_RECEIVE) {
        put_ms(outcome, "seen by its daemon", recorded(bench, "failure_seen"));
        put_ms(outcome, "first error, MPI_Recv", errors.first);
    }
    put_ms(outcome, last_error[what], errors.last);
    return true;
}

static bool measure(struct rz_bench *bench, struct rz_bench_table *table,
                    const struct setting *setting, enum what what, unsigned repetition)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    char row[RZ_BENCH_NAME_MAX], text[1024], report[PATH_MAX + 32];
    snprintf(row, sizeof row, "%u ranks on %u node%s, %u MiB", setting->ranks, setting->nodes,
             setting->nodes > 1 ? "s" : "", setting->mebibytes);
    struct outcome outcome = {.table = table, .row = row, .repetition = repetition};
    report_path(bench, report, sizeof report);
    remove(report);
    command_of(bench, setting, what, &command);
    rz_bench_run(bench, &command, 0, &run);
    bool good = take(bench, setting, what, &run, &outcome) || run.end == RZ_BENCH_OUT_OF_TIME;
    if (!good) {
        rz_bench_command_show(bench, &command, text, sizeof text);
        fprintf(stderr, "rzbench: incomplete (status %d%s): %s\n%.1500s\n", run.status,
                run.end == RZ_BENCH_OVER ? ", over the limit" : "", text, run.output);
    }
    rz_bench_run_free(&run);
    return good;
}

static void show_commands(struct rz_bench *bench)
{
    for (int w = 0; w < WHAT_COUNT; w++) {
        struct rz_bench_command command = {0};
        char text[1024];
        command_of(bench, &settings[0], (enum what)w, &command);
        rz_bench_command_show(bench, &command, text, sizeof text);
        rz_bench_say(bench, "    %s\n", text);
    }
}

bool rz_bench_failure(struct rz_bench *bench)
{
    static struct rz_bench_table table = {.name = "failure",
                                          .title = "Milliseconds from SIGKILL",
                                          .rows_are = "job, and what the victim holds",
                                          .unit = "ms",
                                          .plot = true};
    unsigned incomplete = 0, runs = 0;
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK);
    if (!rz_bench_compile(bench, "bench_failure", false))
        return false;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < SETTINGS; k++)
            for (int w = 0; w < WHAT_COUNT; w++)
                if ((!bench->quick || settings[k].quick) && rz_bench_may_go_on(bench)) {
                    bool good = measure(bench, &table, &settings[k], (enum what)w, i);
                    runs += !bench->budget_used_up;
                    incomplete += !good;
                }
    rz_bench_say(
        bench, "\n## One failure\n\nThe victim holds memory resident; all others wait for it. Zero "
               "is the moment its daemon sends the signal; survivors read the same clock when "
               "their call has returned.\n\n");
    show_commands(bench);
    rz_bench_table_show(bench, &table);
    rz_bench_say(bench, "\n%u of %u runs complete: every survivor returned what it had to.\n",
                 runs - incomplete, runs);
    return incomplete == 0;
}
