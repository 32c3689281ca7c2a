/* The study runtime: its parts, one after the other. */
#include "cmd/rzbench_runtime.h"

const char *const rz_bench_runtime_parts[] = {"noise",     "accuracy", "detect", "many", "spread",
                                              "footprint", "members",  "all",    NULL};

static bool make_part(void *bench, unsigned part)
{
    static bool (*const parts[])(struct rz_bench *) = {
        rz_bench_runtime_noise,  rz_bench_runtime_accuracy, rz_bench_runtime_detect,
        rz_bench_runtime_many,   rz_bench_runtime_spread,   rz_bench_runtime_footprint,
        rz_bench_runtime_members};
    return parts[part](bench);
}

bool rz_bench_runtime(struct rz_bench *bench)
{
    static const double shares[] = {0.15, 0.15, 0.4, 0.25, 0.4, 0.5, 1.0};
    return rz_bench_compile(bench, "bench_rest", false) &&
           rz_bench_parts_make(bench, rz_bench_runtime_parts, shares, make_part, bench);
}
