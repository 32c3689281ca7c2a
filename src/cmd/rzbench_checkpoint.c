/* The study checkpoint: its parts, and its verdict. */
#include "cmd/rzbench_checkpoint.h"

const char *const rz_bench_checkpoint_parts[] = {"copy", "pages", "erasure", "files",
                                                 "apps", "all",   NULL};

static bool make_part(void *study, unsigned part)
{
    static bool (*const parts[])(struct rz_bench_study *) = {
        rz_bench_checkpoint_copy, rz_bench_checkpoint_pages, rz_bench_checkpoint_erasure,
        rz_bench_checkpoint_files, rz_bench_checkpoint_apps};
    return parts[part](study);
}

bool rz_bench_checkpoint(struct rz_bench *bench)
{
    static struct rz_bench_study study;
    study = (struct rz_bench_study){.bench = bench};
    if (!rz_bench_compile(bench, "bench_checkpoint", false))
        return false;
    rz_bench_say(bench, "\n## Checkpoints\n\nEach value beside what it is compared with took turns "
                        "with it. Ratios are the first column over the other.\n");
    return rz_bench_study_make(&study, rz_bench_checkpoint_parts, make_part, 40 * RZ_SECOND);
}
