/*
 * The study mpi: point-to-point and collective calls beside Open MPI and MPICH, on this machine as
 * it is and with wake-ups that take longer, so that the verdict does not depend on which machine it
 * is made on.
 */
#include "cmd/rzbench_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rz_bench_mpi_parts[] = {"pair", "crowd", "all", NULL};

enum {
    REPETITIONS = 7,
    REPETITIONS_QUICK = 1,
    MEASURE_MS = 50,
    MEASURE_MS_QUICK = 10,
    WAYS_MAX = 7
};

/* What is asked for. */
static const double over_yield = 1.3, over_peer = 1.5, over_before = 1.15;

/* Each wake-up of a rank takes so much longer where a way says "delayed": as on a virtual machine
 * whose idle processors have to be woken. */
static const char delay[] = "RZ_TEST_WAKE_DELAY_US=70";

/* A column: who runs the program, and how it waits. */
struct way {
    const char *name;
    enum rz_bench_system system;
    bool baseline;
    const char *options[5]; /* of rzrun */
};

static const struct way ways[WAYS_MAX] = {
    {"Rhizome", RZ_BENCH_RHIZOME, false, {NULL}},
    {"yield", RZ_BENCH_RHIZOME, false, {"--wait", "yield", NULL}},
    {"delayed", RZ_BENCH_RHIZOME, false, {"-x", delay, NULL}},
    {"yield, delayed", RZ_BENCH_RHIZOME, false, {"--wait", "yield", "-x", delay, NULL}},
    {"before", RZ_BENCH_RHIZOME, true, {NULL}},
    {"Open MPI", RZ_BENCH_OPENMPI, false, {NULL}},
    {"MPICH", RZ_BENCH_MPICH, false, {NULL}}};

static const char *const calls[] = {"latency", "bandwidth", "barrier", "allreduce", "alltoall"};

/* ---- Running it ---- */

static bool has_way(const struct rz_bench *bench, const struct way *way)
{
    return way->baseline ? bench->baseline != NULL : rz_bench_has(bench, way->system, "bench_mpi");
}

/* An earlier Rhizome, as rz_bench_command_start does it with this one. */
static void start_baseline(const struct rz_bench *bench, unsigned ranks,
                           struct rz_bench_command *command)
{
    rz_bench_command_add(command, "%s/bin/rzrun", bench->baseline);
    rz_bench_command_add(command, "-n");
    rz_bench_command_add(command, "%u", ranks);
    rz_bench_command_add(command, "--oversubscribe");
    rz_bench_command_add(command, "%s/bench_mpi.baseline", bench->folder);
}

static bool compile_baseline(struct rz_bench *bench)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    rz_bench_command_add(&command, "%s/bin/mpicc", bench->baseline);
    rz_bench_command_add(&command, "-O2");
    rz_bench_command_add(&command, "-o");
    rz_bench_command_add(&command, "%s/bench_mpi.baseline", bench->folder);
    rz_bench_command_add(&command, "%s/bench_mpi.c", bench->sources);
    rz_bench_run(bench, &command, 0, &run);
    if (run.status != 0)
        fprintf(stderr, "rzbench: bench_mpi does not compile with the Rhizome in %s: %.1000s\n",
                bench->baseline, run.output);
    rz_bench_run_free(&run);
    return run.status == 0;
}

static void command_of(const struct rz_bench *bench, const struct way *way, unsigned ranks,
                       struct rz_bench_command *command)
{
    struct rz_bench_start start = {.system = way->system,
                                   .ranks = ranks,
                                   .yield = ranks > 2,
                                   .program = "bench_mpi",
                                   .options = way->options};
    if (way->baseline)
        start_baseline(bench, ranks, command);
    else
        rz_bench_command_start(bench, &start, command);
    rz_bench_command_add(command, "--ms");
    rz_bench_command_add(command, "%d", bench->quick ? MEASURE_MS_QUICK : MEASURE_MS);
    if (bench->quick)
        rz_bench_command_add(command, "--quick");
    if (bench->cpus && ranks == 2) {
        rz_bench_command_add(command, "--pin");
        rz_bench_command_add(command, "%s", bench->cpus);
    }
}

static void row_name(const char *call, unsigned long bytes, char *out, size_t room)
{
    if (bytes >= 1 << 20)
        snprintf(out, room, "%s %lu MiB", call, bytes >> 20);
    else if (bytes >= 1 << 10)
        snprintf(out, room, "%s %lu KiB", call, bytes >> 10);
    else
        snprintf(out, room, bytes > 0 ? "%s %lu B" : "%s", call, bytes);
}

