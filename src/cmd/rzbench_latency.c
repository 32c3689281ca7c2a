/* Ping-pong of two ranks: within a node and between nodes, 8 bytes to 4 MiB. */
#include "cmd/rzbench.h"

#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 7, REPETITIONS_QUICK = 2, SIZE_MS = 100, SIZE_MS_QUICK = 20 };

static const char *const sizes[] = {"8",     "64",     "512",     "4096",
                                    "32768", "262144", "1048576", "4194304"};
static const char *const size_names[] = {"8 B",    "64 B",    "512 B", "4 KiB",
                                         "32 KiB", "256 KiB", "1 MiB", "4 MiB"};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void command_of(const struct rz_bench *bench, enum rz_bench_system system,
                       enum rz_bench_path path, struct rz_bench_command *command)
{
    struct rz_bench_start start = {
        .system = system, .path = path, .ranks = 2, .program = "bench_pair"};
    rz_bench_command_start(bench, &start, command);
    rz_bench_command_add(command, "--ms");
    rz_bench_command_add(command, "%d", bench->quick ? SIZE_MS_QUICK : SIZE_MS);
    if (bench->cpus) {
        rz_bench_command_add(command, "--pin");
        rz_bench_command_add(command, "%s", bench->cpus);
    }
    for (unsigned i = 0; i < SIZES; i++)
        if (!bench->quick || i % 2 == 0)
            rz_bench_command_add(command, "%s", sizes[i]);
}

static void measure(struct rz_bench *bench, struct rz_bench_table *table,
                    enum rz_bench_system system, enum rz_bench_path path, unsigned repetition)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    command_of(bench, system, path, &command);
    rz_bench_run(bench, &command, 0, &run);
    for (unsigned i = 0; i < SIZES; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "pair %s", sizes[i]);
        const char *value = rz_bench_line(&run, prefix, NULL);
        if (value)
            rz_bench_put(rz_bench_cell(table, size_names[i], rz_bench_system_names[system]),
                         repetition, atof(value));
        else if (run.end == RZ_BENCH_OVER && (!bench->quick || i % 2 == 0))
            rz_bench_put_over(rz_bench_cell(table, size_names[i], rz_bench_system_names[system]),
                              repetition, (double)bench->limit / 1e9);
    }
    if (run.end == RZ_BENCH_ENDED && run.status != 0)
        fprintf(stderr, "rzbench: %s returned %d: %.600s\n", command.argv[0], run.status,
                run.output);
    rz_bench_run_free(&run);
}

static void study_path(struct rz_bench *bench, struct rz_bench_table *table,
                       enum rz_bench_path path)
{
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK);
    for (unsigned i = 0; i < n && rz_bench_may_go_on(bench); i++)
        for (int s = 0; s < RZ_BENCH_SYSTEM_COUNT; s++)
            if (rz_bench_has(bench, (enum rz_bench_system)s, "bench_pair") &&
                rz_bench_may_go_on(bench))
                measure(bench, table, (enum rz_bench_system)s, path, i);
    for (int s = 0; s < RZ_BENCH_SYSTEM_COUNT; s++) {
        struct rz_bench_command command = {0};
        char text[1024];
        if (!rz_bench_has(bench, (enum rz_bench_system)s, "bench_pair"))
            continue;
        command_of(bench, (enum rz_bench_system)s, path, &command);
        rz_bench_command_show(bench, &command, text, sizeof text);
        rz_bench_say(bench, "\n    %s", text);
    }
    rz_bench_say(bench, "\n");
    rz_bench_table_show(bench, table);
}

bool rz_bench_latency(struct rz_bench *bench)
{
    static struct rz_bench_table within = {.name = "latency",
                                           .title = "Half round trip within a node, us",
                                           .rows_are = "message",
                                           .unit = "half round trip, us",
                                           .ratios = true,
                                           .plot = true,
                                           .log_scale = true};
    static struct rz_bench_table between = {
        .name = "latency-between",
        .title = "Half round trip between nodes (over loopback; peers: TCP), us",
        .rows_are = "message",
        .unit = "half round trip, us",
        .ratios = true,
        .plot = true,
        .log_scale = true};
    if (!rz_bench_compile(bench, "bench_pair", true))
        return false;
    rz_bench_say(bench,
                 "\n## Point to point\n\nTwo ranks%s%s; each value is the mean of many round "
                 "trips in one run, each repetition a run of its own.\n",
                 bench->cpus ? ", pinned to processors " : ", not pinned",
                 bench->cpus ? bench->cpus : "");
    study_path(bench, &within, RZ_BENCH_WITHIN);
    study_path(bench, &between, RZ_BENCH_BETWEEN);
    return true;
}
