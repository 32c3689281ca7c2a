/*
 * Figures 6 and 7: from the kill until the job is whole again, and past its first barrier; with the
 * phases of our own recovery as rzrun's report tells them.
 */
#include "cmd/rzbench_recovery.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    REPETITIONS = 10,
    REPETITIONS_QUICK = 5,
    PEERS_QUICK = 2,        /* repetitions in which the peers take part */
    RESTART_RANKS_MAX = 64, /* of the peers: beyond they take many seconds each */
    RANKS_STATED = 64
};

static const char *const program = "bench_recovery", *const ballast = "32";

static bool is_ours(enum rz_bench_way way)
{
    return way <= RZ_BENCH_WAY_RESTART;
}

/* ---- One run ---- */

static const char *method_of(enum rz_bench_way way)
{
    static const char *const methods[RZ_BENCH_WAY_COUNT] = {
        "reinit", "replace", "spawn", "restart", "restart", "restart", "spawn"};
    return methods[way];
}

/* What follows is run twice, whatever becomes of the first. */
static void add_twice(struct rz_bench_command *command)
{
    rz_bench_command_add(command, "sh");
    rz_bench_command_add(command, "-c");
    rz_bench_command_add(command, "\"$@\"; exec \"$@\"");
    rz_bench_command_add(command, "sh");
}

static void command_of(const struct rz_bench_recovery *study, enum rz_bench_way way, unsigned ranks,
                       enum rz_bench_failure_of failure, struct rz_bench_command *command)
{
    static const char *const on_failure[] = {"repair", "replace", "replace", "restart"};
    char report[PATH_MAX + 32];
    rz_bench_recovery_report(study, report, sizeof report);
    const char *options[] = {"--on-failure", is_ours(way) ? on_failure[way] : "", "--report",
                             report, NULL};
    struct rz_bench_start start = {.system = way == RZ_BENCH_WAY_OPENMPI ? RZ_BENCH_OPENMPI
                                             : way == RZ_BENCH_WAY_MPICH ? RZ_BENCH_MPICH
                                                                         : RZ_BENCH_RHIZOME,
                                   .path = RZ_BENCH_WITHIN,
                                   .ranks = ranks,
                                   .nodes = rz_bench_recovery_nodes(study, ranks),
                                   .yield = (long)ranks > sysconf(_SC_NPROCESSORS_ONLN),
                                   .program = program,
                                   .options = is_ours(way) ? options : NULL};
    if (way == RZ_BENCH_WAY_OPENMPI || way == RZ_BENCH_WAY_MPICH)
        add_twice(command);
    if (way == RZ_BENCH_WAY_ULFM)
        rz_bench_peer_start(study->bench, RZ_BENCH_WITHIN, ranks, program, command);
    else
        rz_bench_command_start(study->bench, &start, command);
    rz_bench_command_add(command, "%s", method_of(way));
    rz_bench_command_add(command, "%s", rz_bench_failure_names[failure]);
    rz_bench_command_add(command, "%s", ballast);
}

void rz_bench_recovery_forget(const struct rz_bench_recovery *study)
{
    static const char *const endings[] = {"rhizome", "openmpi", "mpich", "peer"};
    char path[PATH_MAX + 32];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(path, sizeof path, "%s/%s.%s.dates", study->bench->folder, program, endings[i]);
        unlink(path);
    }
    rz_bench_recovery_report(study, path, sizeof path);
    unlink(path);
}

/* Whether this way can be gone here, and is not known to take too long. */
static bool is_there(const struct rz_bench_recovery *study, enum rz_bench_way way, unsigned ranks,
                     enum rz_bench_failure_of failure)
{
    if (is_ours(way))
        return !(study->bench->quick && way == RZ_BENCH_WAY_SPAWN);
    if (failure == RZ_BENCH_NODE || ranks > RESTART_RANKS_MAX ||
        (study->peer_most[way] && ranks >= study->peer_most[way]))
        return false; /* they have no emulated nodes */
    if (study->bench->quick && ranks != study->ranks[0])
        return false;
    if (way == RZ_BENCH_WAY_ULFM)
        return study->peer;
    return rz_bench_has(study->bench,
                        way == RZ_BENCH_WAY_OPENMPI ? RZ_BENCH_OPENMPI : RZ_BENCH_MPICH, program);
}

