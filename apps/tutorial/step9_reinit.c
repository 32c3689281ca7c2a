/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 9: the same without repair code: all roll back to the last checkpoint. */
#include "tutorial.h"

#include <mpi-ext.h>
#include <rhizome/checkpoint.h>

/* [point] */
static struct state {
    int step; /* number of finished steps */
    double mine, pi;
} my;

/* All processes enter it at the start, and all enter it again after a failure. */
static int compute(int argc, char **argv, MPIX_Reinit_state_t how)
{
    int rank, size;
    uint64_t generation;
    (void)argc;
    (void)argv;
    RZ_Checkpoint_protect(0, &my, sizeof(my));
    RZ_Restore(&generation);
    if (generation == 0) { /* no checkpoint yet: all start at step 0 */
        my = (struct state){0, 0, 0};
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size); /* all ranks, whichever has failed */
    while (my.step < STEPS) {
        my.mine += share(my.step, rank, size);
        if (rank == 2 && how == MPIX_REINIT_NEW) {
            burn_out(my.step);
        }
        MPI_Allreduce(&my.mine, &my.pi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        my.step++;
        RZ_Checkpoint(NULL);
    }
    return 0;
}
/* [end] */

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    /* [main] */
    MPIX_Reinit(argc, argv, compute);
    /* [end] */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        printf("%d processes say that pi is %.6f\n", size, my.pi);
    }
    MPI_Finalize();
    return 0;
}
