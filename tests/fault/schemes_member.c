/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job for tests of checkpoint schemes: numbers that depend on all iterations and all ranks, a
 * checkpoint after every third one, pieces of different sizes.
 *
 *   schemes_member BYTES [FOLDER]
 *
 * With FOLDER the first passage stops at iteration HELD: when all have arrived and their checkpoint
 * is committed, rank 0 makes FOLDER/held, all wait for FOLDER/go, and the iteration is marked by
 * RZ_Progress_mark; no checkpoint is taken any more until a process has failed.
 */
#include <mpi-ext.h>
#include <mpi.h>
#include <rhizome/checkpoint.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ITERATIONS = 40, EVERY = 3, HELD = 20 };

static struct {
    int rank, size;
    size_t words;
    uint64_t *x;
    int iteration;
    const char *folder;
} job;

static void wait_for_go(void)
{
    char path[4096];
    MPI_Barrier(MPI_COMM_WORLD);
    if (job.rank == 0) {
        snprintf(path, sizeof(path), "%s/held", job.folder);
        fclose(fopen(path, "w"));
    }
    snprintf(path, sizeof(path), "%s/go", job.folder);
    while (access(path, F_OK) != 0) {
        usleep(5000);
    }
    RZ_Progress_mark(HELD);
    for (;;) {
        MPI_Barrier(MPI_COMM_WORLD); /* until the restart */
    }
}

static void iterate(void)
{
    uint64_t first = job.x[0], neighbour;
    int left = (job.rank + job.size - 1) % job.size, right = (job.rank + 1) % job.size;
    MPI_Sendrecv(&first, 1, MPI_UINT64_T, right, 0, &neighbour, 1, MPI_UINT64_T, left, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < job.words; i++) {
        job.x[i] = (job.x[i] ^ job.x[i] >> 29) * UINT64_C(0x9e3779b97f4a7c15) + neighbour +
                   i * (size_t)job.iteration;
    }
    job.iteration++;
}

static int restart_point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    uint64_t generation, sum = 0, all;
    (void)argc, (void)argv;
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    job.iteration = 0;
    for (size_t i = 0; i < job.words; i++) {
        job.x[i] = i + (size_t)job.rank;
    }
    /* Odd sizes, the first rank's the largest. */
    RZ_Checkpoint_protect(0, &job.iteration, sizeof(job.iteration));
    RZ_Checkpoint_protect(1, job.x, job.words * sizeof(*job.x));
    if (RZ_Restore(&generation) != MPI_SUCCESS) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (job.rank == 0 && state != MPIX_REINIT_NEW) {
        fprintf(stderr, "restored iteration %d\n", job.iteration);
    }
    while (job.iteration < ITERATIONS) {
        if (job.folder && state == MPIX_REINIT_NEW && job.iteration == HELD) {
            wait_for_go();
        }
        iterate();
        if (job.iteration % EVERY == 0) {
            RZ_Checkpoint(NULL);
        }
    }
    for (size_t i = 0; i < job.words; i++) {
        sum = sum * 31 + job.x[i];
    }
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (job.rank == 0) {
        printf("sum %016llx\n", (unsigned long long)all);
    }
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    job.words = bytes / sizeof(*job.x) / (size_t)(1 + job.rank % 3) + (size_t)job.rank + 1;
    job.x = malloc(job.words * sizeof(*job.x));
    job.folder = argc > 2 ? argv[2] : NULL;
    if (!job.x) {
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    MPIX_Reinit(argc, argv, restart_point);
    free(job.x);
    return MPI_Finalize();
}
