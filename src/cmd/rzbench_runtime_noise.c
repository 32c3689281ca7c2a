/* What heartbeats cost messages: figure 7 of RDaemon#. */
#include "cmd/rzbench_runtime.h"

#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 25, REPETITIONS_QUICK = 1, GROUP_NODES = 4 };

/* Without heartbeats twice: how much two equal runs differ is what the others are held against. */
static const struct setting {
    const char *name;
    const char *options[5];
} settings[] = {{"off", {"--no-ft"}},
                {"off again", {"--no-ft"}},
                {"P = 100 ms", {"--hb-period", "100ms", "--hb-timeout", "1s"}},
                {"P = 10 ms", {"--hb-period", "10ms", "--hb-timeout", "1s"}}};
enum { SETTINGS = sizeof settings / sizeof *settings };

static const struct what {
    const char *title, *prefix; /* in the table, of the program's line */
    bool pair;                  /* by bench_pair, else by bench_group */
} whats[] = {{"ping-pong, 8 B", "pair 8", true},
             {"ping-pong, 4 KiB", "pair 4096", true},
             {"ping-pong, 256 KiB", "pair 262144", true},
             {"barrier, 4 nodes", "barrier 4", false},
             {"allreduce of 8 B, 4 nodes", "allreduce 4", false}};
enum { WHATS = sizeof whats / sizeof *whats };

static void command_of(const struct rz_bench *bench, const struct setting *setting, bool pair,
                       struct rz_bench_command *command)
{
    static const char *const sizes[] = {"8", "4096", "262144"};
    unsigned nodes = pair ? 2 : GROUP_NODES;
    struct rz_bench_start start = {.system = RZ_BENCH_RHIZOME,
                                   .path = RZ_BENCH_BETWEEN,
                                   .ranks = nodes,
                                   .nodes = nodes,
                                   .program = pair ? "bench_pair" : "bench_group",
                                   .options = setting->options};
    rz_bench_command_start(bench, &start, command);
    rz_bench_command_add(command, "--ms");
    rz_bench_command_add(command, bench->quick ? "50" : "100");
    if (pair && bench->cpus) {
        rz_bench_command_add(command, "--pin");
        rz_bench_command_add(command, "%s", bench->cpus);
    }
    for (size_t i = 0; pair && i < sizeof sizes / sizeof *sizes; i++)
        rz_bench_command_add(command, "%s", sizes[i]);
}

static void measure(struct rz_bench *bench, struct rz_bench_table *table,
                    const struct setting *setting, bool pair, unsigned repetition)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    command_of(bench, setting, pair, &command);
    rz_bench_run(bench, &command, 0, &run);
    for (unsigned w = 0; w < WHATS; w++) {
        struct rz_bench_samples *cell = rz_bench_cell(table, whats[w].title, setting->name);
        const char *value =
            whats[w].pair == pair ? rz_bench_line(&run, whats[w].prefix, NULL) : NULL;
        if (value)
            rz_bench_put(cell, repetition, atof(value));
    }
    if (run.end == RZ_BENCH_ENDED && run.status != 0)
        fprintf(stderr, "rzbench: %s returned %d: %.600s\n", command.argv[0], run.status,
                run.output);
    rz_bench_run_free(&run);
}

/* In per cent of the run without heartbeats in the same repetition. */
static void fill_overhead(const struct rz_bench_table *times, struct rz_bench_table *overhead)
{
    for (unsigned r = 0; r < times->n_rows; r++)
        for (unsigned c = 1; c < times->n_columns; c++) {
            const struct rz_bench_samples *off = &times->cells[r][0], *with = &times->cells[r][c];
            for (unsigned i = 0; i < off->n && i < with->n; i++)
                if (off->value[i] > 0 && with->value[i] > 0)
                    rz_bench_put(rz_bench_cell(overhead, times->rows[r], times->columns[c]), i,
                                 100 * (with->value[i] / off->value[i] - 1));
        }
}

/* Of the quickest runs, which others on this machine disturbed least. */
static void fill_quickest(const struct rz_bench_table *times, struct rz_bench_table *quickest)
{
    for (unsigned r = 0; r < times->n_rows; r++)
        for (unsigned c = 1; c < times->n_columns; c++) {
            struct rz_bench_summary off = rz_bench_summarise(&times->cells[r][0]),
                                    with = rz_bench_summarise(&times->cells[r][c]);
            if (off.n > 0 && with.n > 0)
                rz_bench_put(rz_bench_cell(quickest, times->rows[r], times->columns[c]), 0,
                             100 * (with.min / off.min - 1));
        }
}

bool rz_bench_runtime_noise(struct rz_bench *bench)
{
    static struct rz_bench_table times = {.name = "noise-times",
                                          .title = "Half round trip, or one call: us",
                                          .rows_are = "what",
                                          .unit = "us"};
    static struct rz_bench_table overhead = {.name = "noise",
                                             .title = "Overhead of heartbeats, per cent (figure 7)",
                                             .rows_are = "what",
                                             .unit = "per cent",
                                             .plot = true,
                                             .below_zero = true};
    static struct rz_bench_table quickest = {
        .name = "noise-quickest",
        .title = "The same between the quickest run with and the quickest without",
        .rows_are = "what",
        .unit = "per cent"};
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK);
    if (!rz_bench_compile(bench, "bench_pair", false) ||
        !rz_bench_compile(bench, "bench_group", false))
        return false;
    for (unsigned s = 0; s < SETTINGS; s++)
        rz_bench_cell(&times, whats[0].title, settings[s].name);
    for (unsigned i = 0; i < n; i++)
        for (int pair = 1; pair >= 0; pair--)
            for (unsigned s = 0; s < SETTINGS; s++)
                /* Turns begin with another setting each time: a place in them is nobody's own. */
                if (rz_bench_may_go_on(bench))
                    measure(bench, &times, &settings[(s + i) % SETTINGS], pair, i);
    rz_bench_say(bench, "\n## Noise\n\nOne process per node, daemons on the same processors. Off "
                        "is `--no-ft`; the column `off again` says how far two equal runs are "
                        "apart.\n\n");
    for (int pair = 1; pair >= 0; pair--) {
        struct rz_bench_command command = {0};
        char text[1024];
        command_of(bench, &settings[SETTINGS - 1], pair, &command);
        rz_bench_command_show(bench, &command, text, sizeof text);
        rz_bench_say(bench, "    %s\n", text);
    }
    rz_bench_table_show(bench, &times);
    fill_overhead(&times, &overhead);
    rz_bench_table_show(bench, &overhead);
    fill_quickest(&times, &quickest);
    rz_bench_table_show(bench, &quickest);
    return true;
}
