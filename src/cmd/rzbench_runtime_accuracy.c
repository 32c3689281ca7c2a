/* How short the heartbeats may be before living nodes are reported (RDaemon#, figure 8). */
#include "cmd/rzbench_runtime.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 16, NODES_QUICK = 4, PER_NODE = 4, REPETITIONS = 5, REPETITIONS_QUICK = 1 };

static const unsigned periods_ms[] = {100, 50, 30, 20, 10, 5, 3, 2, 1};
enum { PERIODS = sizeof periods_ms / sizeof *periods_ms };

/* From the start of the job, which is where the paper saw the first false ones, to its end: ranks
 * on both processors that do nothing but collective operations. */
static void command_of(const struct rz_bench *bench, unsigned period_ms, const char *report,
                       struct rz_bench_command *command)
{
    char period[32], timeout[32];
    snprintf(period, sizeof period, "%ums", period_ms);
    snprintf(timeout, sizeof timeout, "%ums", 2 * period_ms);
    const char *const options[] = {"--on-failure", "continue",     "--hb-period",
                                   period,         "--hb-timeout", timeout,
                                   "--report",     report,         NULL};
    unsigned nodes = bench->quick ? NODES_QUICK : NODES;
    struct rz_bench_start start = {.system = RZ_BENCH_RHIZOME,
                                   .ranks = nodes * PER_NODE,
                                   .nodes = nodes,
                                   .program = "bench_group",
                                   .options = options};
    rz_bench_command_start(bench, &start, command);
    rz_bench_command_add(command, "--ms");
    rz_bench_command_add(command, bench->quick ? "200" : "4000");
}

/* Nobody has failed: each is false. */
static unsigned failure_reports(const char *report)
{
    char line[1024];
    unsigned n = 0;
    FILE *file = fopen(report, "r");
    while (file && fgets(line, sizeof line, file))
        n += strncmp(line, "event=failure_seen ", 17) == 0;
    if (file)
        fclose(file);
    return n;
}

static void measure(struct rz_bench *bench, struct rz_bench_table *table, unsigned period_ms,
                    unsigned repetition)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    char report[PATH_MAX + 32], row[RZ_BENCH_NAME_MAX];
    snprintf(report, sizeof report, "%s/accuracy.report", bench->folder);
    snprintf(row, sizeof row, "P = %u ms, T = %u ms", period_ms, 2 * period_ms);
    remove(report);
    command_of(bench, period_ms, report, &command);
    rz_bench_run(bench, &command, 0, &run);
    if (run.end != RZ_BENCH_OUT_OF_TIME)
        rz_bench_put(rz_bench_cell(table, row, "failure reports"), repetition,
                     failure_reports(report));
    if (run.end == RZ_BENCH_ENDED)
        rz_bench_put(rz_bench_cell(table, row, "run s"), repetition, run.wall_s);
    rz_bench_run_free(&run);
}

/* The shortest period such that neither it nor a longer one saw a failure report; 0: none. */
static unsigned shortest_accurate(struct rz_bench_table *table)
{
    unsigned shortest = 0;
    for (unsigned p = 0; p < table->n_rows; p++) {
        struct rz_bench_summary summary = rz_bench_summarise(&table->cells[p][0]);
        if (summary.n == 0 || summary.max > 0)
            break;
        shortest = (unsigned)strtoul(table->rows[p] + strlen("P = "), NULL, 10);
    }
    return shortest;
}

bool rz_bench_runtime_accuracy(struct rz_bench *bench)
{
    static struct rz_bench_table table = {.name = "accuracy",
                                          .title = "Living nodes reported in a run (figure 8)",
                                          .rows_are = "heartbeats",
                                          .plot = true};
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK);
    if (!rz_bench_compile(bench, "bench_group", false))
        return false;
    for (unsigned i = 0; i < n; i++)
        for (unsigned p = 0; p < PERIODS; p++)
            if ((!bench->quick || p == 0) && rz_bench_may_go_on(bench))
                measure(bench, &table, periods_ms[p], i);
    struct rz_bench_command command = {0};
    char text[1024];
    command_of(bench, periods_ms[0], "FILE", &command);
    rz_bench_command_show(bench, &command, text, sizeof text);
    rz_bench_say(bench,
                 "\n## The shortest heartbeats\n\nNobody fails; all ranks call barrier and "
                 "allreduce without rest, from the start of the job. T = 2 P.\n\n    %s\n",
                 text);
    rz_bench_table_show(bench, &table);
    unsigned shortest = shortest_accurate(&table);
    if (shortest > 0)
        rz_bench_say(bench, "\nThe shortest period without a failure report in any run: %u ms.\n",
                     shortest);
    else
        rz_bench_say(bench, "\nThere was a failure report at every period: this machine is late by "
                            "more than 200 ms.\n");
    return true;
}
