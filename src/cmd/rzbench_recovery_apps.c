/*
 * Figures 4 and 5: three proxy applications, weak scaling, a checkpoint after every iteration, and
 * one failure in a random iteration, the same one for all methods. Where the time went they say
 * themselves (apps/recovery). Stores as in table 2 of the paper: restart has files; Reinit and ULFM
 * memory for the failure of a process and files for that of a node, and there, beside it, the
 * memory of another node.
 */
#include "cmd/rzbench_recovery.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPETITIONS = 10, REPETITIONS_QUICK = 1, RANKS_QUICK = 8, ITERATIONS = 20 };

enum method { REINIT, REINIT_BUDDY, ULFM, ULFM_BUDDY, RESTART, UNDISTURBED, METHOD_COUNT };

static const struct {
    const char *column, *method, *on_failure;
} methods[METHOD_COUNT] = {[REINIT] = {"Reinit", "reinit", "repair"},
                           [REINIT_BUDDY] = {"Reinit, buddy", "reinit", "repair"},
                           [ULFM] = {"ULFM", "ulfm", "replace"},
                           [ULFM_BUDDY] = {"ULFM, buddy", "ulfm", "replace"},
                           [RESTART] = {"restart", "restart", "restart"},
                           [UNDISTURBED] = {"undisturbed", "plain", "continue"}};

/* What is measured, as the proxies call it, and how the tables do. */
enum { TOTAL, APPLICATION, CHECKPOINT, RECOVERY, MEASURE_COUNT };

static const struct {
    const char *word, *title, *name;
    double scale;
    const char *unit;
} measures[MEASURE_COUNT] = {
    [TOTAL] = {"total", "total time, s (figure 4)", "total", 1, "s"},
    [APPLICATION] = {"application", "pure application time, s (figure 5)", "application", 1, "s"},
    [CHECKPOINT] = {"checkpoint", "writing checkpoints, s", "checkpoint", 1, "s"},
    [RECOVERY] = {"recovery", "recovery, ms, and what of the iteration was lost", "recovery", 1000,
                  "ms"}};

/* ---- The proxies ----
 *
 * With small parts for each rank: ten repetitions of all sizes and ways shall end within an hour.
 */

static void add_numbers(struct rz_bench_command *command, const char *const *words,
                        const unsigned *n)
{
    for (int i = 0; i < 3; i++) {
        if (words)
            rz_bench_command_add(command, "%s", words[i]);
        rz_bench_command_add(command, "%u", n[i]);
    }
}

static void add_comd(struct rz_bench_command *command, unsigned ranks)
{
    static const char *const along[] = {"-i", "-j", "-k"}, *const cells[] = {"-x", "-y", "-z"};
    enum { CELLS = 4 };
    unsigned n[3];
    rz_bench_dimensions(ranks, n);
    add_numbers(command, along, n);
    for (int i = 0; i < 3; i++)
        n[i] *= CELLS;
    add_numbers(command, cells, n);
}

static void add_hpccg(struct rz_bench_command *command, unsigned ranks)
{
    (void)ranks;
    add_numbers(command, NULL, (const unsigned[]){16, 16, 16});
}

static void add_lulesh(struct rz_bench_command *command, unsigned ranks)
{
    (void)ranks;
    rz_bench_command_add(command, "-s");
    rz_bench_command_add(command, "5");
}

static const struct app {
    const char *name;
    bool cubes; /* of ranks */
    void (*arguments)(struct rz_bench_command *command, unsigned ranks);
} apps[] = {{"hpccg", false, add_hpccg}, {"comd", false, add_comd}, {"lulesh", true, add_lulesh}};

/* Whether what a command says about itself has these words. */
static bool says(struct rz_bench *bench, const char *path, const char *words)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    rz_bench_command_add(&command, "%s", path);
    rz_bench_command_add(&command, "--help");
    rz_bench_run(bench, &command, 0, &run);
    bool found = strstr(run.output, words) != NULL;
    rz_bench_run_free(&run);
    return found;
}

/* ---- One run ---- */

struct stores {
    bool schemes, files; /* rzrun --checkpoint, --checkpoint-dir */
};

static bool is_there(const struct stores *stores, enum method method,
                     enum rz_bench_failure_of failure)
{
    switch (method) {
    case REINIT:
        return failure == RZ_BENCH_PROCESS || (stores->schemes && stores->files);
    case REINIT_BUDDY:
    case ULFM_BUDDY:
        return failure == RZ_BENCH_NODE;
    case RESTART:
        return stores->files;
    default:
        return true;
    }
}

