/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends in every way a tool may want to count; says how often a tool saw it (abi_tool.c). */
#include "abi_check.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, value = 1, in;
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    GOOD(MPI_Init(&argc, &argv));
    GOOD(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    GOOD(MPI_Comm_size(MPI_COMM_WORLD, &size));
    for (int i = 0; i < rounds; i++) {
        if (rank % 2 == 0 && rank + 1 < size) {
            GOOD(MPI_Send(&value, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD));
        } else if (rank % 2 == 1) {
            GOOD(MPI_Recv(&in, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
    GOOD(MPI_Barrier(MPI_COMM_WORLD)); /* what the library sends itself is not the program's */
    GOOD(MPI_Finalize());
    return abi_faults != 0;
}
