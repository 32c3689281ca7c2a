/* The calls of ULFM over the number of ranks: agree, shrink, revoke; and what a revoke leaves. */
#include "cmd/rzbench_ulfm.h"

#include "port/clock.h"

#include <math.h>
#include <string.h>

/* Rows beyond the usual ranks, and the peer's between nodes, are dear: so many are enough. */
enum { REPETITIONS = 5, REPETITIONS_QUICK = 1, REPETITIONS_DEAR = 2 };

/* Of the numbers of nodes. */
enum which { ALL_NODES, FIRST_NODES, LAST_NODES };

/* A table over ranks, one for each number of nodes. */
struct sweep {
    const char *stem, *title; /* of the table; the title has %s for the nodes */
    const char *text;         /* stands above the commands */
    const char *unit;
    bool ratios, log_scale;
    void (*measure)(struct rz_bench_ulfm *ulfm, struct rz_bench_table *table, unsigned ranks,
                    unsigned nodes, unsigned repetition);
    void (*show)(struct rz_bench_ulfm *ulfm, unsigned ranks, unsigned nodes); /* the commands */
    /* What the table was asked to show; NULL: nothing. */
    void (*assess)(struct rz_bench_ulfm *ulfm, const struct rz_bench_table *table, unsigned ranks,
                   unsigned nodes);
    enum which which;
};

/* How many take part: 1, or 2 with the peer, which comes second. */
static int sides(const struct rz_bench_ulfm *ulfm, unsigned nodes, unsigned repetition)
{
    return 1 + (ulfm->peer && (nodes == 1 || repetition < REPETITIONS_DEAR));
}

static void sweep_nodes(struct rz_bench_ulfm *ulfm, const struct sweep *sweep, unsigned nodes)
{
    static struct rz_bench_table table;
    char name[RZ_BENCH_NAME_MAX], title[256], where[32];
    unsigned n = rz_bench_repetitions(ulfm->bench, REPETITIONS, REPETITIONS_QUICK), last = 0;
    snprintf(where, sizeof where, nodes == 1 ? "one node" : "%u nodes", nodes);
    snprintf(title, sizeof title, "%s; %s", sweep->title, where);
    table = (struct rz_bench_table){.name = rz_bench_ulfm_name(sweep->stem, nodes, name),
                                    .title = title,
                                    .rows_are = "ranks",
                                    .unit = sweep->unit,
                                    .ratios = sweep->ratios,
                                    .plot = true,
                                    .log_scale = sweep->log_scale,
                                    .axis = RZ_BENCH_AXIS_LOG2};
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < ulfm->ranks.n; k++)
            if (rz_bench_ulfm_fits(ulfm->ranks.value[k], nodes) &&
                (i < REPETITIONS_DEAR || ulfm->ranks.value[k] <= RZ_BENCH_ULFM_RANKS_USUAL) &&
                rz_bench_may_go_on(ulfm->bench)) {
                last = ulfm->ranks.value[k];
                sweep->measure(ulfm, &table, last, nodes, i);
            }
    if (last == 0)
        return;
    rz_bench_say(ulfm->bench, "\n");
    sweep->show(ulfm, last, nodes);
    rz_bench_table_show(ulfm->bench, &table);
    if (sweep->assess)
        sweep->assess(ulfm, &table, rz_bench_ulfm_greatest(&ulfm->ranks, RZ_BENCH_ULFM_RANKS_USUAL),
                      nodes);
}

/* Each table gets its share of the time that is left. */
static bool sweep(struct rz_bench_ulfm *ulfm, const struct sweep *sweep)
{
    struct rz_bench *bench = ulfm->bench;
    rz_time end = bench->deadline;
    bool used_up = false;
    rz_bench_say(bench, "\n%s\n", sweep->text);
    unsigned first = sweep->which == LAST_NODES ? ulfm->nodes.n - 1 : 0;
    unsigned last = sweep->which == FIRST_NODES ? 1 : ulfm->nodes.n;
    for (unsigned i = first; i < last; i++) {
        rz_time now = rz_clock_now();
        if (end)
            bench->deadline = now + (end > now ? (end - now) / (last - i) : 0);
        sweep_nodes(ulfm, sweep, ulfm->nodes.value[i]);
        used_up = used_up || bench->budget_used_up;
        bench->budget_used_up = false;
    }
    bench->deadline = end;
    bench->budget_used_up = used_up;
    return true;
}

