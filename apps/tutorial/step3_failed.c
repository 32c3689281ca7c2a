/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 3: which process has failed? */
#include "tutorial.h"

#include <mpi-ext.h>

/* [failed] */
static void print_failed(MPI_Comm comm, int rank)
{
    int n_failed, n_acked;
    MPI_Group all, failed;
    MPIX_Comm_get_failed(comm, &failed);
    MPI_Group_size(failed, &n_failed);
    MPIX_Comm_ack_failed(comm, n_failed, &n_acked); /* acknowledge these failures and continue */
    MPI_Comm_group(comm, &all);
    for (int i = 0; i < n_failed; i++) {
        int failed_rank;
        MPI_Group_translate_ranks(failed, 1, &i, all, &failed_rank);
        printf("rank %d: rank %d has failed\n", rank, failed_rank);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&failed);
}
/* [end] */

int main(int argc, char **argv)
{
    int rank, size, error = MPI_SUCCESS;
    double mine = 0, pi = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int step = 0; step < STEPS && error == MPI_SUCCESS; step++) {
        mine += share(step, rank, size);
        if (rank == 2) {
            burn_out(step);
        }
        error = MPI_Allreduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (error != MPI_SUCCESS) {
        print_failed(MPI_COMM_WORLD, rank);
    }
    MPI_Finalize();
    return 0;
}
