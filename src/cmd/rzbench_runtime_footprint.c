/* What an idle daemon costs: processor time, memory, heartbeats. */
#include "cmd/rzbench_runtime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPETITIONS = 3, REPETITIONS_QUICK = 1, HEADERS_BYTES = 20 + 8 /* of IPv4 and UDP */ };

static const struct setting {
    const char *name;
    unsigned nodes, per_node;
    const char *period;
} settings[] = {{"8 nodes, 1 process each, P = 100 ms", 8, 1, "100ms"},
                {"2 nodes, 64 processes each, P = 100 ms", 2, 64, "100ms"},
                {"8 nodes, 1 process each, P = 10 ms", 8, 1, "10ms"}};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* A network of its own, so that nobody else's bytes are counted. */
static const char *const own_network[] = {"sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""};

static void add_own_network(struct rz_bench_command *command)
{
    rz_bench_command_add(command, "unshare");
    rz_bench_command_add(command, geteuid() == 0 ? "--net" : "--map-root-user");
    if (geteuid() != 0)
        rz_bench_command_add(command, "--net");
    for (size_t i = 0; i < sizeof own_network / sizeof *own_network; i++)
        rz_bench_command_add(command, "%s", own_network[i]);
}

static bool has_own_network(struct rz_bench *bench)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    if (!rz_bench_on_path("unshare") || !rz_bench_on_path("ip"))
        return false;
    add_own_network(&command);
    rz_bench_command_add(&command, "true");
    rz_bench_run(bench, &command, 0, &run);
    bool good = run.end == RZ_BENCH_ENDED && run.status == 0;
    rz_bench_run_free(&run);
    return good;
}

static void command_of(const struct rz_bench *bench, const struct setting *setting, bool alone,
                       struct rz_bench_command *command)
{
    const char *const options[] = {"--hb-period", setting->period, "--hb-timeout", "1s", NULL};
    struct rz_bench_start start = {.system = RZ_BENCH_RHIZOME,
                                   .ranks = setting->nodes * setting->per_node,
                                   .nodes = setting->nodes,
                                   .program = "bench_rest",
                                   .options = options};
    if (alone)
        add_own_network(command);
    rz_bench_command_start(bench, &start, command);
    rz_bench_command_add(command, bench->quick ? "1" : "5");
    rz_bench_command_add(command, "%s/rzps", bench->bin);
}

/* The medians over the daemons of a run. */
static void put_daemons(struct rz_bench_table *table, const char *row,
                        const struct rz_bench_run *run, unsigned repetition)
{
    static const char *const columns[] = {"processor, % of a core", "resident MiB",
                                          "its share MiB"};
    struct rz_bench_samples of_run[3] = {0};
    unsigned n = 0;
    for (const char *line = NULL;
         (line = rz_bench_line(run, "daemon", line)) && n < RZ_BENCH_REPETITIONS_MAX; n++) {
        double percent, resident_kib, share_kib;
        if (sscanf(line, "%*d %lf %lf %lf", &percent, &resident_kib, &share_kib) != 3)
            continue;
        rz_bench_put(&of_run[0], n, percent);
        rz_bench_put(&of_run[1], n, resident_kib / 1024);
        if (share_kib > 0) /* 0: we may not read it */
            rz_bench_put(&of_run[2], n, share_kib / 1024);
    }
    for (unsigned c = 0; c < 3; c++) {
        struct rz_bench_summary summary = rz_bench_summarise(&of_run[c]);
        struct rz_bench_samples *cell = rz_bench_cell(table, row, columns[c]);
        if (summary.n > 0)
            rz_bench_put(cell, repetition, summary.median);
    }
}

/* Sent and received by each node: on this machine what one sends another receives. Streams between
 * the daemons must have been silent, else their bytes cannot be told apart. */
static void put_network(struct rz_bench_table *table, const char *row,
                        const struct setting *setting, const struct rz_bench_run *run,
                        unsigned repetition)
{
    const char *line = rz_bench_line(run, "network", NULL);
    double s, datagrams, segments, octets;
    struct rz_bench_samples *bytes = rz_bench_cell(table, row, "heartbeats, B/s and node");
    struct rz_bench_samples *formula = rz_bench_cell(table, row, "by formula (rzps)");
    struct rz_bench_samples *quotient = rz_bench_cell(table, row, "measured / formula");
    const char *told = rz_bench_line(run, "formula", NULL);
    if (told)
        rz_bench_put(formula, repetition, atof(told));
    if (!line || sscanf(line, "%lf %lf %lf %lf", &s, &datagrams, &segments, &octets) != 4 ||
        segments > 0 || datagrams <= 0)
        return;
    double measured = 2 * (octets - datagrams * HEADERS_BYTES) / s / setting->nodes;
    rz_bench_put(bytes, repetition, measured);
    if (told && atof(told) > 0)
        rz_bench_put(quotient, repetition, measured / atof(told));
}

bool rz_bench_runtime_footprint(struct rz_bench *bench)
{
    static struct rz_bench_table table = {
        .name = "footprint", .title = "An idle daemon: median over the nodes", .rows_are = "job"};
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK);
    bool alone = has_own_network(bench);
    for (unsigned i = 0; i < n; i++)
        for (unsigned s = 0; s < (unsigned)(bench->quick ? 1 : SETTINGS); s++) {
            struct rz_bench_command command = {0};
            struct rz_bench_run run;
            if (!rz_bench_may_go_on(bench))
                break;
            command_of(bench, &settings[s], alone, &command);
            rz_bench_run(bench, &command, 0, &run);
            put_daemons(&table, settings[s].name, &run, i);
            if (alone)
                put_network(&table, settings[s].name, &settings[s], &run, i);
            if (run.end == RZ_BENCH_ENDED && run.status != 0)
                fprintf(stderr, "rzbench: %s returned %d: %.600s\n", command.argv[0], run.status,
                        run.output);
            rz_bench_run_free(&run);
        }
    struct rz_bench_command command = {0};
    char text[1024];
    command_of(bench, &settings[0], alone, &command);
    rz_bench_command_show(bench, &command, text, sizeof text);
    rz_bench_say(bench,
                 "\n## An idle daemon\n\nAll processes wait in MPI_Barrier; one on each node looks "
                 "at its daemon: the processor time of all its threads, its resident memory, and "
                 "its share (shared pages divided among those that share them). %s\n\n    %s\n",
                 alone ? "Heartbeats are what the kernel counts in a network namespace of the "
                         "job's own: bytes of datagrams without their headers, sent and received."
                       : "The bytes of heartbeats are not measured: a network namespace of the "
                         "job's own cannot be made here (unshare, ip).",
                 text);
    rz_bench_table_show(bench, &table);
    rz_bench_say(bench,
                 "\nTargets at P = 100 ms: below 0.2 %% of a core; 6 MiB with 64 processes.\n");
    return true;
}
