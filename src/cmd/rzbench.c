/* rzbench: what a failure costs, what a message costs, what a crowd costs; beside Open MPI and
 * MPICH.
 */
#include "cmd/rzbench.h"

#include "base/assert.h"
#include "cli/cli.h"
#include "cli/quantity.h"
#include "port/clock.h"
#include "port/process.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define BENCH ((struct rz_bench *)target)

enum { EXIT_INCOMPLETE = 1 };

RZ_CLI_TAKE(repetitions)
{
    uint64_t n;
    *why = "it wants a whole number from 1 to 64";
    if (!rz_quantity_number(value, 1, RZ_BENCH_REPETITIONS_MAX, &n))
        return false;
    BENCH->repetitions = (unsigned)n;
    return true;
}

RZ_CLI_TAKE_FLAG(quick, BENCH->quick)
RZ_CLI_TAKE_FLAG(no_peers, BENCH->no_peers)

RZ_CLI_TAKE(budget)
{
    *why = "it wants a time like 300s or 10m";
    return rz_quantity_duration(value, &BENCH->budget) && BENCH->budget > 0;
}

RZ_CLI_TAKE(limit)
{
    *why = "it wants a time like 30s";
    return rz_quantity_duration(value, &BENCH->limit) && BENCH->limit > 0;
}

RZ_CLI_TAKE(ranks)
{
    *why = "it wants numbers like 2,4,8 (16 at most, up to 1024)";
    BENCH->ranks = value;
    return rz_bench_ulfm_is_list(value, RZ_BENCH_ULFM_RANKS_MAX);
}

RZ_CLI_TAKE(nodes)
{
    *why = "it wants numbers like 1,8 (16 at most, up to 1024)";
    BENCH->nodes = value;
    return rz_bench_ulfm_is_list(value, RZ_BENCH_ULFM_RANKS_MAX);
}

RZ_CLI_TAKE(peer_root)
{
    *why = "it wants the path of a folder";
    BENCH->peer_root = value;
    return value[0] == '/';
}

RZ_CLI_TAKE(baseline)
{
    *why = "it wants the path of a folder";
    BENCH->baseline = value;
    return value[0] == '/';
}

RZ_CLI_TAKE(pin)
{
    *why = "it wants two processors like 0,1, or none";
    size_t digits = strspn(value, "0123456789");
    bool two = digits > 0 && value[digits] == ',' &&
               strspn(value + digits + 1, "0123456789") == strlen(value + digits + 1) &&
               value[digits + 1];
    BENCH->cpus = two ? value : NULL;
    return two || strcmp(value, "none") == 0;
}

RZ_CLI_TAKE_TEXT(csv, BENCH->csv)
RZ_CLI_TAKE_TEXT(plot, BENCH->plot)
RZ_CLI_TAKE_TEXT(report, BENCH->report)

static const struct rz_cli_option options[] = {
    {NULL, NULL, NULL, "How much", NULL},
    {"--repetitions", "-r", "N",
     "Repeat each measurement N times (3 to 25; with --quick 1 or 2); systems take turns in each.",
     take_repetitions},
    {"--quick", NULL, NULL, "Fewer repetitions and fewer cases.", take_quick},
    {"--budget", NULL, "T", "Start nothing after this time; end what still runs. Default: none.",
     take_budget},
    {"--limit", NULL, "T", "End a single run after this time (30s).", take_limit},
    {"--ranks", NULL, "N,...",
     "For `ulfm` and `recovery`: numbers of ranks (2 or 4 to 256 by powers of two; with --quick 4 "
     "and "
     "8, or 8 and 64).",
     take_ranks},
    {"--nodes", NULL, "N,...",
     "For `ulfm`: numbers of emulated nodes (1 and 8; with --quick 1 and 2). For `recovery`: the "
     "number of them (one for each 16 ranks, two at least).",
     take_nodes},
    {NULL, NULL, NULL, "Beside whom", NULL},
    {"--no-peers", NULL, NULL,
     "Leave Open MPI, MPICH and memberlist out even where they are installed.", take_no_peers},
    {"--peer-root", NULL, "DIR",
     "For `ulfm` and `recovery`: the root folder of a system that has Open MPI with ULFM, as "
     "tools/setup --peers makes it (/var/lib/rhizome/peer-root). Entering it needs root.",
     take_peer_root},
    {"--baseline", NULL, "DIR",
     "For `mpi`: where an earlier Rhizome is installed, to be measured beside this one.",
     take_baseline},
    {"--pin", NULL, "CPU,CPU|none",
     "Processors of the two ranks of `latency` and `mpi` (0,1 where there are two).", take_pin},
    {NULL, NULL, NULL, "What is written", NULL},
    {"--csv", NULL, "FILE", "Every single value: table, row, column, repetition, value.", take_csv},
    {"--plot", NULL, "FILE",
     "Draw by gnuplot; the ending (svg, png, pdf) says how. Further plots get their name before "
     "the ending.",
     take_plot},
    {"--report", NULL, "FILE", "Write what is printed to FILE, too.", take_report},
    {NULL, NULL, NULL, NULL, NULL}};