/* "so and so, 64 ranks on 8 nodes" */
static const char *goal_text(const char *what, unsigned ranks, unsigned nodes,
                             char out[RZ_BENCH_GOAL_TEXT_MAX])
{
    snprintf(out, RZ_BENCH_GOAL_TEXT_MAX,
             nodes == 1 ? "%s, %u ranks on one node" : "%s, %u ranks on %u nodes", what, ranks,
             nodes);
    return out;
}

static const char *row_of(unsigned ranks, char row[RZ_BENCH_NAME_MAX])
{
    snprintf(row, RZ_BENCH_NAME_MAX, "%u", ranks);
    return row;
}

static struct rz_bench_ulfm_job call_job(bool peer, unsigned ranks, unsigned nodes,
                                         const char *what, const char *number)
{
    return (struct rz_bench_ulfm_job){.peer = peer,
                                      .ranks = ranks,
                                      .nodes = nodes,
                                      .program = "bench_ulfm",
                                      .arguments = {what, number}};
}

static void show_call(struct rz_bench_ulfm *ulfm, unsigned ranks, unsigned nodes, const char *what,
                      const char *number)
{
    for (int peer = 0; peer < 2; peer++) {
        struct rz_bench_ulfm_job job = call_job(peer, ranks, nodes, what, number);
        rz_bench_ulfm_show(ulfm, &job);
    }
}

/* ---- agree ---- */

/* Of the agreements counted: how many jobs had 2 (n - 1) messages each. */
static struct {
    unsigned jobs, exact;
} messages;

/* Many calls in each batch: the first few of a crowd are of ranks that the barrier before let go
 * one after the other, and take twice as long. */
static const char *agree_ms(const struct rz_bench_ulfm *ulfm, unsigned ranks)
{
    if (ulfm->bench->quick)
        return "40";
    return ranks <= 16 ? "200" : ranks <= 32 ? "600" : "2000";
}

static void count_messages(const struct rz_bench_run *run, unsigned ranks)
{
    double counted = rz_bench_ulfm_value(run, "messages", ranks);
    messages.jobs += !isnan(counted);
    messages.exact += counted == 2.0 * (ranks - 1);
}

static void measure_agree(struct rz_bench_ulfm *ulfm, struct rz_bench_table *table, unsigned ranks,
                          unsigned nodes, unsigned repetition)
{
    static const char *const columns[2][2] = {{"agree", "allreduce of an int"},
                                              {"Open MPI agree", "Open MPI allreduce"}};
    char row[RZ_BENCH_NAME_MAX];
    for (int peer = 0; peer < sides(ulfm, nodes, repetition); peer++) {
        struct rz_bench_run run;
        struct rz_bench_ulfm_job job = call_job(peer, ranks, nodes, "agree", agree_ms(ulfm, ranks));
        if (rz_bench_ulfm_run(ulfm, &job, &run)) {
            row_of(ranks, row);
            rz_bench_ulfm_take(table, row, columns[peer][0], repetition, &run, "agree", ranks, 1);
            rz_bench_ulfm_take(table, row, columns[peer][1], repetition, &run, "allreduce", ranks,
                               1);
            count_messages(&run, ranks);
        }
        rz_bench_run_free(&run);
    }
}

static void show_agree(struct rz_bench_ulfm *ulfm, unsigned ranks, unsigned nodes)
{
    show_call(ulfm, ranks, nodes, "agree", agree_ms(ulfm, ranks));
}

