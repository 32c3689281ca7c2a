/* SPDX-License-Identifier: BSD-3-Clause */
/* rzps: the jobs on this machine, as their daemons report them (docs/status.md). */
#include "base/no_memory.h"
#include "cli/cli.h"
#include "cmd/look_options.h"
#include "launch/host_options.h"
#include "view/look.h"
#include "view/look_hosts.h"

#include <stdlib.h>
#include <string.h>

/* Exit status. */
enum { RZPS_GOOD = 0, RZPS_NO_JOB = 1, RZPS_SILENT = 3 };

struct options {
    struct rz_look_options look;
    bool json, waits;
};

/* ---- Showing ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "?";
}

static json_int_t number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static size_t count_with(const json_t *list, const char *key, const char *value)
{
    json_t *one;
    size_t i, n = 0;
    json_array_foreach(list, i, one) n += strcmp(text_of(one, key), value) == 0;
    return n;
}

static void age_of(double seconds, char *text, size_t bytes)
{
    unsigned long s = (unsigned long)seconds;
    if (s < 60) {
        snprintf(text, bytes, "%.1f s", seconds);
    } else {
        snprintf(text, bytes, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
    }
}

/* Of a detached job whose result waits to be fetched there is no process left. */
static const char *phase_of(const json_t *job)
{
    return strcmp(text_of(job, "detached"), "over") == 0 ? "over" : text_of(job, "phase");
}

/* all: with the user, if it is another one. */
static void show_jobs(const json_t *jobs, bool all)
{
    json_t *job;
    size_t i;
    printf("%-16s  %-20s  %5s  %6s  %6s  %6s  %-6s  %9s%s\n", "JOB", "PROGRAM", "NODES", "RANKS",
           "FAILED", "EPOCH", "PHASE", "AGE", all ? "  UID" : "");
    json_array_foreach(jobs, i, job)
    {
        const json_t *nodes = json_object_get(job, "nodes"), *ranks = json_object_get(job, "ranks");
        const char *program = text_of(job, "program"), *slash = strrchr(program, '/');
        char age[32], alive[32], uid[32] = "";
        if (json_is_integer(json_object_get(job, "uid"))) {
            snprintf(uid, sizeof(uid), "  %" JSON_INTEGER_FORMAT, number_of(job, "uid"));
        }
        age_of(json_real_value(json_object_get(job, "seconds")), age, sizeof(age));
        snprintf(alive, sizeof(alive), "%zu", json_array_size(nodes));
        printf("%-16s  %-20.20s  %5s  %6zu  %6zu  %6" JSON_INTEGER_FORMAT "  %-6s  %9s%s\n",
               text_of(job, "job"), slash ? slash + 1 : program, alive, json_array_size(ranks),
               count_with(nodes, "state", "failed") + count_with(ranks, "state", "failed"),
               number_of(job, "epoch"), phase_of(job), age, uid);
    }
}

/* A rank, and the node that it is on. */
struct placed {
    json_int_t node;
    size_t i;
    const json_t *rank;
};

static int by_place(const void *a, const void *b)
{
    const struct placed *l = a, *r = b;
    int order = (l->node > r->node) - (l->node < r->node);
    return order ? order : (l->i > r->i) - (l->i < r->i);
}

/* The ranks of a job by node, n of them, and one at their end without a rank. */
static struct placed *by_node(const json_t *ranks, size_t *n)
{
    struct placed *all = calloc(json_array_size(ranks) + 1, sizeof(*all));
    rz_need_memory(all, "for the ranks of a job");
    for (*n = 0; *n < json_array_size(ranks); ++*n) {
        const json_t *rank = json_array_get(ranks, *n);
        all[*n] = (struct placed){number_of(rank, "node"), *n, rank};
    }
    qsort(all, *n, sizeof(*all), by_place);
    return all;
}

/* The first rank of a node; where there is none, one of another node or the end. */
static struct placed *first_of(struct placed *all, size_t n, json_int_t node)
{
    size_t from = 0;
    while (n > 0) {
        size_t half = n / 2;
        bool before = all[from + half].node < node;
        from += before ? half + 1 : 0;
        n = before ? n - half - 1 : half;
    }
    return &all[from];
}

static void show_rank(const json_t *rank)
{
    printf(" %" JSON_INTEGER_FORMAT, number_of(rank, "rank"));
    if (number_of(rank, "incarnation") > 1) {
        printf(".%" JSON_INTEGER_FORMAT, number_of(rank, "incarnation"));
    }
    if (strcmp(text_of(rank, "state"), "alive") != 0) {
        printf("(%s)", text_of(rank, "state"));
    }
}

/* Each rank once, however often a page names its node. */
static void show_nodes(const json_t *job)
{
    json_t *node;
    size_t i, n;
    struct placed *ranks = by_node(json_object_get(job, "ranks"), &n);
    printf("\n%5s  %-8s  %-15s  %s\n", "NODE", "STATE", "ADDRESS", "RANKS (.incarnation, state)");
    json_array_foreach(json_object_get(job, "nodes"), i, node)
    {
        json_int_t number = number_of(node, "node");
        printf("%5" JSON_INTEGER_FORMAT "  %-8s  %-15s ", number, text_of(node, "state"),
               text_of(node, "address"));
        for (struct placed *at = first_of(ranks, n, number); at->rank && at->node == number; at++) {
            show_rank(at->rank);
            at->rank = NULL;
        }
        putchar('\n');
    }
    free(ranks);
}