static void complain(const struct rz_bench_recovery *study, const struct rz_bench_command *command,
                     const struct rz_bench_run *run)
{
    char text[2048];
    rz_bench_command_show(study->bench, command, text, sizeof text);
    fprintf(stderr, "rzbench: incomplete (status %d%s): %s\n%.1500s\n", run->status,
            run->end == RZ_BENCH_OVER ? ", over the limit" : "", text, run->output);
}

static double printed(const struct rz_bench_run *run, const char *what, unsigned ranks)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s %u", what, ranks);
    const char *value = rz_bench_line(run, prefix, NULL);
    return value ? strtod(value, NULL) : NAN;
}

/* Milliseconds from the kill past the first barrier; NAN: the run was not complete. */
static double measure(struct rz_bench_recovery *study, enum rz_bench_way way, unsigned ranks,
                      enum rz_bench_failure_of failure, double *repaired)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    rz_bench_recovery_forget(study);
    command_of(study, way, ranks, failure, &command);
    rz_bench_run(study->bench, &command, 0, &run);
    double recovered = printed(&run, "recovered", ranks);
    *repaired = printed(&run, "repaired", ranks);
    if (run.end == RZ_BENCH_OUT_OF_TIME) {
        rz_bench_run_free(&run);
        return NAN; /* says nothing about the command */
    }
    bool ours = is_ours(way),
         good = !isnan(recovered) && run.end == RZ_BENCH_ENDED && (!ours || run.status == 0);
    *(ours ? &study->runs : &study->peer_runs) += 1;
    *(ours ? &study->failed : &study->peer_failed) += !good;
    if (!ours && run.end == RZ_BENCH_OVER)
        study->peer_most[way] = ranks;
    if (!good)
        complain(study, &command, &run);
    rz_bench_run_free(&run);
    return recovered;
}

/* ---- The phases of our own recovery ---- */

static const struct {
    const char *column, *name;
} phases[] = {{"spread", "spread_ms"},
              {"agree", "agree_ms"},
              {"place", "place_ms"},
              {"start", "start_ms"},
              {"roll back", "roll_back_ms"},
              {"protect", "protect_ms"},
              {"runtime's barrier", "barrier_ms"}};

static void take_phases(const struct rz_bench_recovery *study, struct rz_bench_table *table,
                        const char *row, unsigned repetition)
{
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        struct rz_bench_samples *cell = rz_bench_cell(table, row, phases[i].column);
        double ms = rz_bench_recovery_told(study, phases[i].name);
        if (!isnan(ms))
            rz_bench_put(cell, repetition, ms);
    }
}

/* ---- All of them ---- */

struct tables {
    struct rz_bench_table whole, repaired, phases;
};

static void measure_row(struct rz_bench_recovery *study, enum rz_bench_failure_of failure,
                        unsigned ranks, unsigned repetition, struct tables *tables)
{
    char row[RZ_BENCH_NAME_MAX];
    snprintf(row, sizeof row, "%u", ranks);
    for (enum rz_bench_way way = 0; way < RZ_BENCH_WAY_COUNT; way++) {
        double repaired;
        bool enough = study->bench->quick && !is_ours(way) && repetition >= PEERS_QUICK;
        if (enough || !is_there(study, way, ranks, failure) || !rz_bench_may_go_on(study->bench))
            continue;
        double recovered = measure(study, way, ranks, failure, &repaired);
        const char *column = rz_bench_way_names[way];
        struct rz_bench_samples *whole = rz_bench_cell(&tables->whole, row, column);
        if (isnan(recovered))
            continue;
        rz_bench_put(whole, repetition, recovered);
        rz_bench_put(rz_bench_cell(&tables->repaired, row, column), repetition, repaired);
        if (way == RZ_BENCH_WAY_REINIT)
            take_phases(study, &tables->phases, row, repetition);
    }
}

