/* One job with a fault in it, watched through the record that rzrun writes. */
#include "cmd/rzbench_runtime.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 1024 };

struct watched {
    const struct rz_bench_job *job;
    struct rz_bench_dates *dates;
    FILE *record;
    char path[PATH_MAX + 32];
    char line[LINE_MAX_BYTES]; /* its beginning, while the end is not written yet */
    size_t used;
    unsigned told;  /* victims of which all know */
    bool false_one; /* a living daemon reported one that lives */
};

static long field(const char *line, const char *name)
{
    const char *at = strstr(line, name);
    return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

static bool of_nodes(const struct rz_bench_job *job)
{
    return job->fault == RZ_BENCH_KILL_NODE || job->fault == RZ_BENCH_CUT_NODE;
}

/* Which victim this is; n_victims: none. */
static unsigned victim_of(const struct rz_bench_job *job, long id)
{
    unsigned v = 0;
    while (v < job->n_victims && (long)job->victims[v] != id)
        v++;
    return v;
}

static unsigned listeners(const struct rz_bench_job *job)
{
    if (job->fault == RZ_BENCH_STOP_RANK)
        return job->nodes * job->per_node - job->n_victims;
    return job->nodes - (of_nodes(job) ? job->n_victims : 0);
}

static void earlier(rz_time *date, rz_time at)
{
    if (*date == 0 || at < *date)
        *date = at;
}

/* What a failed or deaf daemon says of others does not count. */
static void take_line(struct watched *watched)
{
    const struct rz_bench_job *job = watched->job;
    const char *line = watched->line, *at_ns = strstr(line, " at_ns=");
    bool injected = strncmp(line, "event=injected ", 15) == 0,
         seen = strncmp(line, "event=failure_seen ", 17) == 0,
         news = strncmp(line, "event=failure_news ", 17) == 0;
    if (job->fault == RZ_BENCH_STOP_RANK) /* its processes see and tell, daemons only assess */
        seen = news = strncmp(line, "event=flat_news ", 16) == 0;
    if (!at_ns || !(injected || seen || news))
        return;
    rz_time at = strtoull(at_ns + strlen(" at_ns="), NULL, 10);
    long rank = field(line, " rank="), node = field(line, " node="), by = field(line, " by=");
    if (job->fault == RZ_BENCH_STOP_RANK)
        by = field(line, " value=");
    bool by_living = job->fault == RZ_BENCH_KILL_RANK || victim_of(job, by) == job->n_victims;
    unsigned v =
        of_nodes(job) && rank >= 0 ? job->n_victims : victim_of(job, of_nodes(job) ? node : rank);
    if (v == job->n_victims) {
        bool consequence = of_nodes(job) && rank >= 0; /* of a node's failure: those it had */
        watched->false_one = watched->false_one || ((seen || news) && by_living && !consequence);
        return;
    }
    struct rz_bench_dates *dates = &watched->dates[v];
    if (injected)
        earlier(&dates->injected, at);
    if (seen && by_living)
        earlier(&dates->seen, at);
    if (news && by_living) {
        earlier(&dates->news_first, at);
        dates->news_last = at > dates->news_last ? at : dates->news_last;
        watched->told += ++dates->news == listeners(job);
    }
}

/* Reads on where the record has grown; true: everybody knows, or nothing can be learnt any more. */
static bool enough(void *arg)
{
    struct watched *watched = arg;
    if (!watched->record)
        watched->record = fopen(watched->path, "r");
    if (!watched->record)
        return false;
    clearerr(watched->record);
    for (int c; (c = getc(watched->record)) != EOF;) {
        if (c != '\n') {
            if (watched->used < sizeof watched->line - 1)
                watched->line[watched->used++] = (char)c;
            continue;
        }
        watched->line[watched->used] = 0;
        watched->used = 0;
        take_line(watched);
    }
    return watched->told == watched->job->n_victims || watched->false_one;
}

/* --- the command --- */

/* Words of rzrun's command line, which need memory while the command is put together. */
struct options {
    unsigned n;
    char text[2 * RZ_BENCH_VICTIMS_MAX + 16][PATH_MAX + 32];
    const char *word[2 * RZ_BENCH_VICTIMS_MAX + 16 + 1];
};

__attribute__((format(printf, 2, 3))) static void add(struct options *options, const char *format,
                                                      ...)
{
    va_list list;
    rz_assert(options->n < sizeof options->text / sizeof *options->text);
    va_start(list, format);
    vsnprintf(options->text[options->n], sizeof options->text[0], format, list);
    va_end(list);
    options->word[options->n] = options->text[options->n];
    options->word[++options->n] = NULL;
}

static void add_faults(const struct rz_bench_job *job, struct options *options)
{
    char nodes[128] = "";
    for (unsigned v = 0; v < job->n_victims; v++) {
        rz_time at = job->at + (of_nodes(job) ? 0 : v * job->every);
        size_t used = strlen(nodes);
        snprintf(nodes + used, sizeof nodes - used, "%s%u", v > 0 ? "," : "", job->victims[v]);
        if (job->fault == RZ_BENCH_CUT_NODE)
            continue;
        add(options, "--inject");
        add(options, "%s %s %u at %" PRIu64 "ms%s",
            job->fault == RZ_BENCH_STOP_RANK ? "stop" : "kill", of_nodes(job) ? "node" : "rank",
            job->victims[v], at / RZ_MILLISECOND,
            job->fault == RZ_BENCH_STOP_RANK ? " for 1m" : "");
    }
    if (job->fault != RZ_BENCH_CUT_NODE)
        return;
    add(options, "--inject");
    add(options, "cut node %s at %" PRIu64 "ms", nodes, job->at / RZ_MILLISECOND);
}

static void report_path(const struct rz_bench *bench, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/runtime.report", bench->folder);
}

static void command_of(const struct rz_bench *bench, const struct rz_bench_job *job,
                       struct rz_bench_command *command)
{
    char report[PATH_MAX + 32];
    struct options options = {0};
    report_path(bench, report, sizeof report);
    const char *const words[] = {"--on-failure", "continue", "--detector",
                                 job->detector,  "--report", report};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        add(&options, "%s", words[i]);
    add(&options, "--hb-period");
    add(&options, "%" PRIu64 "ms", job->period / RZ_MILLISECOND);
    add(&options, "--hb-timeout");
    add(&options, "%" PRIu64 "ms", job->timeout / RZ_MILLISECOND);
    add_faults(job, &options);
    struct rz_bench_start start = {.system = RZ_BENCH_RHIZOME,
                                   .ranks = job->nodes * job->per_node,
                                   .nodes = job->nodes,
                                   .program = "bench_rest",
                                   .options = options.word};
    rz_bench_command_start(bench, &start, command);
}

void rz_bench_job_show(struct rz_bench *bench, const struct rz_bench_job *job)
{
    struct rz_bench_command command = {0};
    char text[2048];
    command_of(bench, job, &command);
    rz_bench_command_show(bench, &command, text, sizeof text);
    rz_bench_say(bench, "    %s\n", text);
}

enum rz_bench_told rz_bench_job_run(struct rz_bench *bench, const struct rz_bench_job *job,
                                    struct rz_bench_dates *dates, struct rz_bench_tally *tally)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    struct watched watched = {.job = job, .dates = dates};
    const struct rz_bench_watch watch = {enough, &watched};
    char text[2048];
    rz_assert(job->n_victims <= RZ_BENCH_VICTIMS_MAX && job->nodes <= RZ_BENCH_NODES_MAX);
    memset(dates, 0, job->n_victims * sizeof *dates);
    report_path(bench, watched.path, sizeof watched.path);
    remove(watched.path);
    command_of(bench, job, &command);
    rz_bench_run_watched(bench, &command, job->limit, &watch, &run);
    if (watched.record)
        fclose(watched.record);
    enum rz_bench_told told = watched.false_one                 ? RZ_BENCH_TOLD_FALSE
                              : watched.told == job->n_victims  ? RZ_BENCH_TOLD_ALL
                              : run.end == RZ_BENCH_OUT_OF_TIME ? RZ_BENCH_NOT_RUN
                                                                : RZ_BENCH_TOLD_PART;
    tally->runs += told != RZ_BENCH_NOT_RUN;
    tally->falsely += told == RZ_BENCH_TOLD_FALSE;
    tally->incomplete += told == RZ_BENCH_TOLD_PART;
    if (told == RZ_BENCH_TOLD_PART) {
        rz_bench_command_show(bench, &command, text, sizeof text);
        fprintf(stderr, "rzbench: not all learnt of it (status %d%s): %s\n%.1500s\n", run.status,
                run.end == RZ_BENCH_OVER ? ", over the limit" : "", text, run.output);
    }
    rz_bench_run_free(&run);
    return told;
}