static const struct rz_cli cli = {
    .name = "rzbench",
    .summary = "measure Rhizome, beside Open MPI and MPICH where they are installed",
    .synopsis = "failure|latency|crowd|all|runtime [PART]|ulfm [PART]|recovery [PART]|checkpoint "
                "[PART]|group [PART]|mpi [PART] [OPTION]...",
    .description =
        "failure: from SIGKILL to the last survivor's error, and to its roll-back. latency: "
        "ping-pong "
        "of two ranks, within a node and between nodes. crowd: 64 ranks on this machine, whole "
        "programs and collective calls. all: these three. runtime: the daemons, by parts: noise "
        "(what heartbeats cost messages), accuracy (how short they may be), detect (a silent or "
        "killed node: first seen, known to "
        "all), many (several at once), spread (news of a failed process), members (beside "
        "memberlist), footprint (an idle daemon); without PART all of them. ulfm: the calls of "
        "user-level failure mitigation over the number of ranks, beside Open MPI 5 where it is, by "
        "parts: agree (beside allreduce), trees, engines, shrink, failures (shrink over their "
        "number), "
        "revoke, perturb (collectives after a revoke), detect (SIGKILL to the last error), "
        "replace, "
        "program (one in the manner of MiniFE). recovery: global restart by MPIX_Reinit, the ULFM "
        "way "
        "and restarting, beside the same of the peers, by parts: process, node (what fails; the "
        "recovery alone), apps (three applications); its last line is the verdict on what was "
        "asked "
        "(own bounds are shown, and do not count). checkpoint: "
        "what checkpoints "
        "cost, by parts: copy (beside memcpy), pages (of which a share changed), erasure (beside "
        "ISA-L), files (beside dd), apps (one in each iteration); its last line is the verdict. "
        "group: the dynamic group of recommended processes, by parts: sort (processes that leave "
        "it), slices (the same, as if each had a processor), scale (one process alone), noise "
        "(what its tests cost), watch (18 hosts over time); "
        "its last line is the "
        "verdict. mpi: point-to-point and collective calls, by parts: pair (two ranks, as they "
        "wait by default and yielding, as the machine is and with slow wake-ups), crowd (8 and 32 "
        "ranks); its last line is the verdict. "
        "Programs are "
        "compiled "
        "at the start with each system's own wrapper. Figures are medians [smallest..largest] of n "
        "repetitions.",
    .options = options,
    .epilogue =
        "Exit status: 0; 1 when a run of failure or ulfm was not complete, the verdict of "
        "recovery, "
        "checkpoint, group or mpi is "
        "that something does not hold, or nothing could be measured; 2 when the command line is "
        "wrong.\n\n"
        "Example: everything within ten minutes\n"
        "  rzbench all --budget 10m --report benchmarks.md --csv benchmarks.csv"};

unsigned rz_bench_repetitions(const struct rz_bench *bench, unsigned usual, unsigned quick)
{
    return bench->repetitions ? bench->repetitions : bench->quick ? quick : usual;
}

/* What runs is ended, and the folder removed, as when the budget is used up. */
static void on_signal(int signal)
{
    (void)signal;
    rz_bench_interrupted = 1;
}

static void end_on_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

bool rz_bench_may_go_on(struct rz_bench *bench)
{
    if (rz_bench_interrupted || (bench->deadline && rz_clock_now() >= bench->deadline))
        bench->budget_used_up = true;
    return !bench->budget_used_up;
}

void rz_bench_share_time(struct rz_bench *bench, rz_time end, unsigned left)
{
    rz_time now = rz_clock_now();
    if (end && left > 0)
        bench->deadline = end > now ? now + (end - now) / left : now;
    bench->budget_used_up = bench->budget_used_up && (rz_bench_interrupted || end <= now);
}

/* Until end (0: there is none). */
static void part_begins(struct rz_bench *bench, rz_time end, double share)
{
    rz_time now = rz_clock_now();
    if (end)
        bench->deadline = end > now ? now + (rz_time)((double)(end - now) * share) : now;
}

static void part_over(struct rz_bench *bench)
{
    if (bench->budget_used_up)
        rz_bench_say(bench, "\nThe time for this part was used up; what is missing was not run.\n");
    bench->budget_used_up = false;
}

