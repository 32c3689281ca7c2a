/* A node that falls silent or whose daemon is killed: figures 9, 10, 13, 14 and 15 of RDaemon#. */
#include "cmd/rzbench_runtime.h"

#include <math.h>
#include <string.h>

enum { REPETITIONS = 7, REPETITIONS_QUICK = 1 };

#define PERIOD (100 * RZ_MILLISECOND)

static const struct kind {
    const char *name, *detector;
    enum rz_bench_fault fault;
    bool quick;
} kinds[] = {{"ring, silent", "ring", RZ_BENCH_CUT_NODE, true},
             {"ring, killed", "ring", RZ_BENCH_KILL_NODE, true},
             {"swim, silent", "swim", RZ_BENCH_CUT_NODE, false},
             {"flat, one process", "flat", RZ_BENCH_STOP_RANK, false}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* --- one node, over the number of nodes, of processes, and over the period --- */

static void measure_one(struct rz_bench *bench, struct rz_bench_table *table,
                        const struct kind *kind, struct rz_bench_job *job, unsigned x,
                        unsigned repetition, struct rz_bench_tally *tally)
{
    char row[RZ_BENCH_NAME_MAX], first[RZ_BENCH_NAME_MAX], all[RZ_BENCH_NAME_MAX];
    struct rz_bench_dates dates;
    snprintf(row, sizeof row, "%u", x);
    snprintf(first, sizeof first, "%s: first seen", kind->name);
    snprintf(all, sizeof all, "%s: known to all", kind->name);
    rz_bench_cell(table, row, first);
    rz_bench_cell(table, row, all);
    job->fault = kind->fault;
    if (!rz_bench_may_go_on(bench) ||
        rz_bench_job_run(bench, job, &dates, tally) != RZ_BENCH_TOLD_ALL)
        return;
    rz_bench_put_ms(table, row, first, repetition, dates.injected, dates.seen);
    rz_bench_put_ms(table, row, all, repetition, dates.injected, dates.news_last);
}

enum sweep { SWEEP_NODES, SWEEP_PROCESSES, SWEEP_PERIOD, SWEEP_COUNT };

static const unsigned xs[SWEEP_COUNT][6] = {[SWEEP_NODES] = {4, 8, 16, 32, 64},
                                            [SWEEP_PROCESSES] = {1, 4, 16, 64},
                                            [SWEEP_PERIOD] = {30, 50, 100, 200, 500}};
static const unsigned xs_quick[SWEEP_COUNT][6] = {
    [SWEEP_NODES] = {4, 8}, [SWEEP_PROCESSES] = {4}, [SWEEP_PERIOD] = {50, 100}};

static struct rz_bench_job job_of(const struct rz_bench *bench, enum sweep sweep, unsigned x,
                                  const struct kind *kind, unsigned repetition)
{
    unsigned nodes = sweep == SWEEP_NODES ? x : 8, per_node = sweep == SWEEP_PROCESSES ? x : 1;
    rz_time period = sweep == SWEEP_PERIOD ? x * RZ_MILLISECOND : PERIOD;
    return rz_bench_silent_job(bench, nodes, per_node, period, kind->detector, repetition);
}

/* Of the ring and silence alone: in periods, over all trials of the table. */
static void say_bounds(struct rz_bench *bench, const struct rz_bench_table *table, enum sweep sweep)
{
    double least = INFINITY, most = 0;
    for (unsigned r = 0; r < table->n_rows; r++) {
        double period_ms = sweep == SWEEP_PERIOD ? xs[sweep][r] : (double)PERIOD / 1e6;
        if (sweep == SWEEP_PERIOD && bench->quick)
            period_ms = xs_quick[sweep][r];
        struct rz_bench_summary first = rz_bench_summarise(&table->cells[r][0]),
                                all = rz_bench_summarise(&table->cells[r][1]);
        if (first.n > 0 && all.n > 0) {
            least = fmin(least, first.min / period_ms);
            most = fmax(most, all.max / period_ms);
        }
    }
    if (most > 0)
        rz_bench_say(bench,
                     "\nRing, silent: from %.2f (first seen) to %.2f periods (known to all) in all "
                     "trials; the formula's bounds are 1 and 2, with T = 2 P and nobody late.\n",
                     least, most);
}

static void study_sweep(struct rz_bench *bench, struct rz_bench_table *table, enum sweep sweep,
                        struct rz_bench_tally *tally)
{
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK);
    const unsigned *x = bench->quick ? xs_quick[sweep] : xs[sweep];
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; x[k] > 0; k++)
            for (unsigned s = 0; s < KINDS; s++) {
                struct rz_bench_job job = job_of(bench, sweep, x[k], &kinds[s], i);
                /* A broken connection knows no period and waits for none. */
                bool other = sweep == SWEEP_PERIOD && kinds[s].fault == RZ_BENCH_KILL_NODE;
                if ((!bench->quick || kinds[s].quick) && !other)
                    measure_one(bench, table, &kinds[s], &job, x[k], i, tally);
            }
    rz_bench_table_show(bench, table);
    say_bounds(bench, table, sweep);
}

