/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 4: a failure is an error only for processes that need the failed one. */
#include "tutorial.h"

#include <mpi-ext.h>

int main(int argc, char **argv)
{
    int rank, error = MPI_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    /* [pairs] */
    int partner = rank ^ 1; /* 0 and 1, 2 and 3, 4 and 5 */
    double mine = 0, theirs = 0;
    for (int step = 0; step < STEPS; step++) {
        mine += share(step, rank % 2, 2);
        if (rank == 2) {
            burn_out(step);
        }
        error = MPI_Sendrecv(&mine, 1, MPI_DOUBLE, partner, 0, &theirs, 1, MPI_DOUBLE, partner, 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS) {
            break;
        }
    }
    if (error == MPI_SUCCESS) {
        printf("rank %d: pi is %.6f\n", rank, mine + theirs);
    } else {
        printf("rank %d: my partner has failed\n", rank);
    }
    /* [end] */
    if (error != MPI_SUCCESS) {
        int n_acked;
        MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, &n_acked);
    }
    MPI_Finalize();
    return 0;
}