static void show_waits(const json_t *job)
{
    json_t *process, *wait;
    size_t i, j;
    printf("\n%5s  %8s  %-8s  %s\n", "RANK", "PID", "STATE", "WAITS");
    json_array_foreach(json_object_get(job, "processes"), i, process)
    {
        const json_t *waits = json_object_get(process, "waits");
        printf("%5" JSON_INTEGER_FORMAT "  %8" JSON_INTEGER_FORMAT "  %-8s",
               number_of(process, "rank"), number_of(process, "pid"), text_of(process, "state"));
        json_array_foreach(waits, j, wait)
        {
            const json_t *peer = json_object_get(wait, "peer");
            printf("%s%s for %.1f s", j ? ", " : "  ", text_of(wait, "call"),
                   json_real_value(json_object_get(wait, "seconds")));
            if (json_is_integer(peer)) {
                printf(" (rank %" JSON_INTEGER_FORMAT ")", json_integer_value(peer));
            }
        }
        putchar('\n');
    }
}

/* How a detached job ended, and when. */
static void show_result(const json_t *result)
{
    char age[32];
    const char *cause = text_of(result, "cause");
    age_of(json_real_value(json_object_get(result, "age_seconds")), age, sizeof(age));
    printf("over for %s: exit status %" JSON_INTEGER_FORMAT "%s%s\n", age,
           number_of(result, "status"), *cause ? ": " : "", cause);
}

static void show_job(const json_t *job)
{
    const json_t *result = json_object_get(job, "result");
    if (result) {
        show_result(result);
    }
    const json_t *detection = json_object_get(job, "detection");
    const json_t *bytes = json_object_get(detection, "heartbeat_bytes_per_second");
    printf("detector %s, a heartbeat each %.0f ms, silent for %.0f ms has failed",
           text_of(detection, "detector"),
           1e3 * json_real_value(json_object_get(detection, "hb_period_seconds")),
           1e3 * json_real_value(json_object_get(detection, "hb_timeout_seconds")));
    if (bytes) {
        printf("; %.0f bytes per second and node", json_real_value(bytes));
    }
    putchar('\n');
    show_nodes(job);
}

/* ---- The command ---- */

#define OPTIONS ((struct options *)target)
RZ_CLI_TAKE_FLAG(json, OPTIONS->json)
RZ_CLI_TAKE_FLAG(all, OPTIONS->look.all)
RZ_CLI_TAKE_FLAG(waits, OPTIONS->waits)

static const struct rz_cli_option table[] = {
    {"--json", NULL, NULL, "print an array of documents, one per job (docs/status.md)", take_json},
    {"--all", "-a", NULL, "the jobs of all users (jobs of others answer to root only)", take_all},
    {"--waits", "-w", NULL, "with JOB: what each process waits for", take_waits},
    {NULL, NULL, NULL, NULL, NULL}};

static const struct rz_cli_option *const more_tables[] = {rz_look_options_hosts,
                                                          rz_host_options_agents, NULL};

static const struct rz_cli cli = {
    .name = "rzps",
    .summary = "the jobs on this machine, and on others: nodes, ranks, failures, heartbeats",
    .synopsis = "[OPTION]... [JOB]",
    .description =
        "Lists the jobs that have a daemon on this machine, or on a host of --host, as these "
        "daemons report. With JOB (its number, or the first digits of it) shows one: each node, "
        "and its ranks.",
    .options = table,
    .more = more_tables,
    .epilogue = "Exit status\n  0  there are jobs (or: the job is there)\n  1  there is none\n"
                "  2  bad command line\n  3  a host of --host or --hostfile has not answered: its "
                "jobs are missing\n  9  standard output could not be written"};

static void show_all(const struct options *options, const json_t *jobs, const char *prefix)
{
    json_t *job;
    size_t i, n = json_array_size(jobs);
    if (options->json) {
        json_dumpf(jobs, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        putchar('\n');
        return;
    }
    if (n > 0) {
        show_jobs(jobs, options->look.all);
    } else if (prefix) {
        fprintf(stderr, "rzps: no job here begins with '%s'\n", prefix);
    }
    json_array_foreach(jobs, i, job)
    {
        if (prefix) {
            if (n > 1) {
                printf("\njob %s of uid %u\n", text_of(job, "job"), rz_look_owner(job));
            }
            show_job(job);
            if (options->waits) {
                show_waits(job);
            }
        }
    }
}

int main(int argc, char **argv)
{
    static struct options options;
    rz_no_memory_speaker(RZ_EXIT_USAGE, "rzps");
    if (argc == 2 && strcmp(argv[1], "serve") == 0) { /* look_hosts.h */
        return rz_look_serve();
    }
    int at = rz_cli_parse(&cli, argc, argv, &options);
    const char *prefix = at < argc ? argv[at] : NULL;
    if (argc - at > 1) {
        rz_cli_refuse(&cli, "one JOB can be shown, not '%s' too", argv[at + 1]);
    }
    struct rz_look_hosts *hosts;
    json_t *jobs;
    rz_look_options_open(&options.look, &cli, &hosts);
    if (rz_look_options_look(&options.look, hosts, prefix, &jobs) != RZ_OK) {
        rz_cli_refuse(&cli, "the sockets of this machine cannot be listed: is /proc mounted?");
    }
    rz_look_options_complain(&options.look, hosts, cli.name);
    struct rz_look_silent silent;
    bool all = !hosts || !rz_look_hosts_silent(hosts, 0, &silent);
    rz_look_options_close(&options.look, hosts);
    show_all(&options, jobs, prefix);
    bool any = json_array_size(jobs) > 0;
    json_decref(jobs);
    return rz_cli_finish(cli.name, !all ? RZPS_SILENT : any ? RZPS_GOOD : RZPS_NO_JOB);
}
