/*
 * Shares of processors for the processes of a job, by groups of the kernel (cgroup), as if a small
 * machine had a processor for each of them. Needs root, and the controller `cpu` of version 1 or 2.
 */
#ifndef RZ_CMD_RZBENCH_SLICE_H
#define RZ_CMD_RZBENCH_SLICE_H

#include "cmd/rzbench.h"

#include <stdbool.h>

struct rz_bench_slices {
    char folder[64];
};

/* False: this system does not give shares. Removes what an rzbench that was killed has left. */
bool rz_bench_slices_open(struct rz_bench_slices *slices);

/* What stands before the words of a program so that each of its processes gets so much of one
 * processor. */
void rz_bench_slices_add(const struct rz_bench *bench, const struct rz_bench_slices *slices,
                         unsigned percent, struct rz_bench_command *command);

/* Removes the groups of a job that has ended. */
void rz_bench_slices_sweep(const struct rz_bench_slices *slices);

/* And the folder. */
void rz_bench_slices_close(struct rz_bench_slices *slices);

#endif