static void checkpoint_folder(const struct rz_bench_recovery *study, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/checkpoints", study->bench->folder);
}

/* The options of rzrun that choose method and store; ended by NULL, in out of OPTIONS_MAX. */
enum { OPTIONS_MAX = 12 };

static void options_of(const struct stores *stores, enum method method,
                       enum rz_bench_failure_of failure, const char *report, const char *folder,
                       const char **out)
{
    bool files = method == RESTART || (method == REINIT && failure == RZ_BENCH_NODE);
    const char *scheme = files ? "file" : method == REINIT ? "memory" : "buddy";
    *out++ = "--on-failure";
    *out++ = methods[method].on_failure;
    *out++ = "--report";
    *out++ = report;
    if (stores->schemes && method != ULFM && method != ULFM_BUDDY && method != UNDISTURBED) {
        *out++ = "--checkpoint";
        *out++ = scheme;
    }
    if (files) {
        *out++ = "--checkpoint-dir";
        *out++ = folder;
    }
    *out = NULL;
}

static void command_of(const struct rz_bench_recovery *study, const struct stores *stores,
                       const struct app *app, enum method method, unsigned ranks,
                       enum rz_bench_failure_of failure, unsigned seed,
                       struct rz_bench_command *command)
{
    const char *options[OPTIONS_MAX];
    char folder[PATH_MAX + 32], path[PATH_MAX + 64], report[PATH_MAX + 32];
    rz_bench_recovery_report(study, report, sizeof report);
    checkpoint_folder(study, folder, sizeof folder);
    options_of(stores, method, failure, report, folder, options);
    rz_bench_command_add(command, "%s/rzrun", study->bench->bin);
    rz_bench_command_add(command, "-n");
    rz_bench_command_add(command, "%u", ranks);
    rz_bench_command_add(command, "--nodes");
    rz_bench_command_add(command, "%u", rz_bench_recovery_nodes(study, ranks));
    rz_bench_command_add(command, "--oversubscribe");
    for (const char **word = options; *word; word++)
        rz_bench_command_add(command, "%s", *word);
    rz_bench_app_path(study->bench, app->name, path, sizeof path);
    rz_bench_command_add(command, "%s", path);
    app->arguments(command, ranks);
    rz_bench_command_add(command, "--iterations");
    rz_bench_command_add(command, "%d", ITERATIONS);
    rz_bench_command_add(command, "--method");
    rz_bench_command_add(command, "%s", methods[method].method);
    if (method == ULFM && failure == RZ_BENCH_NODE) {
        rz_bench_command_add(command, "--checkpoint-files");
        rz_bench_command_add(command, "%s", folder);
    }
    if (method == UNDISTURBED)
        return;
    rz_bench_command_add(command, "--fail");
    rz_bench_command_add(command, "%s", rz_bench_failure_names[failure]);
    rz_bench_command_add(command, "--fail-seed");
    rz_bench_command_add(command, "%u", seed);
}

static void empty(const struct rz_bench_recovery *study)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    char folder[PATH_MAX + 32];
    checkpoint_folder(study, folder, sizeof folder);
    rz_bench_command_add(&command, "sh");
    rz_bench_command_add(&command, "-c");
    rz_bench_command_add(&command, "rm -rf \"$1\" && mkdir \"$1\"");
    rz_bench_command_add(&command, "sh");
    rz_bench_command_add(&command, "%s", folder);
    rz_bench_run(study->bench, &command, 0, &run);
    rz_bench_run_free(&run);
}

struct tables {
    struct rz_bench_table of[MEASURE_COUNT];
};

/* What rzrun needed to restart the proxy cannot know: rzrun's report does. */
static double value_of(const struct rz_bench_recovery *study, const char *line, enum method method,
                       int measure)
{
    double value = rz_bench_times_value(line, measures[measure].word);
    if (method != RESTART || (measure != TOTAL && measure != RECOVERY))
        return value;
    double anew = rz_bench_recovery_told(study, "whole_ms") / 1000;
    return measure == TOTAL ? value + anew : anew;
}

static void take(const struct rz_bench_recovery *study, const struct rz_bench_run *run,
                 enum method method, unsigned ranks, unsigned repetition, struct tables *tables)
{
    const char *line = rz_bench_line(run, "times", NULL);
    char row[RZ_BENCH_NAME_MAX];
    snprintf(row, sizeof row, "%u", ranks);
    for (int i = 0; line && i < MEASURE_COUNT; i++) {
        double value = value_of(study, line, method, i);
        if (!isnan(value) && !(method == UNDISTURBED && (i == CHECKPOINT || i == RECOVERY)))
            rz_bench_put(rz_bench_cell(&tables->of[i], row, methods[method].column), repetition,
                         value * measures[i].scale);
    }
}