bool rz_bench_runtime_detect(struct rz_bench *bench)
{
    static struct rz_bench_table tables[SWEEP_COUNT] = {
        [SWEEP_NODES] = {.name = "detect-nodes",
                         .title = "A node fails: ms, over nodes; P = 100 ms (figures 9, 14)",
                         .rows_are = "nodes",
                         .axis = RZ_BENCH_AXIS_LOG2},
        [SWEEP_PROCESSES] = {.name = "detect-processes",
                             .title = "A node of eight fails: ms, over processes per node; P = "
                                      "100 ms (figure 9)",
                             .rows_are = "processes per node",
                             .axis = RZ_BENCH_AXIS_LOG2},
        [SWEEP_PERIOD] = {.name = "detect-period",
                          .title = "A node of eight fails: ms, over the period P; T = 2 P "
                                   "(figures 10, 13)",
                          .rows_are = "period ms",
                          .axis = RZ_BENCH_AXIS_LINEAR}};
    struct rz_bench_tally tally = {0};
    rz_bench_say(bench, "\n## Detection\n\nSilent: nothing comes from the node any more, and no "
                        "connection breaks; zero is that moment, drawn evenly from a period. "
                        "Killed: SIGKILL to its daemon; its connections break. T = 2 P; swim "
                        "probes every P. Flat: each process watches another from a thread of its "
                        "own; one process is stopped, and all processes are to know.\n\n");
    for (unsigned s = 0; s < KINDS; s++) {
        struct rz_bench_job job = job_of(bench, SWEEP_NODES, 8, &kinds[s], 0);
        job.fault = kinds[s].fault;
        rz_bench_job_show(bench, &job);
    }
    for (int s = 0; s < SWEEP_COUNT; s++) {
        tables[s].unit = "ms";
        tables[s].plot = tables[s].log_scale = true;
        study_sweep(bench, &tables[s], (enum sweep)s, &tally);
    }
    rz_bench_tally_show(bench, &tally);
    return true;
}

/* --- several nodes at once --- */

enum { MANY_NODES = 16, MANY = 6, MANY_QUICK = 2 };

static const struct many_kind {
    const char *name;
    bool scattered;
    enum rz_bench_fault fault;
} many_kinds[] = {{"neighbours, silent", false, RZ_BENCH_CUT_NODE},
                  {"scattered, silent", true, RZ_BENCH_CUT_NODE},
                  {"neighbours, killed", false, RZ_BENCH_KILL_NODE}};
enum { MANY_KINDS = sizeof many_kinds / sizeof *many_kinds, MANY_KINDS_QUICK = 2 };

static struct rz_bench_job many_job(const struct rz_bench *bench, const struct many_kind *kind,
                                    unsigned k, unsigned repetition)
{
    struct rz_bench_job job = rz_bench_silent_job(bench, MANY_NODES, 1, PERIOD, "ring", repetition);
    unsigned first = job.victims[0], stride = kind->scattered ? MANY_NODES / k : 1;
    job.fault = kind->fault;
    job.n_victims = k;
    for (unsigned v = 0; v < k; v++)
        job.victims[v] = (first + v * stride) % MANY_NODES;
    return job;
}

static void measure_many(struct rz_bench *bench, struct rz_bench_table *table,
                         const struct many_kind *kind, unsigned k, unsigned repetition,
                         struct rz_bench_tally *tally)
{
    struct rz_bench_job job = many_job(bench, kind, k, repetition);
    struct rz_bench_dates dates[MANY];
    rz_time begin = RZ_TIME_NEVER, end = 0;
    char row[RZ_BENCH_NAME_MAX];
    snprintf(row, sizeof row, "%u", k);
    rz_bench_cell(table, row, kind->name);
    if (!rz_bench_may_go_on(bench) ||
        rz_bench_job_run(bench, &job, dates, tally) != RZ_BENCH_TOLD_ALL)
        return;
    for (unsigned v = 0; v < k; v++) {
        begin = dates[v].injected < begin ? dates[v].injected : begin;
        end = dates[v].news_last > end ? dates[v].news_last : end;
    }
    rz_bench_put_ms(table, row, kind->name, repetition, begin, end);
}

static void say_marginal(struct rz_bench *bench, const struct rz_bench_table *table)
{
    unsigned last = table->n_rows - 1;
    for (unsigned c = 0; c < table->n_columns && last > 0; c++) {
        struct rz_bench_summary one = rz_bench_summarise(&table->cells[0][c]),
                                most = rz_bench_summarise(&table->cells[last][c]);
        if (one.n > 0 && most.n > 0)
            rz_bench_say(bench, "%s%s: %.1f ms (%.2f timeouts) for each further one",
                         c ? "; " : "\n", table->columns[c], (most.median - one.median) / last,
                         (most.median - one.median) / last / (2.0 * (double)PERIOD / 1e6));
    }
    rz_bench_say(bench, ". The formula says two timeouts for neighbours, none for scattered.\n");
}

bool rz_bench_runtime_many(struct rz_bench *bench)
{
    static struct rz_bench_table table = {.name = "many",
                                          .title = "Several of 16 nodes fail at once: ms until all "
                                                   "know of all; P = 100 ms (figure 15)",
                                          .rows_are = "nodes that fail",
                                          .unit = "ms",
                                          .plot = true,
                                          .axis = RZ_BENCH_AXIS_LINEAR};
    struct rz_bench_tally tally = {0};
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK);
    unsigned most = bench->quick ? MANY_QUICK : MANY;
    unsigned kinds_made = bench->quick ? MANY_KINDS_QUICK : MANY_KINDS;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 1; k <= most; k++)
            for (unsigned s = 0; s < kinds_made; s++)
                measure_many(bench, &table, &many_kinds[s], k, i, &tally);
    rz_bench_say(bench, "\n## Several nodes at once\n\n");
    for (unsigned s = 0; s < kinds_made; s++) {
        struct rz_bench_job job = many_job(bench, &many_kinds[s], 3, 0);
        rz_bench_job_show(bench, &job);
    }
    rz_bench_table_show(bench, &table);
    say_marginal(bench, &table);
    rz_bench_tally_show(bench, &tally);
    return true;
}
