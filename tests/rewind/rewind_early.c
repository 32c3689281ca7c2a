/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks but the last one are in MPI_Finalize while that one goes on: images are saved there,
 * and continue there.
 *
 *   rewind_early STEPS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank, size, there;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    for (int step = 0; rank == size - 1 && step < steps; step++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
    printf("rank %d ends\n", rank);
    MPI_Finalize();
    return 0;
}