static void show_commands(struct rz_bench_recovery *study, enum rz_bench_failure_of failure)
{
    unsigned ranks = study->ranks[0];
    for (enum rz_bench_way way = 0; way < RZ_BENCH_WAY_COUNT; way++) {
        struct rz_bench_command command = {0};
        char text[2048];
        if (!is_there(study, way, ranks, failure))
            continue;
        command_of(study, way, ranks, failure, &command);
        rz_bench_command_show(study->bench, &command, text, sizeof text);
        rz_bench_say(study->bench, "    %s\n", text);
    }
}

static const struct rz_bench_samples *cell_of(const struct rz_bench_table *table, unsigned ranks,
                                              enum rz_bench_way way)
{
    for (unsigned r = 0; r < table->n_rows; r++)
        for (unsigned c = 0; c < table->n_columns; c++)
            if (strtoul(table->rows[r], NULL, 10) == ranks &&
                strcmp(table->columns[c], rz_bench_way_names[way]) == 0)
                return &table->cells[r][c];
    return NULL;
}

/* a over b at that number of ranks where it is the least, or (greatest) the greatest. */
static struct rz_bench_interval worst_ratio(const struct rz_bench_recovery *study,
                                            const struct rz_bench_table *table, enum rz_bench_way a,
                                            enum rz_bench_way b, bool greatest, unsigned *where)
{
    struct rz_bench_interval worst = {0};
    for (unsigned i = 0; i < study->n_ranks; i++) {
        const struct rz_bench_samples *above = cell_of(table, study->ranks[i], a),
                                      *below = cell_of(table, study->ranks[i], b);
        if (!above || !below)
            continue;
        struct rz_bench_interval here = rz_bench_interval_ratio(above, below);
        if (here.n > 0 &&
            (worst.n == 0 || (greatest ? here.median > worst.median : here.median < worst.median)))
            worst = here, *where = study->ranks[i];
    }
    return worst;
}

/* How many times slower another way is, at the number of ranks where it is the least. */
static void claim_times(struct rz_bench_recovery *study, const struct rz_bench_table *table,
                        enum rz_bench_failure_of failure, enum rz_bench_way other, double least)
{
    char what[RZ_BENCH_CLAIM_TEXT_MAX];
    unsigned where = 0;
    struct rz_bench_interval worst =
        worst_ratio(study, table, other, RZ_BENCH_WAY_REINIT, false, &where);
    int used = snprintf(what, sizeof what, "%s / Reinit, failure of a %s",
                        rz_bench_way_names[other], rz_bench_failure_names[failure]);
    if (worst.n > 0)
        snprintf(what + used, sizeof what - (size_t)used, ", where it is least (%u ranks)", where);
    (least > 1 ? rz_bench_claim_least : rz_bench_claim_not_less)(&study->claims, what, least,
                                                                 &worst, "");
}

static void claim_stated(struct rz_bench_recovery *study, const struct rz_bench_table *table)
{
    const struct rz_bench_samples *cell = cell_of(table, RANKS_STATED, RZ_BENCH_WAY_REINIT);
    struct rz_bench_interval interval =
        cell ? rz_bench_interval(cell) : (struct rz_bench_interval){0};
    rz_bench_claim_most(&study->claims,
                        "Reinit, from the kill of a process to the restored loop, 64 ranks", 50,
                        &interval, " ms");
}

