/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each rank writes lines all the time, before and after snapshots, to standard output and error,
 * with and without stdio; the first one before MPI_Init, the last one without its newline.
 *
 *   rewind_output STEPS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    char line[80];
    static const char begins[] = "begins\n";
    if (write(1, begins, strlen(begins)) < 0) {
        return 1;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    for (int step = 0; step < steps; step++) {
        printf("rank %d out %d\n", rank, step);
        MPI_Barrier(MPI_COMM_WORLD);
        fprintf(stderr, "rank %d error %d\n", rank, step);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        int n = snprintf(line, sizeof(line), "rank %d written %d\n", rank, step);
        fflush(stdout);
        if (write(1, line, (size_t)n) != n) {
            return 1;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("rank %d end", rank);
    MPI_Finalize();
    return 0;
}
