/* Many more ranks than processors: what waiting costs. */
#include "cmd/rzbench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 5, REPETITIONS_QUICK = 1, RANKS = 64, RANKS_QUICK = 16 };

struct program {
    const char *name;   /* of the program */
    const char *title;  /* in the table */
    const char *inside; /* what it measures itself, and the text around the number it prints */
    const char *before, *after;
    const char *arguments[2][8]; /* usually, with --quick */
};

static const struct program programs[] = {
    {"ring", "ring", "one hop us", "rounds, ", " us per hop", {{"100"}, {"10"}}},
    {"hpccg",
     "conjugate gradient",
     "solver s",
     "hpccg: ",
     " s since",
     {{"16", "16", "16", "--iterations", "50"}, {"8", "8", "8", "--iterations", "10"}}}};

static const struct program group = {.name = "bench_group",
                                     .arguments = {{"--ms", "200"}, {"--ms", "40"}}};

static void add_arguments(const struct rz_bench *bench, const struct program *program,
                          enum rz_bench_system system, struct rz_bench_command *command)
{
    const char *const *argument = program->arguments[bench->quick];
    for (; *argument; argument++)
        rz_bench_command_add(command, "%s", *argument);
    /* The peers' programs take no checkpoints. */
    if (system == RZ_BENCH_RHIZOME && strcmp(program->name, "hpccg") == 0) {
        rz_bench_command_add(command, "--checkpoint-every");
        rz_bench_command_add(command, "0");
    }
}

static void command_of(const struct rz_bench *bench, const struct program *program,
                       enum rz_bench_system system, unsigned ranks,
                       struct rz_bench_command *command)
{
    struct rz_bench_start start = {
        .system = system, .ranks = ranks, .yield = true, .program = program->name};
    rz_bench_command_start(bench, &start, command);
    add_arguments(bench, program, system, command);
}

static void show_commands(struct rz_bench *bench, const struct program *program, unsigned ranks)
{
    for (int s = 0; s < RZ_BENCH_SYSTEM_COUNT; s++) {
        struct rz_bench_command command = {0};
        char text[1024];
        if (!rz_bench_has(bench, (enum rz_bench_system)s, program->name))
            continue;
        command_of(bench, program, (enum rz_bench_system)s, ranks, &command);
        rz_bench_command_show(bench, &command, text, sizeof text);
        rz_bench_say(bench, "    %s\n", text);
    }
}

static void complain(const struct rz_bench_command *command, const struct rz_bench_run *run)
{
    if (run->end == RZ_BENCH_ENDED && run->status != 0)
        fprintf(stderr, "rzbench: %s returned %d: %.600s\n", command->argv[0], run->status,
                run->output);
}

enum figure { FIGURE_WALL, FIGURE_PROCESSOR, FIGURE_INSIDE, FIGURE_COUNT };

/* NAN: the program did not print it. */
static double figure_of(const struct program *program, const struct rz_bench_run *run,
                        enum figure figure)
{
    if (figure != FIGURE_INSIDE)
        return figure == FIGURE_WALL ? run->wall_s : run->cpu_s;
    const char *before = strstr(run->output, program->before);
    const char *number = before ? before + strlen(program->before) : NULL;
    char *end = NULL;
    double value = number ? strtod(number, &end) : NAN;
    return end && end > number && strncmp(end, program->after, strlen(program->after)) == 0 ? value
                                                                                            : NAN;
}

static void measure_program(struct rz_bench *bench, struct rz_bench_table *table,
                            const struct program *program, enum rz_bench_system system,
                            unsigned ranks, unsigned repetition)
{
    const char *const what[] = {"wall time s", "processor time s", program->inside};
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    struct rz_bench_samples *cells[FIGURE_COUNT];
    for (int i = 0; i < FIGURE_COUNT; i++) {
        char row[RZ_BENCH_NAME_MAX];
        snprintf(row, sizeof row, "%s, %u ranks, %s", program->title, ranks, what[i]);
        cells[i] = rz_bench_cell(table, row, rz_bench_system_names[system]);
    }
    if (rz_bench_is_over(cells[0]))
        return; /* once is enough */
    command_of(bench, program, system, ranks, &command);
    rz_bench_run(bench, &command, 0, &run);
    complain(&command, &run);
    for (int i = 0; i < FIGURE_COUNT; i++) {
        if (run.end == RZ_BENCH_OVER)
            rz_bench_put_over(cells[i], repetition, (double)bench->limit / 1e9);
        else if (run.end == RZ_BENCH_ENDED && run.status == 0)
            rz_bench_put(cells[i], repetition, figure_of(program, &run, (enum figure)i));
    }
    rz_bench_run_free(&run);
}

