/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program inside MPIX_Reinit that takes a checkpoint in each iteration, runs a command in its
 * middle, and then loses a node:
 *
 *   checkpoint_job ITERATIONS AT COMMAND
 *
 * Before iteration AT rank 0 runs COMMAND, all others waiting; then the last rank ends its daemon.
 * Only the first run does so, and only once. Prints the sum of what all ranks have computed.
 */
#include <mpi.h>
#include <mpi-ext.h>
#include <rhizome/checkpoint.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    uint64_t iteration, value;
} work;

/* Whether nothing has happened to the job yet. */
static int is_first(MPIX_Reinit_state_t state)
{
    const char *attempt = getenv("RZ_ATTEMPT");
    return state == MPIX_REINIT_NEW && (!attempt || strcmp(attempt, "1") == 0);
}

static void act(const char *command)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0 && system(command) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        kill(getppid(), SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    uint64_t iterations = strtoull(argv[1], NULL, 10), at = strtoull(argv[2], NULL, 10);
    uint64_t generation = 0, sum = 0;
    int rank;
    (void)argc;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    work.iteration = 0;
    work.value = (uint64_t)rank;
    RZ_Checkpoint_protect(0, &work, sizeof(work));
    if (RZ_Restore(&generation) != MPI_SUCCESS) {
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    int first = is_first(state) && generation == 0;
    while (work.iteration < iterations) {
        if (first && work.iteration == at) {
            act(argv[3]);
        }
        uint64_t mine = work.value * UINT64_C(6364136223846793005) + 1;
        MPI_Allreduce(&mine, &work.value, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
        work.value += mine;
        work.iteration++;
        RZ_Checkpoint(NULL);
    }
    MPI_Allreduce(&work.value, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("sum %llu\n", (unsigned long long)sum);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "use: checkpoint_job ITERATIONS AT COMMAND\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    int status = MPIX_Reinit(argc, argv, point);
    MPI_Finalize();
    return status;
}
