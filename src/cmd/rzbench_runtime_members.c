/* Our detectors beside HashiCorp's memberlist, a member being a node's daemon. */
#include "cmd/rzbench_runtime.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPETITIONS = 5, REPETITIONS_QUICK = 1 };

#define PERIOD (200 * RZ_MILLISECOND)
#define BUILD_LIMIT (180 * RZ_SECOND)

/* Where Debian puts the sources of Go libraries (golang-github-hashicorp-memberlist-dev). */
#define GO_PATH "/usr/share/gocode"

static void peer_path(const struct rz_bench *bench, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/peer_memberlist", bench->folder);
}

/* Compiles it where Go and the library are installed; false: it is not here. */
static bool make_peer(struct rz_bench *bench)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    char path[PATH_MAX + 32];
    if (bench->no_peers || !rz_bench_on_path("go") ||
        access(GO_PATH "/src/github.com/hashicorp/memberlist", R_OK) != 0)
        return false;
    peer_path(bench, path, sizeof path);
    rz_bench_command_add(&command, "env");
    rz_bench_command_add(&command, "GO111MODULE=off");
    rz_bench_command_add(&command, "GOFLAGS=");
    rz_bench_command_add(&command, "GOPATH=" GO_PATH);
    rz_bench_command_add(&command, "GOCACHE=%s/go-cache", bench->folder);
    const char *const words[] = {"go", "build", "-o", path};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        rz_bench_command_add(&command, "%s", words[i]);
    rz_bench_command_add(&command, "%s/peer_memberlist.go", bench->sources);
    rz_bench_run(bench, &command, BUILD_LIMIT, &run);
    if (run.end == RZ_BENCH_ENDED && run.status != 0)
        fprintf(stderr, "rzbench: peer_memberlist does not compile: %.1000s\n", run.output);
    rz_bench_run_free(&run);
    return access(path, X_OK) == 0;
}

static void peer_command(const struct rz_bench *bench, unsigned members, unsigned repetition,
                         struct rz_bench_command *command)
{
    char path[PATH_MAX + 32];
    peer_path(bench, path, sizeof path);
    rz_bench_command_add(command, "%s", path);
    rz_bench_command_add(command, "%u", members);
    rz_bench_command_add(command, "%" PRIu64, PERIOD / RZ_MILLISECOND);
    rz_bench_command_add(command, "%" PRIu64,
                         (RZ_SECOND + rz_bench_phase(PERIOD, repetition)) / RZ_MILLISECOND);
}

static void measure_peer(struct rz_bench *bench, struct rz_bench_table *table, unsigned members,
                         unsigned repetition, struct rz_bench_tally *tally)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    char row[RZ_BENCH_NAME_MAX];
    rz_time first = 0, last = 0;
    unsigned told = 0;
    peer_command(bench, members, repetition, &command);
    rz_bench_run(bench, &command, 0, &run);
    const char *killed = rz_bench_line(&run, "killed", NULL);
    for (const char *line = NULL; (line = rz_bench_line(&run, "news", line)); told++) {
        char *end;
        strtoul(line, &end, 10);
        rz_time at = strtoull(end, NULL, 10);
        first = first == 0 || at < first ? at : first;
        last = at > last ? at : last;
    }
    bool all = killed && told == members - 1, falsely = rz_bench_line(&run, "false", NULL);
    tally->runs += run.end != RZ_BENCH_OUT_OF_TIME;
    tally->falsely += falsely;
    tally->incomplete += !all && !falsely && run.end != RZ_BENCH_OUT_OF_TIME;
    if (!all && run.end != RZ_BENCH_OUT_OF_TIME)
        fprintf(stderr, "rzbench: %s %u: %u were told%s\n%.1500s\n", command.argv[0], members, told,
                run.end == RZ_BENCH_OVER ? " within the limit" : "", run.output);
    snprintf(row, sizeof row, "%u", members);
    if (all && !falsely) {
        rz_time zero = strtoull(killed, NULL, 10);
        rz_bench_put_ms(table, row, "memberlist, killed: first", repetition, zero, first);
        rz_bench_put_ms(table, row, "memberlist, killed: last", repetition, zero, last);
    }
    rz_bench_run_free(&run);
}