static void study_programs(struct rz_bench *bench, struct rz_bench_table *table)
{
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK);
    unsigned ranks = bench->quick ? RANKS_QUICK : RANKS;
    for (unsigned i = 0; i < n; i++)
        for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
            for (int s = 0; s < RZ_BENCH_SYSTEM_COUNT; s++)
                if (rz_bench_has(bench, (enum rz_bench_system)s, programs[p].name) &&
                    rz_bench_may_go_on(bench))
                    measure_program(bench, table, &programs[p], (enum rz_bench_system)s, ranks, i);
    rz_bench_say(bench, "\n");
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
        show_commands(bench, &programs[p], ranks);
    rz_bench_table_show(bench, table);
}

static void take_collective(struct rz_bench *bench, struct rz_bench_table *table, const char *call,
                            const struct rz_bench_run *run, enum rz_bench_system system,
                            unsigned ranks, unsigned repetition)
{
    char row[RZ_BENCH_NAME_MAX], prefix[32];
    snprintf(row, sizeof row, "%s, %u ranks", call, ranks);
    snprintf(prefix, sizeof prefix, "%s %u", call, ranks);
    struct rz_bench_samples *cell = rz_bench_cell(table, row, rz_bench_system_names[system]);
    const char *value = rz_bench_line(run, prefix, NULL);
    if (value)
        rz_bench_put(cell, repetition, atof(value));
    else if (run->end == RZ_BENCH_OVER)
        rz_bench_put_over(cell, repetition, (double)bench->limit / 1e9);
}

/* Returns false when the run was over the limit: then more ranks would be, too. */
static bool measure_collectives(struct rz_bench *bench, struct rz_bench_table tables[2],
                                enum rz_bench_system system, unsigned ranks, unsigned repetition)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    command_of(bench, &group, system, ranks, &command);
    rz_bench_run(bench, &command, 0, &run);
    complain(&command, &run);
    take_collective(bench, &tables[0], "barrier", &run, system, ranks, repetition);
    take_collective(bench, &tables[1], "allreduce", &run, system, ranks, repetition);
    bool over = run.end == RZ_BENCH_OVER;
    rz_bench_run_free(&run);
    return !over;
}

static void study_collectives(struct rz_bench *bench, struct rz_bench_table tables[2])
{
    static const unsigned counts[] = {2, 4, 8, 16, 32, 64};
    unsigned most[RZ_BENCH_SYSTEM_COUNT];
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK);
    for (int s = 0; s < RZ_BENCH_SYSTEM_COUNT; s++)
        most[s] = bench->quick ? 8 : RANKS;
    for (unsigned i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            for (int s = 0; s < RZ_BENCH_SYSTEM_COUNT; s++)
                if (rz_bench_has(bench, (enum rz_bench_system)s, group.name) &&
                    counts[k] <= most[s] && rz_bench_may_go_on(bench) &&
                    !measure_collectives(bench, tables, (enum rz_bench_system)s, counts[k], i))
                    most[s] = counts[k] - 1;
    rz_bench_table_show(bench, &tables[0]);
    rz_bench_table_show(bench, &tables[1]);
}

bool rz_bench_crowd(struct rz_bench *bench)
{
    static struct rz_bench_table whole = {.name = "crowd",
                                          .title = "Whole programs: wall and processor time from "
                                                   "start to end of the launcher, and what the "
                                                   "program measured itself",
                                          .rows_are = "what",
                                          .unit = "s or us, as named",
                                          .ratios = true,
                                          .plot = true,
                                          .log_scale = true};
    static struct rz_bench_table collectives[2] = {
        {.name = "barrier", .title = "Barrier, us"},
        {.name = "allreduce", .title = "Allreduce of 8 bytes, us"}};
    for (int i = 0; i < 2; i++) {
        collectives[i].rows_are = "what";
        collectives[i].unit = "one call, us";
        collectives[i].ratios = collectives[i].plot = collectives[i].log_scale = true;
    }
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
        if (!rz_bench_compile(bench, programs[p].name, true))
            return false;
    if (!rz_bench_compile(bench, "bench_group", true))
        return false;
    rz_bench_say(bench,
                 "\n## More ranks than processors\n\nOne node, not pinned. Processor time is user "
                 "and system time of everything the launcher started, itself included. A run that "
                 "lasts longer than %.0f s is ended.\n",
                 (double)bench->limit / 1e9);
    study_programs(bench, &whole);
    study_collectives(bench, collectives);
    return true;
}
