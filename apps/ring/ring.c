/* SPDX-License-Identifier: BSD-3-Clause */
/* A token goes round a ring of all ranks; each adds one. The smallest program that sends anything.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, token = 0, rounds = argc > 1 ? atoi(argv[1]) : 10;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    double start = MPI_Wtime();
    for (int round = 0; round < rounds; round++) {
        if (rank > 0) {
            MPI_Recv(&token, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        token++;
        MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Recv(&token, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0) {
        printf("ring of %d: token %d after %d rounds, %.2f us per hop\n", size, token, rounds,
               (MPI_Wtime() - start) * 1e6 / rounds / size);
    }
    MPI_Finalize();
    return rank == 0 && token != rounds * size;
}
