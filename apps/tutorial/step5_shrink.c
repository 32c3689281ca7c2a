/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 5: the survivors make a communicator of their own, and continue together. */
#include "tutorial.h"

#include <mpi-ext.h>

/* [repair] */
static void repair(MPI_Comm *comm)
{
    MPI_Comm living;
    MPIX_Comm_revoke(*comm);          /* pending calls on it end with an error */
    MPIX_Comm_shrink(*comm, &living); /* the survivors, in their old order */
    if (*comm != MPI_COMM_WORLD) {
        MPI_Comm_free(comm);
    }
    *comm = living;
}
/* [end] */

int main(int argc, char **argv)
{
    int rank, size, error = MPI_SUCCESS;
    double mine = 0, pi = 0;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN); /* `living` inherits it */
    for (int step = 0; step < STEPS && error == MPI_SUCCESS; step++) {
        mine += share(step, rank, size);
        if (rank == 2) {
            burn_out(step);
        }
        error = MPI_Allreduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, comm);
    }
    /* [after] */
    if (error != MPI_SUCCESS) {
        repair(&comm);
    }
    int number, sum = 0;
    MPI_Comm_rank(comm, &number);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm);
    printf("rank %d: I am rank %d of %d now; our numbers add up to %d\n", rank, number, size, sum);
    /* [end] */
    MPI_Finalize();
    return 0;
}
