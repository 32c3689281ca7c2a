/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 1: an ordinary program. Rank 2 fails; what happens to the others? */
#include "tutorial.h"

int main(int argc, char **argv)
{
    int rank, size;
    double mine = 0, pi = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* [loop] */
    for (int step = 0; step < STEPS; step++) {
        mine += share(step, rank, size);
        if (rank == 2) {
            burn_out(step);
        }
        MPI_Allreduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    /* [end] */
    if (rank == 0) {
        printf("pi is %.6f\n", pi);
    }
    MPI_Finalize();
    return 0;
}
