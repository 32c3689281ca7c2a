/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process of a job with several programs finds: `launch_parts WORD [fail]` prints its rank,
 * its program's number, the slots of the universe and WORD; with `fail` rank 1 fails once, inside
 * MPIX_Reinit, and all print when the job is whole again. `words` says something without a flush,
 * and fails.
 */
#include <mpi-ext.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number_of(int key)
{
    int *value, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    return flag ? *value : -1;
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    int rank;
    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2 && rank == 1 && strcmp(getenv("RZ_INCARNATION"), "1") == 0) {
        raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of program %d, %s, universe %s\n", rank, number_of(MPI_APPNUM), argv[1],
           number_of(MPI_UNIVERSE_SIZE) > 0 ? "known" : "unknown");
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (strcmp(argv[1], "words") == 0) {
        printf("last words\nand half a line");
        raise(SIGKILL);
    }
    MPIX_Reinit(argc, argv, point);
    MPI_Finalize();
    return 0;
}