/* Each further rank costs so much: the slope of a line through the medians. */
static void claim_per_rank(struct rz_bench_recovery *study, const struct rz_bench_table *table)
{
    struct rz_bench_interval slope = {.half = NAN};
    for (unsigned c = 0; c < table->n_columns; c++) {
        struct rz_bench_trend trend = rz_bench_trend(table, c, false);
        if (strcmp(table->columns[c], rz_bench_way_names[RZ_BENCH_WAY_REINIT]) == 0 && trend.n >= 2)
            slope =
                (struct rz_bench_interval){.n = 1, .median = trend.a, .mean = trend.a, .half = NAN};
    }
    rz_bench_claim_most(&study->claims,
                        "Reinit, each further rank (slope over ranks), failure of a process", 0.3,
                        &slope, " ms");
}

static void assess(struct rz_bench_recovery *study, enum rz_bench_failure_of failure,
                   const struct rz_bench_table *table)
{
    /* The paper's best, for processes; for nodes the bound is our own. */
    claim_times(study, table, failure, RZ_BENCH_WAY_RESTART, failure == RZ_BENCH_PROCESS ? 6 : 2);
    if (failure == RZ_BENCH_NODE)
        rz_bench_claim_excuse(&study->claims, "our own bound");
    claim_times(study, table, failure, RZ_BENCH_WAY_REPLACE, 1);
    if (!study->bench->quick)
        claim_times(study, table, failure, RZ_BENCH_WAY_SPAWN, 1);
    if (failure == RZ_BENCH_NODE)
        return;
    claim_per_rank(study, table);
    claim_stated(study, table);
    claim_times(study, table, failure, RZ_BENCH_WAY_ULFM, 3);
    claim_times(study, table, failure, RZ_BENCH_WAY_OPENMPI, 1);
    claim_times(study, table, failure, RZ_BENCH_WAY_MPICH, 1);
}

static void begin_tables(enum rz_bench_failure_of failure, struct tables *tables)
{
    static const char *const names[2][3] = {{"process", "process-repaired", "process-phases"},
                                            {"node", "node-repaired", "node-phases"}};
    static const char *const titles[2][3] = {
        {"Recovery from the failure of a process, ms (figure 6)",
         "Until all have the communicator again, ms; failure of a process",
         "Phases of the recovery by Reinit, ms; failure of a process"},
        {"Recovery from the failure of a node, ms (figure 7)",
         "Until all have the communicator again, ms; failure of a node",
         "Phases of the recovery by Reinit, ms; failure of a node"}};
    struct rz_bench_table *all[] = {&tables->whole, &tables->repaired, &tables->phases};
    memset(tables, 0, sizeof *tables);
    for (int i = 0; i < 3; i++) {
        all[i]->name = names[failure][i];
        all[i]->title = titles[failure][i];
        all[i]->rows_are = "ranks";
        all[i]->unit = "ms";
        all[i]->intervals = true;
        all[i]->plot = true;
        all[i]->log_scale = i < 2;
        all[i]->axis = RZ_BENCH_AXIS_LOG2;
    }
}

bool rz_bench_recovery_times(struct rz_bench_recovery *study, enum rz_bench_failure_of failure)
{
    static struct tables tables;
    unsigned n = rz_bench_repetitions(study->bench, REPETITIONS, REPETITIONS_QUICK);
    begin_tables(failure, &tables);
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < study->n_ranks; k++)
            measure_row(study, failure, study->ranks[k], i, &tables);
    rz_bench_say(
        study->bench,
        "\n### Failure of a %s\n\nAll others sleep in a barrier when the victim, which holds "
        "%s MiB, kills %s; from then until the last process, the new one%s included, is "
        "past the first barrier of the job that is whole again. On %s.\n\n",
        rz_bench_failure_names[failure], ballast,
        failure == RZ_BENCH_NODE ? "its daemon" : "itself", failure == RZ_BENCH_NODE ? "s" : "",
        study->bench->nodes ? "as many nodes as asked for"
                            : "nodes of 16 ranks each, two at least");
    show_commands(study, failure);
    rz_bench_table_show(study->bench, &tables.whole);
    rz_bench_table_show(study->bench, &tables.repaired);
    rz_bench_table_show(study->bench, &tables.phases);
    assess(study, failure, &tables.whole);
    return true;
}
