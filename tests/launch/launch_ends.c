/*
 * An MPI program that ends in the way its first argument names; rank 1 does it, the others wait.
 *   return N   every rank finalises and returns N       abort N   rank 1 calls MPI_Abort(N)
 *   early N    rank 1 calls exit(N) before MPI_Finalize  kill N    rank 1 kills itself by signal N
 */
#include <mpi.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, word = 0, code = argc > 2 ? atoi(argv[2]) : 0;
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(how, "return") == 0) {
        MPI_Finalize();
        return code;
    }
    if (rank == 1 && strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, code);
    if (rank == 1 && strcmp(how, "early") == 0)
        exit(code);
    if (rank == 1 && strcmp(how, "kill") == 0)
        raise(code);
    MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
