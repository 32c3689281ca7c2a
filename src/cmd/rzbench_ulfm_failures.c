/* What failures cost: shrink over their number, detection, replacement, and a whole program. */
#include "cmd/rzbench_ulfm.h"

#include <stdio.h>
#include <string.h>

enum {
    REPETITIONS = 7,
    REPETITIONS_QUICK = 1,
    RANKS = RZ_BENCH_ULFM_RANKS_USUAL,
    NODES = 8,
    RANKS_QUICK = 8,
    NODES_QUICK = 4
};

static unsigned usual_ranks(const struct rz_bench_ulfm *ulfm)
{
    return rz_bench_ulfm_greatest(&ulfm->ranks, ulfm->bench->quick ? RANKS_QUICK : RANKS);
}

static unsigned usual_nodes(const struct rz_bench_ulfm *ulfm, unsigned ranks)
{
    unsigned nodes = ulfm->bench->nodes   ? rz_bench_ulfm_greatest(&ulfm->nodes, ranks)
                     : ulfm->bench->quick ? NODES_QUICK
                                          : NODES;
    return nodes <= ranks ? nodes : 1;
}

static unsigned repetitions(const struct rz_bench_ulfm *ulfm)
{
    return rz_bench_repetitions(ulfm->bench, REPETITIONS, REPETITIONS_QUICK);
}

/* One printed value into one column, in milliseconds or microseconds as printed. */
struct column {
    const char *what, *name[2]; /* of ours, of the peer's; NULL: not taken */
};

/* It has no emulated nodes, and does best on one. */
static void as_peer(struct rz_bench_ulfm_job *job, bool peer)
{
    job->peer = peer;
    job->nodes = peer ? 1 : job->nodes;
}

static void measure_side(struct rz_bench_ulfm *ulfm, struct rz_bench_table *table, const char *row,
                         struct rz_bench_ulfm_job job, bool peer, const struct column *columns,
                         size_t n, unsigned repetition)
{
    struct rz_bench_run run;
    as_peer(&job, peer);
    if (!rz_bench_may_go_on(ulfm->bench))
        return;
    if (rz_bench_ulfm_run(ulfm, &job, &run))
        for (size_t c = 0; c < n; c++)
            if (columns[c].name[peer])
                rz_bench_ulfm_take(table, row, columns[c].name[peer], repetition, &run,
                                   columns[c].what, job.ranks, 1);
    rz_bench_run_free(&run);
}

/* Ours, then the peer's. */
static void measure(struct rz_bench_ulfm *ulfm, struct rz_bench_table *table, const char *row,
                    const struct rz_bench_ulfm_job *job, const struct column *columns, size_t n,
                    unsigned repetition)
{
    for (int peer = 0; peer < 1 + ulfm->peer; peer++)
        measure_side(ulfm, table, row, *job, peer, columns, n, repetition);
}

static void show_commands(struct rz_bench_ulfm *ulfm, struct rz_bench_ulfm_job job)
{
    for (int peer = 0; peer < 2; peer++) {
        as_peer(&job, peer);
        rz_bench_ulfm_show(ulfm, &job);
    }
}

/* ---- shrink over the number of failures ---- */

bool rz_bench_ulfm_failures(struct rz_bench_ulfm *ulfm)
{
    static struct rz_bench_table table = {.name = "shrink-failures",
                                          .rows_are = "failures",
                                          .unit = "us",
                                          .plot = true,
                                          .log_scale = true,
                                          .axis = RZ_BENCH_AXIS_LOG2};
    static const struct column columns[] = {{"first", {"shrink", "Open MPI shrink"}},
                                            {"shrink", {"again", "Open MPI again"}}};
    unsigned ranks = usual_ranks(ulfm), n = repetitions(ulfm);
    char title[128], row[16];
    snprintf(title, sizeof title, "Shrink after failures at once, us; %u ranks on one node", ranks);
    table.title = title;
    struct rz_bench_ulfm_job job = {
        .ranks = ranks, .nodes = 1, .program = "bench_ulfm", .arguments = {"shrink", row}};
    for (unsigned i = 0; i < n; i++)
        for (unsigned failures = 1;
             failures <= ranks / 2 && failures <= (ulfm->bench->quick ? 2 : 32); failures *= 2) {
            snprintf(row, sizeof row, "%u", failures);
            measure(ulfm, &table, row, &job, columns, 2, i);
        }
    rz_bench_say(ulfm->bench,
                 "\n### Shrink over the number of failures\n\nAll survivors know of all "
                 "failures and stand at the call. Shrink: the first one, which removes "
                 "them; again: further ones of the same communicator.\n\n");
    show_commands(ulfm, job);
    rz_bench_table_show(ulfm->bench, &table);
    return true;
}

