/* A job of the study ulfm, ours or the peer's, and what it printed. */
#include "cmd/rzbench_ulfm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void command_of(const struct rz_bench_ulfm *ulfm, const struct rz_bench_ulfm_job *job,
                       struct rz_bench_command *command)
{
    const char *options[] = {"--on-failure", job->replaces ? "replace" : "continue", job->option[0],
                             job->option[1], NULL};
    struct rz_bench_start start = {.system = RZ_BENCH_RHIZOME,
                                   .ranks = job->ranks,
                                   .nodes = job->nodes,
                                   .program = job->program,
                                   .options = options};
    if (!job->peer && job->environment) {
        rz_bench_command_add(command, "env");
        rz_bench_command_add(command, "%s", job->environment);
    }
    if (job->peer)
        rz_bench_peer_start(ulfm->bench, job->nodes > 1 ? RZ_BENCH_BETWEEN : RZ_BENCH_WITHIN,
                            job->ranks, job->program, command);
    else
        rz_bench_command_start(ulfm->bench, &start, command);
    for (size_t i = 0; i < sizeof job->arguments / sizeof *job->arguments && job->arguments[i]; i++)
        rz_bench_command_add(command, "%s", job->arguments[i]);
}

void rz_bench_ulfm_show(struct rz_bench_ulfm *ulfm, const struct rz_bench_ulfm_job *job)
{
    struct rz_bench_command command = {0};
    char text[2048];
    if (job->peer && !ulfm->peer)
        return;
    command_of(ulfm, job, &command);
    rz_bench_command_show(ulfm->bench, &command, text, sizeof text);
    rz_bench_say(ulfm->bench, "    %s\n", text);
}

/* A line "WHAT RANKS VALUE" came. */
static bool printed_something(const struct rz_bench_run *run, unsigned ranks)
{
    char number[32];
    snprintf(number, sizeof number, " %u ", ranks);
    return strstr(run->output, number) != NULL && !rz_bench_line(run, "odd", NULL);
}

static void complain(const struct rz_bench_ulfm *ulfm, const struct rz_bench_ulfm_job *job,
                     const struct rz_bench_run *run)
{
    struct rz_bench_command command = {0};
    char text[2048];
    command_of(ulfm, job, &command);
    rz_bench_command_show(ulfm->bench, &command, text, sizeof text);
    fprintf(stderr, "rzbench: incomplete (status %d%s): %s\n%.1500s\n", run->status,
            run->end == RZ_BENCH_OVER ? ", over the limit" : "", text, run->output);
}

bool rz_bench_ulfm_run(struct rz_bench_ulfm *ulfm, const struct rz_bench_ulfm_job *job,
                       struct rz_bench_run *run)
{
    struct rz_bench_command command = {0};
    *run = (struct rz_bench_run){0};
    if (job->peer && ulfm->peer_limit && job->ranks >= ulfm->peer_limit)
        return false; /* once is enough */
    command_of(ulfm, job, &command);
    rz_bench_run(ulfm->bench, &command, 0, run);
    if (job->peer && run->end == RZ_BENCH_OVER)
        ulfm->peer_limit = job->ranks;
    if (run->end == RZ_BENCH_OUT_OF_TIME)
        return false;
    /* What is printed was measured, even where the launcher then does not end well. */
    bool good = printed_something(run, job->ranks) || rz_bench_line(run, "absent", NULL);
    bool ended = run->end == RZ_BENCH_ENDED;
    if (job->slow && run->end == RZ_BENCH_OVER)
        return false;
    *(job->peer ? &ulfm->peer_runs : &ulfm->runs) += 1;
    *(job->peer ? &ulfm->peer_failed : &ulfm->failed) += !good || !ended;
    if (!good || !ended)
        complain(ulfm, job, run);
    return good;
}

double rz_bench_ulfm_value(const struct rz_bench_run *run, const char *what, unsigned ranks)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s %u", what, ranks);
    const char *value = rz_bench_line(run, prefix, NULL);
    return value ? atof(value) : NAN;
}

void rz_bench_ulfm_take(struct rz_bench_table *table, const char *row, const char *column,
                        unsigned repetition, const struct rz_bench_run *run, const char *what,
                        unsigned ranks, double scale)
{
    if (rz_bench_line(run, "absent", NULL))
        return; /* the library does not have it: no row for that */
    struct rz_bench_samples *cell = rz_bench_cell(table, row, column);
    double value = rz_bench_ulfm_value(run, what, ranks);
    if (!isnan(value))
        rz_bench_put(cell, repetition, value * scale);
}

bool rz_bench_ulfm_fits(unsigned ranks, unsigned nodes)
{
    return ranks >= nodes;
}

const char *rz_bench_ulfm_name(const char *stem, unsigned nodes, char *out)
{
    if (nodes == 1)
        snprintf(out, RZ_BENCH_NAME_MAX, "%s", stem);
    else
        snprintf(out, RZ_BENCH_NAME_MAX, "%s-%u", stem, nodes);
    return out;
}