void rz_bench_tally_show(struct rz_bench *bench, const struct rz_bench_tally *tally)
{
    rz_bench_say(bench, "\n%u of %u runs complete: every living daemon had the news.",
                 tally->runs - tally->incomplete - tally->falsely, tally->runs);
    if (tally->falsely > 0)
        rz_bench_say(bench,
                     " In %u a living node was reported, since this machine was late by more than "
                     "the timeout allows; they are left out.",
                     tally->falsely);
    rz_bench_say(bench, "\n");
}

rz_time rz_bench_phase(rz_time period, unsigned repetition)
{
    double turns = 0.6180339887498949 * (repetition + 1);
    return (rz_time)((turns - (double)(unsigned)turns) * (double)period);
}

void rz_bench_put_ms(struct rz_bench_table *table, const char *row, const char *column,
                     unsigned repetition, rz_time from, rz_time to)
{
    struct rz_bench_samples *cell = rz_bench_cell(table, row, column);
    if (from > 0 && to >= from)
        rz_bench_put(cell, repetition, (double)(to - from) / 1e6);
}

struct rz_bench_job rz_bench_silent_job(const struct rz_bench *bench, unsigned nodes,
                                        unsigned per_node, rz_time period, const char *detector,
                                        unsigned repetition)
{
    bool swim = strcmp(detector, "swim") == 0;
    rz_time settled = swim           ? 2500 * RZ_MILLISECOND
                      : bench->quick ? 100 * RZ_MILLISECOND + 2 * period
                                     : 250 * RZ_MILLISECOND + 2 * period;
    return (struct rz_bench_job){.nodes = nodes,
                                 .per_node = per_node,
                                 .period = period,
                                 .timeout = 2 * period,
                                 .detector = detector,
                                 .fault = RZ_BENCH_CUT_NODE,
                                 .n_victims = 1,
                                 .victims = {1 + 5 * repetition % (nodes - 1)},
                                 .at = settled + rz_bench_phase(period, repetition)};
}