static const struct kind {
    const char *detector;
    enum rz_bench_fault fault;
    const char *first, *last;
} kinds[] = {{"ring", RZ_BENCH_CUT_NODE, "ring, silent: first", "ring, silent: last"},
             {"ring", RZ_BENCH_KILL_NODE, "ring, killed: first", "ring, killed: last"},
             {"swim", RZ_BENCH_CUT_NODE, "swim, silent: first", "swim, silent: last"}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void measure_ours(struct rz_bench *bench, struct rz_bench_table *table, unsigned members,
                         const struct kind *kind, unsigned repetition, struct rz_bench_tally *tally)
{
    struct rz_bench_job job =
        rz_bench_silent_job(bench, members, 1, PERIOD, kind->detector, repetition);
    struct rz_bench_dates dates;
    char row[RZ_BENCH_NAME_MAX];
    snprintf(row, sizeof row, "%u", members);
    rz_bench_cell(table, row, kind->first);
    rz_bench_cell(table, row, kind->last);
    job.fault = kind->fault;
    if (rz_bench_job_run(bench, &job, &dates, tally) != RZ_BENCH_TOLD_ALL)
        return;
    rz_bench_put_ms(table, row, kind->first, repetition, dates.injected, dates.news_first);
    rz_bench_put_ms(table, row, kind->last, repetition, dates.injected, dates.news_last);
}

static void show(struct rz_bench *bench, const struct rz_bench_table *table, bool peer)
{
    struct rz_bench_command command = {0};
    char text[256];
    rz_bench_say(bench,
                 "\n## Beside memberlist\n\nP = 200 ms. Ring: T = 2 P. Swim and memberlist probe "
                 "every P. memberlist: HashiCorp's library in Go, DefaultLANConfig with all "
                 "intervals scaled by P / 1 s, members being processes on loopback; a killed "
                 "member is silence to it, a failed connection is no evidence there. Ours: a "
                 "daemon per node with one process, cut off (silent) or killed. First and last: "
                 "when the first and the last of the living are told.%s\n\n",
                 peer ? ""
                 : bench->no_peers
                     ? " memberlist was left out."
                     : " memberlist or Go is not installed (tools/setup --peers does it).");
    if (peer) {
        peer_command(bench, 16, 0, &command);
        rz_bench_command_show(bench, &command, text, sizeof text);
        rz_bench_say(bench, "    %s\n", text);
    }
    rz_bench_table_show(bench, table);
}

bool rz_bench_runtime_members(struct rz_bench *bench)
{
    static struct rz_bench_table table = {.name = "members",
                                          .title = "One member of n fails: ms until the others "
                                                   "are told; P = 200 ms (figures 9, 10)",
                                          .rows_are = "members",
                                          .unit = "ms",
                                          .plot = true,
                                          .log_scale = true,
                                          .axis = RZ_BENCH_AXIS_LOG2};
    static const unsigned sizes[] = {4, 8, 16, 32, 64};
    struct rz_bench_tally ours = {0}, theirs = {0};
    unsigned n = rz_bench_repetitions(bench, REPETITIONS, REPETITIONS_QUICK);
    bool peer = make_peer(bench);
    for (unsigned i = 0; i < n; i++)
        for (size_t s = 0; s < (bench->quick ? 1 : sizeof sizes / sizeof *sizes); s++) {
            for (unsigned k = 0; k < KINDS; k++)
                if (rz_bench_may_go_on(bench))
                    measure_ours(bench, &table, sizes[s], &kinds[k], i, &ours);
            if (peer && rz_bench_may_go_on(bench))
                measure_peer(bench, &table, sizes[s], i, &theirs);
        }
    show(bench, &table, peer);
    rz_bench_tally_show(bench, &ours);
    if (peer)
        rz_bench_say(bench,
                     "Of memberlist %u of %u runs complete; in %u a living member was declared "
                     "failed, and they are left out.\n",
                     theirs.runs - theirs.incomplete - theirs.falsely, theirs.runs, theirs.falsely);
    return true;
}
