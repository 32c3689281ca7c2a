/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that does nothing, for any MPI: how long a job takes from the start of the launcher to
 * its end.
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