static void measure(struct rz_bench_recovery *study, const struct stores *stores,
                    const struct app *app, enum method method, unsigned ranks,
                    enum rz_bench_failure_of failure, unsigned repetition, struct tables *tables)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    char text[2048];
    empty(study);
    rz_bench_recovery_forget(study);
    command_of(study, stores, app, method, ranks, failure, repetition + 1, &command);
    rz_bench_run(study->bench, &command, 0, &run);
    bool good = run.end == RZ_BENCH_ENDED && run.status == 0 && rz_bench_line(&run, "times", NULL);
    if (run.end != RZ_BENCH_OUT_OF_TIME) {
        study->runs++;
        study->failed += !good;
    }
    if (good)
        take(study, &run, method, ranks, repetition, tables);
    else if (run.end != RZ_BENCH_OUT_OF_TIME) {
        rz_bench_command_show(study->bench, &command, text, sizeof text);
        fprintf(stderr, "rzbench: incomplete (status %d): %s\n%.1500s\n", run.status, text,
                run.output);
    }
    rz_bench_run_free(&run);
}

/* ---- All of them ---- */

/* The study's numbers of ranks, or as many cubes up to the greatest of them. */
static unsigned ranks_of(const struct rz_bench_recovery *study, const struct app *app,
                         unsigned *out)
{
    unsigned n = 0, most = 0;
    for (unsigned i = 0; i < study->n_ranks; i++) {
        unsigned ranks = study->ranks[i];
        most = ranks > most ? ranks : most;
        if (!app->cubes && (!study->bench->quick || ranks <= RANKS_QUICK || i == 0))
            out[n++] = ranks;
    }
    for (unsigned edge = 2; app->cubes && edge * edge * edge <= most; edge++)
        if (!study->bench->quick || edge == 2)
            out[n++] = edge * edge * edge;
    return n;
}

static void begin_tables(const struct app *app, enum rz_bench_failure_of failure,
                         struct tables *tables, char (*names)[2][RZ_BENCH_NAME_MAX * 2])
{
    memset(tables, 0, sizeof *tables);
    for (int i = 0; i < MEASURE_COUNT; i++) {
        snprintf(names[i][0], sizeof names[i][0], "%s-%s-%s", app->name,
                 rz_bench_failure_names[failure], measures[i].name);
        snprintf(names[i][1], sizeof names[i][1], "%s, failure of a %s: %s", app->name,
                 rz_bench_failure_names[failure], measures[i].title);
        tables->of[i] = (struct rz_bench_table){.name = names[i][0],
                                                .title = names[i][1],
                                                .rows_are = "ranks",
                                                .unit = measures[i].unit,
                                                .intervals = true,
                                                .plot = true,
                                                .log_scale = i == RECOVERY,
                                                .axis = RZ_BENCH_AXIS_LOG2};
    }
}

static void show_commands(struct rz_bench_recovery *study, const struct stores *stores,
                          const struct app *app, unsigned ranks, enum rz_bench_failure_of failure)
{
    for (enum method method = 0; method < METHOD_COUNT; method++) {
        struct rz_bench_command command = {0};
        char text[2048];
        if (!is_there(stores, method, failure))
            continue;
        command_of(study, stores, app, method, ranks, failure, 1, &command);
        rz_bench_command_show(study->bench, &command, text, sizeof text);
        rz_bench_say(study->bench, "    %s\n", text);
    }
}

/* The row of the most ranks in which both have a value; NULL: there is none. */
static const struct rz_bench_samples *largest(struct rz_bench_table *table, enum method method,
                                              enum method other, const char **ranks)
{
    for (unsigned r = table->n_rows; r > 0; r--) {
        struct rz_bench_samples *one =
            rz_bench_cell(table, table->rows[r - 1], methods[method].column);
        if (one->n > 0 && rz_bench_cell(table, table->rows[r - 1], methods[other].column)->n > 0) {
            *ranks = table->rows[r - 1];
            return one;
        }
    }
    return NULL;
}

/* Figure 5 of the source: restarting and Reinit take the same application time, ULFM more, the more
 * so the more ranks there are. */