/* Of the peer on several nodes (TCP over loopback, and it sees one node) nothing was asked. */
static void assess_agree(struct rz_bench_ulfm *ulfm, const struct rz_bench_table *table,
                         unsigned ranks, unsigned nodes)
{
    char row[RZ_BENCH_NAME_MAX], what[RZ_BENCH_GOAL_TEXT_MAX];
    row_of(ranks, row);
    rz_bench_ulfm_goal_ratio(ulfm, goal_text("agree / Open MPI's agree", ranks, nodes, what),
                             nodes == 1 ? 0.5 : NAN, table, row, "agree", "Open MPI agree");
    rz_bench_ulfm_goal_ratio(ulfm, goal_text("agree / our own allreduce", ranks, nodes, what), NAN,
                             table, row, "agree", "allreduce of an int");
}

bool rz_bench_ulfm_agree(struct rz_bench_ulfm *ulfm)
{
    static const struct sweep agree = {
        .stem = "agree",
        .title = "Agreement without failures, us",
        .text =
            "### Agreement\n\nMPIX_Comm_agree and MPI_Allreduce of one int (MPI_BAND) in turns, "
            "in one job: one call, the slowest rank's time over many calls.",
        .unit = "one call, us",
        .ratios = true,
        .log_scale = true,
        .measure = measure_agree,
        .show = show_agree,
        .assess = assess_agree};
    messages.jobs = messages.exact = 0;
    sweep(ulfm, &agree);
    rz_bench_say(ulfm->bench,
                 "\nMessages of one agreement, as MPI_T counts them (rz_protocol_messages_sent): "
                 "exactly 2 (n "
                 "- 1) in %u of %u jobs.\n",
                 messages.exact, messages.jobs);
    rz_bench_ulfm_goal_count(ulfm, "jobs whose agreements took exactly 2 (n - 1) messages", "all",
                             messages.exact, messages.jobs);
    return true;
}

/* ---- Trees ---- */

static const struct {
    const char *column, *environment;
} trees[] = {{"binary, blind to nodes", "RZ_AGREE_TREE=binary"},
             {"binary over nodes, star within", "RZ_AGREE_TREE=star"},
             {"binary over nodes and within", "RZ_AGREE_TREE=bin"}};
enum { TREES = sizeof trees / sizeof *trees };

static void measure_trees(struct rz_bench_ulfm *ulfm, struct rz_bench_table *table, unsigned ranks,
                          unsigned nodes, unsigned repetition)
{
    char row[RZ_BENCH_NAME_MAX];
    for (int i = 0; i < TREES && rz_bench_may_go_on(ulfm->bench); i++) {
        struct rz_bench_run run;
        struct rz_bench_ulfm_job job =
            call_job(false, ranks, nodes, "agree", agree_ms(ulfm, ranks));
        job.environment = trees[i].environment;
        if (rz_bench_ulfm_run(ulfm, &job, &run))
            rz_bench_ulfm_take(table, row_of(ranks, row), trees[i].column, repetition, &run,
                               "agree", ranks, 1);
        rz_bench_run_free(&run);
    }
}

static void show_trees(struct rz_bench_ulfm *ulfm, unsigned ranks, unsigned nodes)
{
    for (int i = 0; i < TREES; i++) {
        struct rz_bench_ulfm_job job =
            call_job(false, ranks, nodes, "agree", agree_ms(ulfm, ranks));
        job.environment = trees[i].environment;
        rz_bench_ulfm_show(ulfm, &job);
    }
}

bool rz_bench_ulfm_trees(struct rz_bench_ulfm *ulfm)
{
    static const struct sweep topologies = {
        .stem = "trees",
        .title = "Agreement by each tree, us",
        .text = "### Trees\n\nThe same agreement by each tree that ERA can take. rzrun says star "
                "where ranks outnumber processors, for there each step down a tree is a turn of "
                "all; elsewhere it is binary over nodes and within.",
        .unit = "one call, us",
        .log_scale = true,
        .measure = measure_trees,
        .show = show_trees,
        .which = LAST_NODES};
    return sweep(ulfm, &topologies);
}

/* ---- Engines ---- */