bool rz_bench_parts_make(struct rz_bench *bench, const char *const *names, const double *shares,
                         rz_bench_make_part_t make, void *study)
{
    bool all = strcmp(bench->part, "all") == 0, good = true;
    rz_time end = bench->deadline;
    unsigned n = 0;
    while (strcmp(names[n], "all") != 0)
        n++;
    for (unsigned i = 0; good && i < n && !rz_bench_interrupted; i++) {
        if (!all && strcmp(bench->part, names[i]) != 0)
            continue;
        part_begins(bench, end, !all ? 1.0 : shares ? shares[i] : 1.0 / (n - i));
        good = make(study, i);
        part_over(bench);
    }
    bench->deadline = end;
    return good;
}

/* The value behind the colon of the first line that begins so; empty: there is none. */
static void first_value(const char *file, const char *begin, char *out, size_t bytes)
{
    char line[512];
    FILE *f = fopen(file, "r");
    out[0] = 0;
    while (f && !out[0] && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, begin, strlen(begin)) == 0 && colon)
            snprintf(out, bytes, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (f)
        fclose(f);
}

/* What a shell command prints, its first line; empty if it does not succeed. */
static void told_by(struct rz_bench *bench, const char *shell, char *out, size_t bytes)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    rz_bench_command_add(&command, "sh");
    rz_bench_command_add(&command, "-c");
    rz_bench_command_add(&command, "%s", shell);
    rz_bench_run(bench, &command, 0, &run);
    snprintf(out, bytes, "%.*s", run.status == 0 ? (int)strcspn(run.output, "\n") : 0, run.output);
    rz_bench_run_free(&run);
}

static void show_head(struct rz_bench *bench)
{
    char model[128], memory[64], commit[64], date[64], shell[PATH_MAX + 128];
    double load[3] = {0};
    struct utsname system;
    time_t now = time(NULL);
    uname(&system);
    first_value("/proc/cpuinfo", "model name", model, sizeof model);
    first_value("/proc/meminfo", "MemTotal", memory, sizeof memory);
    getloadavg(load, 3);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime(&now));
    snprintf(shell, sizeof shell,
             "cd \"$(dirname \"$(readlink -f '%s/ring.c')\")\" && git describe --always --dirty",
             bench->sources);
    told_by(bench, shell, commit, sizeof commit);
    rz_bench_say(bench,
                 "# Benchmarks\n\nWritten by `%s`\non %s%s%s. Values are medians "
                 "[smallest..largest] of n repetitions; ratios are taken repetition by "
                 "repetition, between runs that followed each other.\n\n",
                 bench->command_line, date, commit[0] ? ", at commit " : "", commit);
    rz_bench_say(bench,
                 "* Machine: %ld processors (%s), %s of memory, %s %s; load at the start %.2f\n",
                 sysconf(_SC_NPROCESSORS_ONLN), model, memory + strspn(memory, " "), system.sysname,
                 system.release, load[0]);
    rz_bench_say(bench, "* Rhizome was built as %s\n", RZ_BUILD_TYPE);
    for (int s = 0; s < RZ_BENCH_SYSTEM_COUNT; s++)
        rz_bench_say(bench, "* %s: %s\n", rz_bench_system_names[s],
                     bench->present[s] ? bench->version[s]
                     : bench->no_peers ? "left out"
                                       : "not installed, left out");
}

/* Others may have come in the meantime: a reader must see it. */
static void show_end(struct rz_bench *bench)
{
    double load[3] = {0};
    getloadavg(load, 3);
    rz_bench_say(bench,
                 "\nLoad at the end, this run's own included: %.2f (1 min), %.2f (15 min).\n",
                 load[0], load[2]);
    if (bench->verdict[0])
        rz_bench_say(bench, "%s\n", bench->verdict);
}

/* A study of `all` gets its share of what is left, so that the last one is not starved. */
static bool study(struct rz_bench *bench, bool (*make)(struct rz_bench *), rz_time end,
                  double share)
{
    part_begins(bench, end, share);
    bool good = make(bench);
    part_over(bench);
    return good;
}

static bool run_studies(struct rz_bench *bench)
{
    static const struct {
        const char *name;
        bool (*make)(struct rz_bench *);
        double share_of_rest;
    } studies[] = {{"failure", rz_bench_failure, 0.4},
                   {"latency", rz_bench_latency, 0.4},
                   {"crowd", rz_bench_crowd, 1.0},
                   {"runtime", rz_bench_runtime, 1.0},
                   {"ulfm", rz_bench_ulfm, 1.0},
                   {"recovery", rz_bench_recovery, 1.0},
                   {"checkpoint", rz_bench_checkpoint, 1.0},
                   {"group", rz_bench_group, 1.0},
                   {"mpi", rz_bench_mpi, 1.0}};
    const size_t of_all = 3; /* the first ones */
    rz_assert(bench->study != NULL);
    bool all = strcmp(bench->study, "all") == 0, good = true;
    rz_time end = bench->budget ? rz_clock_now() + bench->budget : 0;
    for (size_t i = 0; i < sizeof studies / sizeof *studies; i++)
        if (strcmp(bench->study, studies[i].name) == 0 || (all && i < of_all))
            good = study(bench, studies[i].make, end, all ? studies[i].share_of_rest : 1.0) && good;
    return good && bench->tables > 0;
}

