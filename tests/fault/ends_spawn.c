/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes spawn two more; all four add up their ranks in one communicator, and rank 0 says
 * the sum. For ends_test.py: a job that starts processes while it runs. */
#include <mpi.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Comm parent, between, all;
    int rank, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    between = parent;
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                       MPI_ERRCODES_IGNORE);
    }
    MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    if (rank == 0) {
        printf("sum %d\n", sum);
    }
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    MPI_Finalize();
    return 0;
}