static void measure_engine(struct rz_bench_ulfm *ulfm, struct rz_bench_samples *cell,
                           const struct rz_bench_ulfm_job *job, unsigned repetition)
{
    struct rz_bench_run run;
    if (rz_bench_is_over(cell))
        return; /* once is enough */
    if (rz_bench_ulfm_run(ulfm, job, &run))
        rz_bench_put(cell, repetition, rz_bench_ulfm_value(&run, "agree", job->ranks));
    else if (run.end == RZ_BENCH_OVER)
        rz_bench_put_over(cell, repetition, (double)ulfm->bench->limit / 1e9);
    rz_bench_run_free(&run);
}

static void measure_engines(struct rz_bench_ulfm *ulfm, struct rz_bench_table *table,
                            unsigned ranks, unsigned nodes, unsigned repetition)
{
    char row[RZ_BENCH_NAME_MAX];
    for (const char *const *engine = ulfm->engines; *engine; engine++) {
        struct rz_bench_ulfm_job job =
            call_job(false, ranks, nodes, "agree", agree_ms(ulfm, ranks));
        job.option[0] = "--agree";
        job.option[1] = *engine;
        job.slow = true; /* gossip goes in cycles of a period */
        if (rz_bench_may_go_on(ulfm->bench))
            measure_engine(ulfm, rz_bench_cell(table, row_of(ranks, row), *engine), &job,
                           repetition);
    }
}

static void show_engines(struct rz_bench_ulfm *ulfm, unsigned ranks, unsigned nodes)
{
    struct rz_bench_ulfm_job job = call_job(false, ranks, nodes, "agree", agree_ms(ulfm, ranks));
    job.option[0] = "--agree";
    job.option[1] = ulfm->engines[0];
    rz_bench_ulfm_show(ulfm, &job);
}

bool rz_bench_ulfm_engines(struct rz_bench_ulfm *ulfm)
{
    static const struct sweep engines = {
        .stem = "engines",
        .title = "Agreement by each engine, us",
        .text = "### Engines\n\nThe same agreement by each engine that rzrun lets one choose.",
        .unit = "one call, us",
        .log_scale = true,
        .measure = measure_engines,
        .show = show_engines,
        .which = FIRST_NODES};
    if (ulfm->engines[0])
        return sweep(ulfm, &engines);
    rz_bench_say(ulfm->bench, "\nThis rzrun has no choice of engines (--agree): left out.\n");
    return true;
}

/* ---- shrink ---- */

static void measure_shrink(struct rz_bench_ulfm *ulfm, struct rz_bench_table *table, unsigned ranks,
                           unsigned nodes, unsigned repetition)
{
    char row[RZ_BENCH_NAME_MAX];
    for (int peer = 0; peer < sides(ulfm, nodes, repetition); peer++) {
        struct rz_bench_run run;
        struct rz_bench_ulfm_job job = call_job(peer, ranks, nodes, "shrink", "0");
        if (rz_bench_ulfm_run(ulfm, &job, &run)) {
            row_of(ranks, row);
            rz_bench_ulfm_take(table, row, peer ? "Open MPI shrink" : "shrink", repetition, &run,
                               "shrink", ranks, 1);
            if (!peer)
                rz_bench_ulfm_take(table, row, "two agrees", repetition, &run, "agree", ranks, 2);
        }
        rz_bench_run_free(&run);
    }
}

static void show_shrink(struct rz_bench_ulfm *ulfm, unsigned ranks, unsigned nodes)
{
    show_call(ulfm, ranks, nodes, "shrink", "0");
}

static void assess_shrink(struct rz_bench_ulfm *ulfm, const struct rz_bench_table *table,
                          unsigned ranks, unsigned nodes)
{
    char row[RZ_BENCH_NAME_MAX], what[RZ_BENCH_GOAL_TEXT_MAX];
    row_of(ranks, row);
    rz_bench_ulfm_goal_ratio(ulfm, goal_text("shrink / Open MPI's shrink", ranks, nodes, what),
                             nodes == 1 ? 0.25 : NAN, table, row, "shrink", "Open MPI shrink");
    rz_bench_ulfm_goal_ratio(ulfm, goal_text("shrink / two agrees", ranks, nodes, what), 1, table,
                             row, "shrink", "two agrees");
}

