/* The study runtime: its parts, one after the other. */
#include "cmd/rzbench_runtime.h"

#include "port/clock.h"

#include <string.h>

static const struct {
    bool (*make)(struct rz_bench *);
    double share_of_rest; /* of the budget */
} parts[] = {{rz_bench_runtime_noise, 0.15}, {rz_bench_runtime_accuracy, 0.15},
             {rz_bench_runtime_detect, 0.4}, {rz_bench_runtime_many, 0.25},
             {rz_bench_runtime_spread, 0.4}, {rz_bench_runtime_footprint, 0.5},
             {rz_bench_runtime_members, 1.0}};

const char *const rz_bench_runtime_parts[] = {"noise",     "accuracy", "detect", "many", "spread",
                                              "footprint", "members",  "all",    NULL};

bool rz_bench_runtime(struct rz_bench *bench)
{
    bool all = strcmp(bench->part, "all") == 0, good = rz_bench_compile(bench, "bench_rest", false);
    rz_time end = bench->deadline;
    for (size_t i = 0; good && i < sizeof parts / sizeof *parts; i++) {
        if (!all && strcmp(bench->part, rz_bench_runtime_parts[i]) != 0)
            continue;
        if (all)
            rz_bench_part_begins(bench, end, parts[i].share_of_rest);
        good = parts[i].make(bench);
        rz_bench_part_over(bench);
        rz_bench_may_go_on(bench); /* an interruption ends the other parts, too */
        if (rz_bench_interrupted)
            break;
        bench->budget_used_up = false;
    }
    bench->deadline = end;
    return good;
}
