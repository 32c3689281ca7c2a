/* What the files of the study group share. */
#ifndef RZ_CMD_RZBENCH_GROUP_H
#define RZ_CMD_RZBENCH_GROUP_H

#include "cmd/rzbench_study.h"

enum { RZ_BENCH_GROUP_RANKS = 16, RZ_BENCH_GROUP_USUAL = 10, RZ_BENCH_GROUP_QUICK = 2 };

/* Parts of rzbench_group_sort.c; false: the study cannot go on. */
bool rz_bench_group_sort(struct rz_bench_study *study);
bool rz_bench_group_slices(struct rz_bench_study *study);
bool rz_bench_group_scale(struct rz_bench_study *study);
bool rz_bench_group_large(struct rz_bench_study *study);

#endif