bool rz_bench_ulfm_shrink(struct rz_bench_ulfm *ulfm)
{
    static const struct sweep shrink = {
        .stem = "shrink",
        .title = "Shrink without failures, us",
        .text = "### Shrink\n\nSingle calls, each behind a barrier: the slowest rank's time, the "
                "median of 8. Two agrees: twice one agreement measured so in the same job.",
        .unit = "one call, us",
        .ratios = true,
        .log_scale = true,
        .measure = measure_shrink,
        .show = show_shrink,
        .assess = assess_shrink};
    return sweep(ulfm, &shrink);
}

/* ---- revoke ---- */

static const char *rounds_of(const struct rz_bench_ulfm *ulfm)
{
    return ulfm->bench->quick ? "4" : "20";
}

static void measure_one_revoke(struct rz_bench_ulfm *ulfm, struct rz_bench_table *table,
                               const struct rz_bench_ulfm_job *job, const char *column,
                               unsigned repetition)
{
    const char *what = job->arguments[0];
    struct rz_bench_run run;
    char row[RZ_BENCH_NAME_MAX];
    if (rz_bench_ulfm_run(ulfm, job, &run))
        rz_bench_ulfm_take(table, row_of(job->ranks, row), column, repetition, &run, what,
                           job->ranks, 1);
    rz_bench_run_free(&run);
}

/* Whose waiting ranks do not sleep, as the peer's. */
static struct rz_bench_ulfm_job yielding(struct rz_bench_ulfm_job job)
{
    job.option[0] = "--wait";
    job.option[1] = "yield";
    return job;
}

static void measure_revoke(struct rz_bench_ulfm *ulfm, struct rz_bench_table *table, unsigned ranks,
                           unsigned nodes, unsigned repetition)
{
    struct rz_bench_ulfm_job job = call_job(false, ranks, nodes, "revoke", rounds_of(ulfm));
    measure_one_revoke(ulfm, table, &job, "revoke", repetition);
    job.environment = "RZ_REVOKE=flat";
    measure_one_revoke(ulfm, table, &job, "flat among the members", repetition);
    job = call_job(false, ranks, nodes, "floor", rounds_of(ulfm));
    measure_one_revoke(ulfm, table, &job, "woken by the kernel alone", repetition);
    job = yielding(call_job(false, ranks, nodes, "revoke", rounds_of(ulfm)));
    measure_one_revoke(ulfm, table, &job, "revoke, yielding", repetition);
    job = call_job(true, ranks, nodes, "revoke", rounds_of(ulfm));
    if (sides(ulfm, nodes, repetition) > 1)
        measure_one_revoke(ulfm, table, &job, "Open MPI revoke", repetition);
}

static void show_revoke(struct rz_bench_ulfm *ulfm, unsigned ranks, unsigned nodes)
{
    struct rz_bench_ulfm_job job = call_job(false, ranks, nodes, "revoke", rounds_of(ulfm));
    show_call(ulfm, ranks, nodes, "revoke", rounds_of(ulfm));
    job.environment = "RZ_REVOKE=flat";
    rz_bench_ulfm_show(ulfm, &job);
    job = call_job(false, ranks, nodes, "floor", rounds_of(ulfm));
    rz_bench_ulfm_show(ulfm, &job);
    job = yielding(call_job(false, ranks, nodes, "revoke", rounds_of(ulfm)));
    rz_bench_ulfm_show(ulfm, &job);
}

