/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * detect_leave SECONDS: after MPIX_Reinit, when MPI_Finalize waits for no process any more, all odd
 * ranks leave at once and the others stay for this time.
 */
#include <mpi-ext.h>
#include <mpi.h>

#include <stdlib.h>
#include <unistd.h>

static int nothing(int argc, char **argv, MPIX_Reinit_state_t state)
{
    (void)argc, (void)argv, (void)state;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int rank;
    if (argc < 2) {
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPIX_Reinit(argc, argv, nothing);
    if (rank % 2 == 0) {
        sleep((unsigned)atoi(argv[1]));
    }
    MPI_Finalize();
    return 0;
}
