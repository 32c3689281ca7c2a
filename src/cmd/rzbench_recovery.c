/* The study recovery: its parts, and its verdict. */
#include "cmd/rzbench_recovery.h"

#include "cli/quantity.h"
#include "port/clock.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* With --quick all is over within 45 s, as it is promised; what is under way then needs some. */
#define QUICK_BUDGET (36 * RZ_SECOND)

enum { PER_NODE = 16, NODES_LEAST = 2 };

const char *const rz_bench_way_names[RZ_BENCH_WAY_COUNT] = {
    [RZ_BENCH_WAY_REINIT] = "Reinit",          [RZ_BENCH_WAY_REPLACE] = "ULFM, replace",
    [RZ_BENCH_WAY_SPAWN] = "ULFM, spawn",      [RZ_BENCH_WAY_RESTART] = "restart",
    [RZ_BENCH_WAY_OPENMPI] = "Open MPI again", [RZ_BENCH_WAY_MPICH] = "MPICH again",
    [RZ_BENCH_WAY_ULFM] = "Open MPI 5, ULFM"};

const char *const rz_bench_failure_names[] = {
    [RZ_BENCH_PROCESS] = "process", [RZ_BENCH_NODE] = "node"};

const char *const rz_bench_recovery_parts[] = {"process", "node", "apps", "all", NULL};

unsigned rz_bench_recovery_nodes(const struct rz_bench_recovery *study, unsigned ranks)
{
    const char *chosen = study->bench->nodes;
    unsigned nodes =
        chosen ? (unsigned)strtoul(chosen, NULL, 10) : (ranks + PER_NODE - 1) / PER_NODE;
    nodes = nodes < NODES_LEAST ? NODES_LEAST : nodes;
    return nodes < ranks ? nodes : ranks;
}

void rz_bench_recovery_report(const struct rz_bench_recovery *study, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/recovery.report", study->bench->folder);
}

double rz_bench_recovery_told(const struct rz_bench_recovery *study, const char *name)
{
    static char text[4 << 20];
    char path[PATH_MAX + 32];
    rz_bench_recovery_report(study, path, sizeof path);
    FILE *file = fopen(path, "r");
    if (!file)
        return NAN;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return rz_bench_report_value(text, name);
}

static void find_ranks(struct rz_bench_recovery *study)
{
    const char *text = study->bench->ranks   ? study->bench->ranks
                       : study->bench->quick ? "8,64"
                                             : "4,8,16,32,64,128,256";
    for (char *end; *text && study->n_ranks < RZ_BENCH_RECOVERY_RANKS_MAX; text = end) {
        unsigned ranks = (unsigned)strtoul(text, &end, 10);
        if (ranks >= 4) /* the victim is neither the first nor the last one */
            study->ranks[study->n_ranks++] = ranks;
        end += *end == ',';
    }
}

static bool make_part(void *study, unsigned part)
{
    switch (part) {
    case 0:
        return rz_bench_recovery_times(study, RZ_BENCH_PROCESS);
    case 1:
        return rz_bench_recovery_times(study, RZ_BENCH_NODE);
    default:
        return rz_bench_recovery_apps(study);
    }
}

static bool prepare(struct rz_bench_recovery *study)
{
    struct rz_bench *bench = study->bench;
    if (bench->quick && !bench->budget)
        bench->deadline = rz_clock_now() + QUICK_BUDGET;
    find_ranks(study);
    if (study->n_ranks == 0) {
        fprintf(stderr, "rzbench: the study recovery needs 4 ranks at least (--ranks)\n");
        return false;
    }
    if (!rz_bench_compile(bench, "bench_recovery", true))
        return false;
    study->peer = rz_bench_peer_open(bench) && rz_bench_peer_compile(bench, "bench_recovery");
    return true;
}

bool rz_bench_recovery(struct rz_bench *bench)
{
    static const double shares[] = {0.3, 0.25, 1.0}, shares_quick[] = {0.6, 0.5, 1.0};
    static struct rz_bench_recovery study;
    study = (struct rz_bench_recovery){.bench = bench};
    if (!prepare(&study))
        return false;
    rz_bench_say(bench,
                 "\n## Global restart\n\nMore ranks than processors share them. Values are medians "
                 "(95 %% interval of the mean by Student's t). Open MPI 5 with ULFM: %s.\n",
                 study.peer        ? bench->peer_version
                 : bench->no_peers ? "left out"
                                   : "not here (--peer-root; tools/setup --peers makes it "
                                     "available), left out");
    bool good = rz_bench_parts_make(bench, rz_bench_recovery_parts,
                                    bench->quick ? shares_quick : shares, make_part, &study);
    rz_bench_claim_all(&study.claims, "runs of ours complete: whole again, and a good end",
                       study.runs - study.failed, study.runs);
    rz_bench_claims_show(bench, &study.claims);
    if (study.peer_runs > 0)
        rz_bench_say(bench, "\nOf the peers %u of %u runs complete.\n",
                     study.peer_runs - study.peer_failed, study.peer_runs);
    good = rz_bench_claims_verdict(&study.claims, bench->verdict, sizeof bench->verdict) && good;
    return good;
}
