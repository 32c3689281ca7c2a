/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with OpenMP that knows nothing of failures; each thread has state of its own.
 *
 *   rewind_omp STEPS
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t calls;
#pragma omp threadprivate(calls)

enum { N = 20000 };
static double at[N];

int main(int argc, char **argv)
{
    int rank, size, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int steps = argc > 1 ? atoi(argv[1]) : 200;
    uint64_t all_calls = 0;
    double total = 0;
    for (int step = 0; step < steps; step++) {
        double mine = 0, sum;
        int64_t whole = 0;
#pragma omp parallel num_threads(2) reduction(+ : whole)
        {
            calls++;
#pragma omp for schedule(static)
            for (int i = 0; i < N; i++) {
                at[i] = at[i] * 0.5 + (double)((i * 7 + step + rank) % 1000);
                whole += (int64_t)(at[i] * 16);
            }
        }
        mine = (double)whole;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
        if (rank == 0 && step % 20 == 0) {
            printf("step %d: %.17g\n", step, total);
        }
    }
#pragma omp parallel num_threads(2) reduction(+ : all_calls)
    all_calls += calls;
    if (rank == 0) {
        printf("%d steps of %d ranks: %.17g, %llu\n", steps, size, total,
               (unsigned long long)all_calls);
    }
    MPI_Finalize();
    return 0;
}