/* ---- From SIGKILL to the last error ---- */

enum { CALLS = 2, SIZES = 2 };
static const char *const calls[CALLS] = {"receive", "barrier"}, *const sizes[SIZES] = {"32", "512"};

static const char *detect_row(int call, int size, char row[RZ_BENCH_NAME_MAX])
{
    snprintf(row, RZ_BENCH_NAME_MAX, "%s, %s MiB", calls[call], sizes[size]);
    return row;
}

static void assess_detect(struct rz_bench_ulfm *ulfm, const struct rz_bench_table *table,
                          unsigned ranks, unsigned nodes)
{
    static const double most_ms[SIZES] = {2, 3};
    char row[RZ_BENCH_NAME_MAX], what[RZ_BENCH_GOAL_TEXT_MAX];
    for (int call = 0; call < CALLS; call++)
        for (int size = 0; size < SIZES; size++) {
            detect_row(call, size, row);
            snprintf(what, sizeof what, "SIGKILL to the last error, %s, %u ranks on %u nodes", row,
                     ranks, nodes);
            rz_bench_ulfm_goal(ulfm, what, " ms", most_ms[size], table, row, "last error");
            snprintf(what, sizeof what, "the same, yielding (rzrun --wait yield)");
            rz_bench_ulfm_goal(ulfm, what, " ms", most_ms[size], table, row, "last, yielding");
        }
}

bool rz_bench_ulfm_detect(struct rz_bench_ulfm *ulfm)
{
    static struct rz_bench_table table = {.name = "detect",
                                          .rows_are = "pending call, and what the victim holds",
                                          .unit = "ms",
                                          .plot = true,
                                          .log_scale = true};
    static const struct column columns[] = {{"first", {"first error", "Open MPI first"}},
                                            {"last", {"last error", "Open MPI last"}}};
    static const struct column yielding[] = {{"first", {"first, yielding", NULL}},
                                             {"last", {"last, yielding", NULL}}};
    unsigned ranks = usual_ranks(ulfm), nodes = usual_nodes(ulfm, ranks), n = repetitions(ulfm);
    char title[128], row[RZ_BENCH_NAME_MAX];
    snprintf(title, sizeof title, "From SIGKILL to an error, ms; %u ranks on %u nodes", ranks,
             nodes);
    table.title = title;
    struct rz_bench_ulfm_job job = {.ranks = ranks,
                                    .nodes = nodes,
                                    .program = "bench_ulfm_failure",
                                    .arguments = {"receive", "32"}};
    rz_bench_say(ulfm->bench, "\n### One failure\n\nThe victim kills itself when all others wait "
                              "in their call: asleep; or "
                              "yielding, as those of the peer. Of "
                              "the peer all ranks are on one node, with shared memory.\n\n");
    show_commands(ulfm, job);
    for (unsigned i = 0; i < n; i++)
        for (int k = 0; k < CALLS * SIZES; k++) {
            job.arguments[0] = calls[k % CALLS];
            job.arguments[1] = sizes[k / CALLS];
            detect_row(k % CALLS, k / CALLS, row);
            job.option[0] = NULL;
            measure(ulfm, &table, row, &job, columns, 2, i);
            job.option[0] = "--wait", job.option[1] = "yield";
            measure_side(ulfm, &table, row, job, false, yielding, 2, i);
        }
    rz_bench_table_show(ulfm->bench, &table);
    assess_detect(ulfm, &table, ranks, nodes);
    return true;
}

/* ---- Replacement ---- */

/* Ranks from the list that make sense here. */
static bool takes_part(const struct rz_bench_ulfm *ulfm, unsigned ranks, unsigned least)
{
    return ranks >= least && ranks <= (ulfm->bench->quick ? RANKS_QUICK : 2 * RANKS);
}

