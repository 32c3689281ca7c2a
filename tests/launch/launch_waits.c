/*
 * An MPI program that never ends by itself.
 *   receive   each rank waits in MPI_Recv for the next one, tag 77
 *   compute   rank 0 computes, the others wait for it in MPI_Recv
 *   traffic   messages of all sizes go round
 */
#include <mpi.h>

#include <stdlib.h>
#include <string.h>

enum { TAG = 77, BYTES_MAX = 1 << 20 };

static void traffic(int rank, int size)
{
    char *out = calloc(1, BYTES_MAX), *in = malloc(BYTES_MAX);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int bytes = 1;; bytes = bytes == BYTES_MAX ? 1 : 4 * bytes)
        MPI_Sendrecv(out, bytes, MPI_BYTE, next, TAG, in, bytes, MPI_BYTE, previous, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, size, word = 0;
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(how, "traffic") == 0)
        traffic(rank, size);
    volatile int for_ever = 1;
    while (strcmp(how, "compute") == 0 && rank == 0 && for_ever)
        ;
    MPI_Recv(&word, 1, MPI_INT, strcmp(how, "compute") == 0 ? 0 : (rank + 1) % size, TAG,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
