/* A process fails: the news at the last daemon; figures 11 and 12 of RDaemon#. */
#include "cmd/rzbench_runtime.h"

#include <stdlib.h>
#include <string.h>

/* Each run kills several, one after the other: starting so many nodes takes longer than all that.
 */
enum { REPETITIONS = 4, REPETITIONS_QUICK = 1, KILLS = 5, KILLS_QUICK = 2, NODES_MOST = 64 };

#define FIRST_KILL (300 * RZ_MILLISECOND)
#define FIRST_KILL_QUICK (100 * RZ_MILLISECOND)
#define BETWEEN_KILLS (130 * RZ_MILLISECOND)

/* What one resting process and its share of its daemon take, and what must be left to others. */
#define PROCESS_KIB 2048.0
#define LEFT_KIB (2048.0 * 1024)

static struct rz_bench_job job_of(const struct rz_bench *bench, unsigned nodes, unsigned per_node)
{
    unsigned kills = bench->quick ? KILLS_QUICK : KILLS;
    unsigned ranks = nodes * per_node;
    struct rz_bench_job job = {.nodes = nodes,
                               .per_node = per_node,
                               .period = 100 * RZ_MILLISECOND,
                               .timeout = RZ_SECOND, /* nodes do not fail here */
                               .detector = "ring",
                               .fault = RZ_BENCH_KILL_RANK,
                               .n_victims = kills < ranks ? kills : ranks - 1,
                               .at = bench->quick ? FIRST_KILL_QUICK : FIRST_KILL,
                               .every = BETWEEN_KILLS,
                               .limit = ranks > 512 ? 120 * RZ_SECOND : 0};
    for (unsigned v = 0; v < job.n_victims; v++)
        job.victims[v] = (v + 1) * ranks / (job.n_victims + 1);
    return job;
}

static bool measure(struct rz_bench *bench, struct rz_bench_table *table, const char *row,
                    const char *column, const struct rz_bench_job *job, unsigned repetition,
                    struct rz_bench_tally *tally)
{
    struct rz_bench_dates dates[RZ_BENCH_VICTIMS_MAX];
    rz_bench_cell(table, row, column);
    if (!rz_bench_may_go_on(bench) ||
        rz_bench_job_run(bench, job, dates, tally) != RZ_BENCH_TOLD_ALL)
        return false;
    for (unsigned v = 0; v < job->n_victims; v++)
        rz_bench_put_ms(table, row, column, repetition * job->n_victims + v, dates[v].injected,
                        dates[v].news_last);
    return true;
}

static void say_trends(struct rz_bench *bench, const struct rz_bench_table *table)
{
    for (unsigned c = 0; c < table->n_columns; c++) {
        struct rz_bench_trend trend = rz_bench_trend(table, c, true);
        if (trend.n >= 2)
            rz_bench_say(bench, "%s%s: %.3g log2(%s) %+.3g ms, R2 = %.3f (a straight line: %.3f)",
                         c > 0 ? "; " : "\n", table->columns[c], trend.a, table->rows_are, trend.b,
                         trend.r2, rz_bench_trend(table, c, false).r2);
    }
    rz_bench_say(bench, ".\n");
}

static void study_nodes(struct rz_bench *bench, struct rz_bench_table *table,
                        struct rz_bench_tally *tally)
{
    static const unsigned per_node[] = {1, 4, 12};
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK);
    unsigned most = bench->quick ? 8 : NODES_MOST, kinds = bench->quick ? 2 : 3;
    for (unsigned i = 0; i < n; i++)
        for (unsigned nodes = 2; nodes <= most; nodes *= 2)
            for (unsigned k = 0; k < kinds; k++) {
                char row[RZ_BENCH_NAME_MAX], column[RZ_BENCH_NAME_MAX];
                struct rz_bench_job job = job_of(bench, nodes, per_node[k]);
                snprintf(row, sizeof row, "%u", nodes);
                snprintf(column, sizeof column, "%u per node", per_node[k]);
                measure(bench, table, row, column, &job, i, tally);
            }
    rz_bench_table_show(bench, table);
    say_trends(bench, table);
}

static double available_kib(void)
{
    char line[256];
    double kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && kib <= 0 && fgets(line, sizeof line, f))
        if (strncmp(line, "MemAvailable:", 13) == 0)
            kib = atof(line + 13);
    if (f)
        fclose(f);
    return kib;
}

/* As many trivial processes as the machine carries without harm to others. */
static void study_processes(struct rz_bench *bench, struct rz_bench_table *table,
                            struct rz_bench_tally *tally)
{
    static const unsigned processes[] = {256, 1024, 2048, 4096};
    enum { SIZES = sizeof processes / sizeof *processes };
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK) / 2;
    unsigned sizes = SIZES, carried = 0;
    for (unsigned i = 0; i < (n > 0 ? n : 1); i++)
        for (unsigned s = 0; s < sizes && rz_bench_may_go_on(bench); s++) {
            char row[RZ_BENCH_NAME_MAX];
            struct rz_bench_job job = job_of(bench, NODES_MOST, processes[s] / NODES_MOST);
            if (available_kib() < processes[s] * PROCESS_KIB + LEFT_KIB) {
                rz_bench_say(bench, "\n%u processes are not tried: %.1f GiB are available.\n",
                             processes[s], available_kib() / 1024 / 1024);
                sizes = s;
                break;
            }
            snprintf(row, sizeof row, "%u", processes[s]);
            if (measure(bench, table, row, "64 nodes", &job, i, tally))
                carried = processes[s] > carried ? processes[s] : carried;
        }
    rz_bench_table_show(bench, table);
    say_trends(bench, table);
    rz_bench_say(bench, "\nThe most that this machine carried: %u processes on %u nodes.\n",
                 carried, NODES_MOST);
}

bool rz_bench_runtime_spread(struct rz_bench *bench)
{
    static struct rz_bench_table nodes = {.name = "spread-nodes",
                                          .title =
                                              "A process fails: ms from SIGKILL to the news at "
                                              "the last daemon, over nodes (figure 11)",
                                          .rows_are = "nodes",
                                          .unit = "ms",
                                          .plot = true,
                                          .trends = true,
                                          .axis = RZ_BENCH_AXIS_LOG2};
    static struct rz_bench_table processes = {.name = "spread-processes",
                                              .title = "The same over processes on 64 nodes "
                                                       "(figure 12)",
                                              .rows_are = "processes",
                                              .unit = "ms",
                                              .plot = true,
                                              .trends = true,
                                              .axis = RZ_BENCH_AXIS_LOG2};
    struct rz_bench_tally tally = {0};
    struct rz_bench_job job = job_of(bench, 8, 4);
    rz_bench_say(bench, "\n## News of a failed process\n\nThe processes have called MPI_Init and "
                        "rest; some are killed one after the other. All nodes share the "
                        "processors of this machine.\n\n");
    rz_bench_job_show(bench, &job);
    study_nodes(bench, &nodes, &tally);
    if (!bench->quick)
        study_processes(bench, &processes, &tally);
    rz_bench_tally_show(bench, &tally);
    return true;
}