static void over_ranks(struct rz_bench_ulfm *ulfm, struct rz_bench_table *table,
                       struct rz_bench_ulfm_job *job, const struct column *columns,
                       size_t n_columns, unsigned least)
{
    unsigned n = repetitions(ulfm);
    char row[RZ_BENCH_NAME_MAX];
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < ulfm->ranks.n; k++)
            if (takes_part(ulfm, ulfm->ranks.value[k], least)) {
                job->ranks = ulfm->ranks.value[k];
                job->nodes = usual_nodes(ulfm, job->ranks);
                snprintf(row, sizeof row, "%u", job->ranks);
                measure(ulfm, table, row, job, columns, n_columns, i);
            }
}

static void assess_replace(struct rz_bench_ulfm *ulfm, const struct rz_bench_table *table)
{
    char row[RZ_BENCH_NAME_MAX], what[RZ_BENCH_GOAL_TEXT_MAX];
    unsigned ranks = usual_ranks(ulfm);
    snprintf(row, sizeof row, "%u", ranks);
    snprintf(what, sizeof what,
             "SIGKILL until all are past the first barrier of the repaired communicator, %u ranks "
             "on %u nodes",
             ranks, usual_nodes(ulfm, ranks));
    rz_bench_ulfm_goal(ulfm, what, " ms", 50, table, row, "all past its first barrier");
}

bool rz_bench_ulfm_replace(struct rz_bench_ulfm *ulfm)
{
    static struct rz_bench_table table = {.name = "replace",
                                          .title = "One rank replaced, ms from the kill",
                                          .rows_are = "ranks",
                                          .unit = "ms",
                                          .plot = true,
                                          .log_scale = true,
                                          .axis = RZ_BENCH_AXIS_LOG2};
    static const struct column columns[] = {
        {"repaired", {"all have the communicator", "Open MPI: have it"}},
        {"replaced", {"all past its first barrier", "Open MPI: past it"}}};
    struct rz_bench_ulfm_job job = {
        .program = "bench_ulfm_failure", .arguments = {"replace", "32"}, .replaces = true};
    over_ranks(ulfm, &table, &job, columns, 2, 4);
    rz_bench_say(
        ulfm->bench,
        "\n### One rank replaced\n\nFrom the kill to the first barrier of all ranks, the new "
        "one included: by RZ_Comm_replace; of the peer by revoke, shrink, spawn, merge and "
        "split, all ranks on one node.\n\n");
    show_commands(ulfm, job);
    if (table.n_rows == 0)
        rz_bench_say(ulfm->bench, "\nThis library has no RZ_Comm_replace, and no peer is here.\n");
    rz_bench_table_show(ulfm->bench, &table);
    assess_replace(ulfm, &table);
    return true;
}

/* ---- A whole program ---- */

bool rz_bench_ulfm_program(struct rz_bench_ulfm *ulfm)
{
    static struct rz_bench_table table = {.name = "program",
                                          .title = "A finite-element program repairs its "
                                                   "communicators, ms",
                                          .rows_are = "ranks",
                                          .unit = "ms",
                                          .plot = true,
                                          .log_scale = true,
                                          .axis = RZ_BENCH_AXIS_LOG2};
    static const struct column columns[] = {{"noticed", {"noticed", "Open MPI noticed"}},
                                            {"shrunk", {"shrunk", "Open MPI shrunk"}},
                                            {"repaired", {"repaired", "Open MPI repaired"}},
                                            {"resumed", {"iterating again", "Open MPI iterating"}}};
    struct rz_bench_ulfm_job job = {.program = "bench_fe"};
    over_ranks(ulfm, &table, &job, columns, 4, 4);
    rz_bench_say(
        ulfm->bench,
        "\n### A program like MiniFE\n\nConjugate gradients on finite elements with one spare "
        "rank; a process fails in an iteration. Noticed: from the kill until the last survivor "
        "has its error. Shrunk, repaired: from there until the last has the communicator of "
        "the survivors, and that of all places with the spare in the empty one (revoke, shrink, "
        "allgather, split). Iterating again: from the kill until the last is.\n\n");
    show_commands(ulfm, job);
    rz_bench_table_show(ulfm->bench, &table);
    return true;
}