/* Takes the lines `NAME BYTES VALUE SWITCHES` of one call. */
static void take(const struct rz_bench_run *run, const char *call, const char *column,
                 struct rz_bench_table tables[2], unsigned repetition)
{
    char row[RZ_BENCH_NAME_MAX];
    for (const char *at = NULL; (at = rz_bench_line(run, call, at)) != NULL;) {
        char *end;
        unsigned long bytes = strtoul(at, &end, 10);
        double value = strtod(end, &end);
        row_name(call, bytes, row, sizeof row);
        rz_bench_put(rz_bench_cell(&tables[0], row, column), repetition, value);
        rz_bench_put(rz_bench_cell(&tables[1], row, column), repetition, strtod(end, NULL));
    }
}

static void measure(struct rz_bench_study *study, const struct way *way, unsigned ranks,
                    struct rz_bench_table tables[2], unsigned repetition)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    command_of(study->bench, way, ranks, &command);
    if (rz_bench_study_run(study, &command, &run))
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            take(&run, calls[i], way->name, tables, repetition);
    rz_bench_run_free(&run);
}

/* All ways but those left out, in turns. */
static void measure_all(struct rz_bench_study *study, unsigned ranks, bool delayed, bool mpich,
                        struct rz_bench_table tables[2])
{
    struct rz_bench *bench = study->bench;
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK);
    for (unsigned i = 0; i < n; i++)
        for (size_t w = 0; w < WAYS_MAX && rz_bench_may_go_on(bench); w++) {
            bool out = (!delayed && strstr(ways[w].name, "delayed")) ||
                       (!mpich && ways[w].system == RZ_BENCH_MPICH);
            if (!out && has_way(bench, &ways[w]))
                measure(study, &ways[w], ranks, tables, i);
        }
}

/* ---- What was asked for ---- */

/* NULL: not measured. */
static const struct rz_bench_samples *cell(const struct rz_bench_table *table, unsigned row,
                                           const char *column)
{
    for (unsigned c = 0; c < table->n_columns; c++)
        if (strcmp(table->columns[c], column) == 0)
            return &table->cells[row][c];
    return NULL;
}

/* Of each repetition the shorter time of the peers that are there. */
static struct rz_bench_samples better_peer(const struct rz_bench_table *table, unsigned row)
{
    const struct rz_bench_samples *peers[] = {cell(table, row, "Open MPI"),
                                              cell(table, row, "MPICH")};
    struct rz_bench_samples better = {0};
    for (unsigned i = 0; i < RZ_BENCH_REPETITIONS_MAX; i++) {
        double least = NAN;
        for (int p = 0; p < 2; p++)
            if (peers[p] && i < peers[p]->n)
                least = fmin(least, peers[p]->value[i]);
        if (isfinite(least))
            rz_bench_put(&better, i, least);
    }
    return better;
}

/* a over b, at most so much; false: it does not hold. */
static bool claim(struct rz_bench_study *study, const char *what, const char *against, double most,
                  const struct rz_bench_samples *a, const struct rz_bench_samples *b)
{
    char text[RZ_BENCH_CLAIM_TEXT_MAX];
    struct rz_bench_interval ratio = {0};
    if (a && b)
        ratio = rz_bench_interval_ratio(a, b);
    snprintf(text, sizeof text, "%s over %s", what, against);
    rz_bench_claim_most(&study->claims, text, most, &ratio, "");
    return ratio.n == 0 || ratio.median <= most;
}

/* One row of two ranks, in one setting. */
static void claim_row(struct rz_bench_study *study, const struct rz_bench_table *table,
                      unsigned row, const char *ours, const char *yield)
{
    const struct rz_bench_samples *a = cell(table, row, ours), *b = cell(table, row, yield);
    struct rz_bench_samples peer = better_peer(table, row);
    char what[RZ_BENCH_CLAIM_TEXT_MAX];
    bool delayed = strcmp(ours, "delayed") == 0;
    snprintf(what, sizeof what, "%s%s", table->rows[row], delayed ? ", delayed," : "");
    claim(study, what, "`--wait yield`", over_yield, a, b);
    if (peer.n == 0 || claim(study, what, "the better peer", over_peer, a, &peer))
        return;
    struct rz_bench_interval yields = {0};
    if (b)
        yields = rz_bench_interval_ratio(b, &peer);
    if (yields.n > 0 && yields.median > over_peer)
        rz_bench_claim_remark(&study->claims, "; nor without ever sleeping: it is not the waiting");
}

