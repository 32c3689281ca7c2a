/* The study checkpoint: its parts, and its verdict. */
#include "cmd/rzbench_checkpoint.h"

#include "port/clock.h"

#include <string.h>

#define QUICK_BUDGET (40 * RZ_SECOND)

const char *const rz_bench_checkpoint_parts[] = {"copy", "pages", "erasure", "files",
                                                 "apps", "all",   NULL};

bool rz_bench_checkpoint_run(struct rz_bench_checkpoint *study,
                             const struct rz_bench_command *command, struct rz_bench_run *run)
{
    char text[2048];
    rz_bench_run(study->bench, command, 0, run);
    bool good = run->end == RZ_BENCH_ENDED && run->status == 0;
    if (run->end == RZ_BENCH_OUT_OF_TIME)
        return false;
    study->runs++;
    study->failed += !good;
    if (!good) {
        rz_bench_command_show(study->bench, command, text, sizeof text);
        fprintf(stderr, "rzbench: incomplete (status %d): %s\n%.1500s\n", run->status, text,
                run->output);
    }
    return good;
}

static bool make_parts(struct rz_bench_checkpoint *study)
{
    static bool (*const parts[])(struct rz_bench_checkpoint *) = {
        rz_bench_checkpoint_copy, rz_bench_checkpoint_pages, rz_bench_checkpoint_erasure,
        rz_bench_checkpoint_files, rz_bench_checkpoint_apps};
    const unsigned n = sizeof parts / sizeof *parts;
    struct rz_bench *bench = study->bench;
    bool all = strcmp(bench->part, "all") == 0, good = true;
    rz_time end = bench->deadline;
    for (unsigned i = 0; good && i < n; i++) {
        if ((!all && strcmp(bench->part, rz_bench_checkpoint_parts[i]) != 0) ||
            rz_bench_interrupted)
            continue;
        rz_bench_share_time(bench, end, all ? n - i : 1);
        good = parts[i](study);
        rz_bench_part_over(bench);
    }
    bench->deadline = end;
    return good;
}

bool rz_bench_checkpoint(struct rz_bench *bench)
{
    static struct rz_bench_checkpoint study;
    study = (struct rz_bench_checkpoint){.bench = bench};
    if (bench->quick && !bench->budget)
        bench->deadline = rz_clock_now() + QUICK_BUDGET;
    if (!rz_bench_compile(bench, "bench_checkpoint", false))
        return false;
    rz_bench_say(bench, "\n## Checkpoints\n\nEach value beside what it is compared with took turns "
                        "with it. Ratios are the first column over the other.\n");
    bool good = make_parts(&study);
    rz_bench_claim_all(&study.claims, "runs complete: a good end, and all that was to be printed",
                       study.runs - study.failed, study.runs);
    rz_bench_claims_show(bench, &study.claims);
    good = rz_bench_claims_verdict(&study.claims, bench->verdict, sizeof bench->verdict) && good;
    return good;
}
