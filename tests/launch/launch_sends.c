/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ranks that send known messages.
 *   all     rank 0 sends 3 messages of 100 bytes to rank 1, which sends one of 200 000 back and one
 *           of 7 to itself; 4 broadcasts of 16 bytes from rank 0
 *   reduce  100 reductions of one double
 *   killed  rank 1 sends 5 messages of 10 bytes to rank 0, and is killed when rank 0 has them all
 */
#include <mpi.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 200000 };

static void sends(void *buffer, int bytes, int from, int to, int times)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < times; i++) {
        if (rank == from) {
            MPI_Send(buffer, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(buffer, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

int main(int argc, char **argv)
{
    int rank;
    char *buffer = calloc(2, MANY);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(argv[1], "killed") == 0) {
        sends(buffer, 10, 1, 0, 5);
        sends(buffer, 1, 0, 1, 1);
        if (rank == 1) {
            raise(SIGKILL);
        }
    } else if (strcmp(argv[1], "reduce") == 0) {
        for (int i = 0; i < 100; i++) {
            double mine = i, sum;
            MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    } else {
        sends(buffer, 100, 0, 1, 3);
        sends(buffer, MANY, 1, 0, 1);
        if (rank == 1) {
            MPI_Sendrecv(buffer, 7, MPI_BYTE, 1, 0, buffer + MANY, 7, MPI_BYTE, 1, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < 4; i++) {
            MPI_Bcast(buffer, 16, MPI_BYTE, 0, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    free(buffer);
    return 0;
}