static bool is_assessed(const char *row)
{
    return strncmp(row, "latency", 7) == 0 || strncmp(row, "barrier", 7) == 0 ||
           strncmp(row, "allreduce", 9) == 0;
}

/* ---- The parts ---- */

static void show(struct rz_bench_study *study, unsigned ranks, struct rz_bench_table tables[2])
{
    for (size_t w = 0; w < WAYS_MAX; w++) {
        struct rz_bench_command command = {0};
        char text[1024];
        if (!has_way(study->bench, &ways[w]) || !cell(&tables[0], 0, ways[w].name))
            continue;
        command_of(study->bench, &ways[w], ranks, &command);
        rz_bench_command_show(study->bench, &command, text, sizeof text);
        rz_bench_say(study->bench, "\n    %s", text);
    }
    rz_bench_say(study->bench, "\n");
    rz_bench_table_show(study->bench, &tables[0]);
    rz_bench_table_show(study->bench, &tables[1]);
}

static bool pair(struct rz_bench_study *study)
{
    static struct rz_bench_table tables[2] = {
        {.name = "mpi-pair",
         .title = "Two ranks: half round trips and calls in us, bandwidth in MB/s",
         .rows_are = "what"},
        {.name = "mpi-pair-switches",
         .title = "Two ranks: voluntary context switches of both in 10,000 repetitions",
         .rows_are = "what"}};
    rz_bench_say(study->bench,
                 "\nTwo ranks%s%s. \"delayed\": each wake-up of a rank takes 70 us longer "
                 "(`%s`); the peers never sleep, so theirs are the same in both settings.\n",
                 study->bench->cpus ? ", pinned to processors " : ", not pinned",
                 study->bench->cpus ? study->bench->cpus : "", delay);
    measure_all(study, 2, true, true, tables);
    show(study, 2, tables);
    for (unsigned r = 0; r < tables[0].n_rows; r++)
        if (is_assessed(tables[0].rows[r])) {
            claim_row(study, &tables[0], r, "Rhizome", "yield");
            claim_row(study, &tables[0], r, "delayed", "yield, delayed");
        }
    return true;
}

static void crowd(struct rz_bench_study *study, unsigned ranks, struct rz_bench_table tables[2])
{
    static char titles[4][96];
    static unsigned used;
    for (unsigned i = 0; i < 2; i++, used++) {
        snprintf(titles[used], sizeof titles[used], "%u ranks: %s", ranks,
                 i ? "voluntary context switches of all in 10,000 calls" : "one call, us");
        tables[i].title = titles[used];
        tables[i].name = i ? "mpi-crowd-switches" : "mpi-crowd";
        tables[i].rows_are = "what";
    }
    measure_all(study, ranks, false, false, tables);
    show(study, ranks, tables);
    for (unsigned r = 0; study->bench->baseline && r < tables[0].n_rows; r++) {
        char what[RZ_BENCH_CLAIM_TEXT_MAX];
        snprintf(what, sizeof what, "%s, %u ranks,", tables[0].rows[r], ranks);
        claim(study, what, "before", over_before, cell(&tables[0], r, "Rhizome"),
              cell(&tables[0], r, "before"));
    }
}

static bool crowds(struct rz_bench_study *study)
{
    static struct rz_bench_table tables[2][2];
    rz_bench_say(study->bench, "\nMore ranks than processors, not pinned. Open MPI yields "
                               "(mpi_yield_when_idle); MPICH is left out: it only spins.\n");
    crowd(study, study->bench->quick ? 4 : 8, tables[0]);
    if (!study->bench->quick)
        crowd(study, 32, tables[1]);
    return true;
}

static bool make_part(void *study, unsigned part)
{
    static bool (*const parts[])(struct rz_bench_study *) = {pair, crowds};
    return parts[part](study);
}

bool rz_bench_mpi(struct rz_bench *bench)
{
    static struct rz_bench_study study;
    study = (struct rz_bench_study){.bench = bench};
    if (!rz_bench_compile(bench, "bench_mpi", true))
        return false;
    if (bench->baseline && !compile_baseline(bench))
        return false;
    rz_bench_say(bench, "\n## Calls\n\nAll columns take turns in each repetition; each value is "
                        "the mean of one run. Ratios are taken repetition by repetition.\n");
    return rz_bench_study_make(&study, rz_bench_mpi_parts, make_part, 40 * RZ_SECOND);
}