static int forget(const char *path, const struct stat *status, int flag, struct FTW *walk)
{
    (void)status, (void)flag, (void)walk;
    return remove(path);
}

static FILE *opened(const char *path)
{
    FILE *f = path ? fopen(path, "w") : NULL;
    if (path && !f)
        rz_cli_refuse(&cli, "cannot write '%s'", path);
    return f;
}

static bool is_one_of(const char *const *words, const char *word)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

/* The parts of a study; NULL: it has none. */
static const char *const *parts_of(const char *study)
{
    return strcmp(study, "ulfm") == 0         ? rz_bench_ulfm_parts
           : strcmp(study, "runtime") == 0    ? rz_bench_runtime_parts
           : strcmp(study, "recovery") == 0   ? rz_bench_recovery_parts
           : strcmp(study, "checkpoint") == 0 ? rz_bench_checkpoint_parts
           : strcmp(study, "group") == 0      ? rz_bench_group_parts
           : strcmp(study, "mpi") == 0        ? rz_bench_mpi_parts
                                              : NULL;
}

static void parse(struct rz_bench *bench, int argc, char **argv)
{
    static char line[2048];
    size_t used = 0;
    for (int i = 0; i < argc && used < sizeof line; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", i > 0 ? " " : "",
                                 i > 0 ? argv[i] : "rzbench");
    bench->command_line = line;
    int at = rz_cli_parse(&cli, argc, argv, bench);
    if (at >= argc)
        rz_cli_refuse(&cli, "say what to measure: failure, latency, crowd, all, runtime, ulfm, "
                            "recovery, checkpoint, group or mpi");
    const char *study = argv[at];
    bench->study = study;
    static const char *const known[] = {"failure",  "latency",    "crowd", "all", "runtime", "ulfm",
                                        "recovery", "checkpoint", "group", "mpi", NULL};
    if (!is_one_of(known, study))
        rz_cli_refuse(&cli, "'%s' cannot be measured", study);
    at += rz_cli_parse(&cli, argc - at, argv + at, bench);
    const char *const *parts = parts_of(study);
    if (at < argc && parts) {
        bench->part = argv[at];
        if (!is_one_of(parts, bench->part))
            rz_cli_refuse(&cli, "'%s' is no part of %s", bench->part, study);
        at += rz_cli_parse(&cli, argc - at, argv + at, bench);
    }
    if (at < argc)
        rz_cli_refuse(&cli, "'%s' is one word too many", argv[at]);
}

/* Whether all of it was written; NULL is good. */
static bool closed(FILE *file, const char *path)
{
    if (!file)
        return true;
    bool lost = ferror(file);
    errno = ENOSPC; /* of what was lost before it is the likely cause */
    if (fclose(file) == 0 && !lost)
        return true;
    fprintf(stderr, "rzbench: %s: not all of it could be written: %s\n", path, strerror(errno));
    return false;
}

int main(int argc, char **argv)
{
    static struct rz_bench bench = {.limit = 30 * RZ_SECOND, .part = "all"};
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
        bench.cpus = "0,1";
    parse(&bench, argc, argv);
    const char *place = getenv("TMPDIR");
    snprintf(bench.folder, sizeof bench.folder, "%s/rzbench-XXXXXX", place ? place : "/tmp");
    bench.report_file = opened(bench.report);
    bench.csv_file = opened(bench.csv);
    end_on_signals();
    if (rz_process_adopt_orphans() != RZ_OK || !mkdtemp(bench.folder)) {
        fprintf(stderr, "rzbench: no temporary folder %s\n", bench.folder);
        return EXIT_INCOMPLETE;
    }
    if (bench.csv_file)
        fprintf(bench.csv_file, "table,row,column,repetition,value\n");
    bool good = rz_bench_systems_find(&bench);
    if (good) {
        show_head(&bench);
        good = run_studies(&bench);
        show_end(&bench);
    }
    nftw(bench.folder, forget, 8, FTW_DEPTH | FTW_PHYS);
    good = closed(bench.report_file, bench.report) && good;
    good = closed(bench.csv_file, bench.csv) && good;
    return rz_cli_finish(cli.name, good ? 0 : EXIT_INCOMPLETE);
}
