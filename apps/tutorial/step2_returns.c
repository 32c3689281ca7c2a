/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 2: the call that encounters the failure returns an error. */
#include "tutorial.h"

/* [loop] */
static int compute(int rank, int size)
{
    double mine = 0, pi = 0;
    for (int step = 0; step < STEPS; step++) {
        mine += share(step, rank, size);
        if (rank == 2) {
            burn_out(step);
        }
        int error = MPI_Allreduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (error != MPI_SUCCESS) {
            return error;
        }
    }
    return MPI_SUCCESS;
}
/* [end] */

int main(int argc, char **argv)
{
    int rank, size, class;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* [handler] */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int error = compute(rank, size);
    MPI_Error_class(error, &class);
    if (class == MPI_ERR_PROC_FAILED) {
        printf("rank %d: a process has failed\n", rank);
    }
    /* [end] */
    MPI_Finalize();
    return 0;
}