static void claim_application(struct rz_bench_recovery *study, const struct app *app,
                              struct rz_bench_table *table)
{
    static const enum method others[] = {ULFM, RESTART};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        const char *ranks = NULL;
        const struct rz_bench_samples *other = largest(table, others[i], REINIT, &ranks);
        char what[RZ_BENCH_CLAIM_TEXT_MAX];
        if (!other)
            continue;
        struct rz_bench_interval ratio =
            rz_bench_interval_ratio(other, rz_bench_cell(table, ranks, methods[REINIT].column));
        if (others[i] == ULFM)
            snprintf(what, sizeof what,
                     "figure 5, %s, %s ranks: application time, ULFM / Reinit (ULFM takes more)",
                     app->name, ranks);
        else
            snprintf(what, sizeof what,
                     "figure 5, %s, %s ranks: application time, restart / Reinit (the same)",
                     app->name, ranks);
        if (others[i] == ULFM)
            rz_bench_claim_least(&study->claims, what, 1, &ratio, "");
        else
            rz_bench_claim_most(&study->claims, what, 1.1, &ratio, "");
    }
}

static void make_app(struct rz_bench_recovery *study, const struct stores *stores,
                     const struct app *app, enum rz_bench_failure_of failure)
{
    static struct tables tables;
    char names[MEASURE_COUNT][2][RZ_BENCH_NAME_MAX * 2];
    unsigned ranks[RZ_BENCH_RECOVERY_RANKS_MAX],
        n_ranks = ranks_of(study, app, ranks),
        n = rz_bench_repetitions(study->bench, REPETITIONS, REPETITIONS_QUICK);
    begin_tables(app, failure, &tables, names);
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < n_ranks; k++)
            for (enum method method = 0; method < METHOD_COUNT; method++)
                if (is_there(stores, method, failure) && rz_bench_may_go_on(study->bench))
                    measure(study, stores, app, method, ranks[k], failure, i, &tables);
    if (n_ranks == 0)
        return;
    rz_bench_say(study->bench, "\n#### %s, failure of a %s\n\n", app->name,
                 rz_bench_failure_names[failure]);
    show_commands(study, stores, app, ranks[0], failure);
    for (int i = 0; i < MEASURE_COUNT; i++)
        rz_bench_table_show(study->bench, &tables.of[i]);
    if (failure == RZ_BENCH_PROCESS)
        claim_application(study, app, &tables.of[APPLICATION]);
}

/* What is not here is said, and left out. */
static struct stores find_stores(struct rz_bench_recovery *study)
{
    struct rz_bench *bench = study->bench;
    char rzrun[PATH_MAX + 16];
    snprintf(rzrun, sizeof rzrun, "%s/rzrun", bench->bin);
    struct stores stores = {.schemes = says(bench, rzrun, "--checkpoint SCHEME"),
                            .files = says(bench, rzrun, "--checkpoint-dir DIR")};
    if (!stores.schemes)
        rz_bench_say(bench,
                     "This rzrun has no `--checkpoint`: checkpoints are in the memory of two "
                     "nodes.\n");
    if (!stores.files)
        rz_bench_say(bench, "This rzrun has no `--checkpoint-dir`: no checkpoints in files, and no "
                            "restart from them.\n");
    return stores;
}

bool rz_bench_recovery_apps(struct rz_bench_recovery *study)
{
    char path[PATH_MAX + 64];
    rz_time end = study->bench->deadline;
    rz_bench_say(
        study->bench,
        "\n### Applications\n\nWeak scaling, %d iterations, a checkpoint after each, one "
        "failure in a random iteration (the same one for all methods). Recovery counts from the "
        "begin "
        "of the iteration that was cut off, as the proxies tell it; of restart from the notice "
        "of the failure until all stand at the start again, as rzrun tells it.\n\n",
        ITERATIONS);
    struct stores stores = find_stores(study);
    unsigned n_apps = study->bench->quick ? 1 : sizeof apps / sizeof *apps;
    for (unsigned i = 0, left = 2 * n_apps; i < n_apps; i++) {
        if (!rz_bench_app_path(study->bench, apps[i].name, path, sizeof path) ||
            !says(study->bench, path, "--method")) {
            rz_bench_say(study->bench, "%s is not here, or knows no --method: left out.\n",
                         apps[i].name);
            left -= 2;
            continue;
        }
        for (enum rz_bench_failure_of failure = 0; failure <= RZ_BENCH_NODE; failure++, left--) {
            rz_bench_share_time(study->bench, end, left);
            make_app(study, &stores, &apps[i], failure);
        }
    }
    study->bench->deadline = end;
    return true;
}
