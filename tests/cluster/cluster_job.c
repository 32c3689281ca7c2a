/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job that survives, for as long as the test wants: cluster_job FOLDER [PAUSE_US].
 *
 * Each rank keeps a number. In each iteration all numbers are summed (MPI_Allreduce), a block goes
 * round the ring of ranks, and each rank computes its next number from its own, the sum and its
 * neighbour's: one lost, duplicate or stale message changes all later numbers. It ends once
 * FOLDER/stop is there; then each rank computes the whole history alone and compares. Checkpoints
 * every ten iterations; PAUSE_US of rest in each iteration (1000).
 */
#include <mpi-ext.h>
#include <mpi.h>
#include <rhizome/checkpoint.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORDS = 4096, EVERY = 10 };

static struct progress {
    uint64_t iteration, number;
} progress;

static int rank, size;
static char stop_file[4096];
static unsigned pause_us = 1000;

static uint64_t first(uint64_t of)
{
    return of * UINT64_C(0x9E3779B97F4A7C15) + 1;
}

static uint64_t next(uint64_t own, uint64_t sum, uint64_t neighbour)
{
    uint64_t x = own * UINT64_C(0xD1342543DE82EF95) + sum;
    return (x ^ x >> 29) + 3 * neighbour;
}

/* Whether all must stop after this iteration. */
static int iterate(void)
{
    static uint64_t out[WORDS], in[WORDS];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    uint64_t told[2] = {progress.number, rank == 0 && access(stop_file, F_OK) == 0}, all[2];
    for (int i = 0; i < WORDS; i++) {
        out[i] = progress.number + (uint64_t)i;
    }
    MPI_Allreduce(told, all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(out, WORDS, MPI_UINT64_T, right, 0, in, WORDS, MPI_UINT64_T, left, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < WORDS; i++) {
        if (in[i] != in[0] + (uint64_t)i) {
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    progress.number = next(progress.number, all[0], in[0]);
    return all[1] != 0;
}

/* Every rank's numbers from the beginning; whether ours is what we have. */
static int history_is_ours(void)
{
    uint64_t *now = malloc(2 * (size_t)size * sizeof(*now)), *then = now + size, sum;
    for (int i = 0; i < size; i++) {
        now[i] = first((uint64_t)i);
    }
    for (uint64_t k = 0; k < progress.iteration; k++) {
        sum = 0;
        for (int i = 0; i < size; i++) {
            sum += now[i];
            then[i] = now[i];
        }
        for (int i = 0; i < size; i++) {
            now[i] = next(then[i], sum, then[(i + size - 1) % size]);
        }
    }
    int good = now[rank] == progress.number;
    free(now);
    return good;
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    uint64_t generation;
    int stop = 0;
    (void)argc, (void)argv, (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    progress = (struct progress){.iteration = 0, .number = first((uint64_t)rank)};
    RZ_Checkpoint_protect(0, &progress, sizeof(progress));
    RZ_Restore(&generation);
    while (!stop) {
        RZ_Progress_mark(progress.iteration);
        stop = iterate();
        progress.iteration++;
        if (progress.iteration % EVERY == 0) {
            RZ_Checkpoint(NULL);
        }
        usleep(pause_us);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 2;
    }
    snprintf(stop_file, sizeof(stop_file), "%s/stop", argv[1]);
    if (argc > 2) {
        pause_us = (unsigned)atoi(argv[2]);
    }
    MPI_Init(&argc, &argv);
    MPIX_Reinit(argc, argv, point);
    int good = history_is_ours(), all_good;
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%s after %llu iterations\n", all_good ? "exact" : "wrong",
               (unsigned long long)progress.iteration);
    }
    MPI_Finalize();
    return !all_good;
}
