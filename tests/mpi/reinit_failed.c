/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A restart point that receives the failed ranks: one rank after the other kills itself, and in the
 * round after that all receive its number. OMPI_Reinit takes both forms of a restart point.
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>

static int rounds; /* of this process, since it was started last */

static int told(int argc, char **argv, MPIX_Reinit_state_t state, int num_failed, int *failed)
{
    int rank, size, round = rounds;
    (void)argc;
    (void)argv;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rounds, &round, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    rounds = round + 1;
    CHECK((state == MPIX_REINIT_NEW) == (round == 0));
    CHECK(num_failed == (round == 0 ? 0 : 1));
    CHECK(round == 0 || failed[0] == round - 1);
    CHECK((state == MPIX_REINIT_RESTARTED) == (round > 0 && rank == round - 1));
    MPI_Barrier(MPI_COMM_WORLD); /* all have counted */
    if (rank == round && round < size - 1) {
        raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return 7 + round;
}

static int plain(int argc, char **argv, MPIX_Reinit_state_t state)
{
    (void)argc;
    (void)argv;
    return (int)state;
}

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(OMPI_Reinit(argc, argv, told) == 7 + size - 1);
    if (argc > 1) {
        CHECK(OMPI_Reinit(argc, argv, plain) == MPIX_REINIT_NEW);
    }
    MPI_Finalize();
    return 0;
}
