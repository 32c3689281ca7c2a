/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier and allreduce of 8 bytes over all ranks, for any MPI:
 *
 *   bench_group [--ms MILLISECONDS]
 *
 * prints `barrier RANKS US` and `allreduce RANKS US`: the time of one call in microseconds, that of
 * the slowest rank, the mean over the calls that fill the time.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS_MAX = 1 << 20 };

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void)
{
    double mine = 1.0, all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* All ranks see the same slowest time, so all stop at the same number of calls. */
static double mean_us(void (*call)(void), double target_s)
{
    for (int n = 1;; n *= 2) {
        double spent, slowest;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int i = 0; i < n; i++) {
            call();
        }
        spent = MPI_Wtime() - start;
        MPI_Allreduce(&spent, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (slowest >= target_s / 2 || n >= CALLS_MAX) {
            return slowest / n * 1e6;
        }
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    double target_s = argc > 2 && strcmp(argv[1], "--ms") == 0 ? atof(argv[2]) / 1e3 : 0.2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double barrier_us = mean_us(barrier, target_s), allreduce_us = mean_us(allreduce, target_s);
    if (rank == 0) {
        printf("barrier %d %.3f\nallreduce %d %.3f\n", size, barrier_us, size, allreduce_us);
    }
    MPI_Finalize();
    return 0;
}
