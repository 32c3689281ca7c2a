/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program of ULFM for any MPI that has it: after a failure the survivors revoke, shrink and
 * agree, and the rest works.
 *
 *   foreign_ulfm kill     the last rank but one kills itself
 *   foreign_ulfm wait     says `ready`; something else fails
 */
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, n, error, sum = -1, one = 1, flag = 1;
    MPI_Comm survivors;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && strcmp(argv[1], "kill") == 0 && rank == n - 2) {
        raise(SIGKILL);
    }
    if (rank == 0) {
        printf("ready\n");
        fflush(stdout);
    }
    do {
        error = MPI_Barrier(MPI_COMM_WORLD);
        usleep(1000);
    } while (error == MPI_SUCCESS);
    MPIX_Comm_revoke(MPI_COMM_WORLD);
    if (MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors) != MPI_SUCCESS) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Comm_set_errhandler(survivors, MPI_ERRORS_RETURN);
    MPI_Comm_rank(survivors, &rank);
    MPI_Comm_size(survivors, &n);
    MPIX_Comm_agree(survivors, &flag);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, survivors);
    if (rank == 0) {
        printf("%d survivors: sum %d\n", n, sum);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