static void assess_revoke(struct rz_bench_ulfm *ulfm, const struct rz_bench_table *table,
                          unsigned ranks, unsigned nodes)
{
    char row[RZ_BENCH_NAME_MAX], what[RZ_BENCH_GOAL_TEXT_MAX];
    row_of(ranks, row);
    rz_bench_ulfm_goal_ratio(ulfm, goal_text("revoke / Open MPI's revoke", ranks, nodes, what),
                             nodes == 1 ? 0.25 : NAN, table, row, "revoke", "Open MPI revoke");
    rz_bench_ulfm_goal_ratio(
        ulfm, goal_text("revoke, yielding / Open MPI's revoke", ranks, nodes, what),
        nodes == 1 ? 0.25 : NAN, table, row, "revoke, yielding", "Open MPI revoke");
    rz_bench_ulfm_goal_ratio(
        ulfm, goal_text("revoke / sleepers woken by the kernel alone", ranks, nodes, what), NAN,
        table, row, "revoke", "woken by the kernel alone");
}

bool rz_bench_ulfm_revoke(struct rz_bench_ulfm *ulfm)
{
    static const struct sweep revoke = {
        .stem = "revoke",
        .title = "Revoke until the last member is interrupted, us",
        .text = "### Revoke\n\nAll others wait in MPI_Recv on the communicator that one revokes: "
                "asleep; or "
                "yielding, as those of the peer (rzrun --wait yield, mpi_yield_when_idle). Beside "
                "it as many processes that the kernel wakes for nothing: no revocation that finds "
                "its members asleep can be faster.",
        .unit = "us",
        .ratios = true,
        .log_scale = true,
        .measure = measure_revoke,
        .show = show_revoke,
        .assess = assess_revoke};
    return sweep(ulfm, &revoke);
}

/* ---- What a revoke leaves ---- */

static void measure_perturbation(struct rz_bench_ulfm *ulfm, struct rz_bench_table *table,
                                 unsigned ranks, unsigned nodes, unsigned repetition)
{
    static const char *const what[] = {"quiet", "first", "second", "third"};
    static const char *const columns[2][4] = {
        {"undisturbed", "first after", "second", "third"},
        {"Open MPI undisturbed", "Open MPI first", "Open MPI second", "Open MPI third"}};
    char row[RZ_BENCH_NAME_MAX];
    for (int peer = 0; peer < sides(ulfm, nodes, repetition); peer++) {
        struct rz_bench_run run;
        struct rz_bench_ulfm_job job = call_job(peer, ranks, nodes, "perturb", rounds_of(ulfm));
        if (rz_bench_ulfm_run(ulfm, &job, &run))
            for (int i = 0; i < 4; i++)
                rz_bench_ulfm_take(table, row_of(ranks, row), columns[peer][i], repetition, &run,
                                   what[i], ranks, 1);
        rz_bench_run_free(&run);
    }
}

static void show_perturbation(struct rz_bench_ulfm *ulfm, unsigned ranks, unsigned nodes)
{
    show_call(ulfm, ranks, nodes, "perturb", rounds_of(ulfm));
}

/* Undisturbed is what chance alone makes of two medians: a tenth. */
static void assess_perturbation(struct rz_bench_ulfm *ulfm, const struct rz_bench_table *table,
                                unsigned ranks, unsigned nodes)
{
    char row[RZ_BENCH_NAME_MAX], what[RZ_BENCH_GOAL_TEXT_MAX];
    row_of(ranks, row);
    rz_bench_ulfm_goal_ratio(
        ulfm, goal_text("third collective after a revoke / an undisturbed one", ranks, nodes, what),
        1.1, table, row, "third", "undisturbed");
}

bool rz_bench_ulfm_perturb(struct rz_bench_ulfm *ulfm)
{
    static const struct sweep perturb = {
        .stem = "perturb",
        .title = "Allreduce of an int on a duplicate after a revoke, us",
        .text = "### What a revoke leaves for others\n\nCollectives on one communicator, until one "
                "rank revokes it instead of the next; then, behind that without a pause, the same "
                "ones on a duplicate: from the last rank that begins to the last that ends.",
        .unit = "us",
        .log_scale = true,
        .measure = measure_perturbation,
        .show = show_perturbation,
        .assess = assess_perturbation,
        .which = FIRST_NODES};
    return sweep(ulfm, &perturb);
}
