/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each rank writes lines that are others each time they are written, of other lengths, too. At the
 * end it says, from its memory, which ones it has written: what a rewind took back is not among
 * them.
 *
 *   rewind_differ STEPS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, steps = argc > 1 ? atoi(argv[1]) : 100;
    int *process = calloc(2 * (size_t)steps, sizeof(*process)), *later = process + steps;
    if (!process) {
        return 1;
    }
    printf("begins in %d\n", getpid());
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < steps; step++) {
        process[step] = getpid();
        printf("rank %d step %d in %d%.*s\n", rank, step, process[step], process[step] % 7,
               "......");
        MPI_Barrier(MPI_COMM_WORLD);
        later[step] = getpid(); /* perhaps another one: there may have been a snapshot */
        fprintf(stderr, "rank %d error %d in %d\n", rank, step, later[step]);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    for (int step = 0; step < steps; step++) {
        printf("rank %d wrote %d in %d and %d\n", rank, step, process[step], later[step]);
    }
    MPI_Finalize();
    free(process);
    return 0;
}
