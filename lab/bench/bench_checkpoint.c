/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of a checkpoint for the process that takes it, compared with memcpy of the same bytes in
 * the same run: memcpy, checkpoint, memcpy, checkpoint, ...
 *
 *     bench_checkpoint copy  MIB PERCENT REPETITIONS   RZ_Checkpoint itself, without a wait
 *     bench_checkpoint cycle MIB PERCENT REPETITIONS   in succession: with copies and commit
 *
 * PERCENT of the pages change before each. Rank 0 prints "sample MEMCPY_S CHECKPOINT_S" for each
 * repetition.
 */
#include <mpi.h>
#include <mpi-ext.h>
#include <rhizome/checkpoint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAGE = 4096, WARM_UP = 3, IN_A_ROW = 4, SETTLE_MS = 30, MIB_MAX = 4096 };

static char *memory, *copy;
static size_t bytes;
static int percent, repetitions, in_a_row;

static void wait_ms(long ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000};
    nanosleep(&time, NULL);
}

/* Every page, or that share of them, evenly spaced, different ones each time. */
static void change(void)
{
    static size_t turn;
    size_t pages = bytes / PAGE, n = pages * (size_t)percent / 100;
    for (size_t i = 0; i < n; i++) {
        memory[(i * pages / n + turn) % pages * PAGE + turn % PAGE]++;
    }
    turn++;
}

static void demand(int error)
{
    if (error != MPI_SUCCESS) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static double checkpoints_s(void)
{
    double taken = 0;
    for (int i = 0; i < in_a_row; i++) {
        change();
        double begin = MPI_Wtime();
        demand(RZ_Checkpoint(NULL));
        taken += MPI_Wtime() - begin;
    }
    return taken / in_a_row;
}

static double memcpy_s(void)
{
    change();
    double begin = MPI_Wtime();
    memcpy(copy, memory, bytes);
    return MPI_Wtime() - begin;
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    uint64_t generation;
    int rank;
    (void)argc, (void)argv, (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    demand(RZ_Checkpoint_protect(0, memory, bytes));
    demand(RZ_Restore(&generation));
    for (int i = 0; i < WARM_UP; i++) {
        checkpoints_s();
        memcpy_s();
    }
    for (int i = 0; i < repetitions; i++) {
        wait_ms(SETTLE_MS); /* the commit of the previous one is not measured */
        MPI_Barrier(MPI_COMM_WORLD);
        double plain = memcpy_s(), checkpoint = checkpoints_s();
        if (rank == 0) {
            printf("sample %.9f %.9f\n", plain, checkpoint);
            fflush(stdout);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int mib = argc == 5 ? atoi(argv[2]) : 0;
    if (mib < 1 || mib > MIB_MAX ||
        (strcmp(argv[1], "copy") != 0 && strcmp(argv[1], "cycle") != 0)) {
        fprintf(stderr, "usage: bench_checkpoint copy|cycle MIB PERCENT REPETITIONS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    in_a_row = argv[1][1] == 'y' ? IN_A_ROW : 1;
    percent = atoi(argv[3]);
    repetitions = atoi(argv[4]);
    bytes = (size_t)mib << 20;
    memory = malloc(bytes);
    copy = malloc(bytes);
    if (!memory || !copy) {
        fprintf(stderr, "bench_checkpoint: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    for (size_t i = 0; i < bytes; i++) {
        memory[i] = (char)(i * 2654435761u >> 13);
    }
    memset(copy, 1, bytes);
    int result = MPIX_Reinit(argc, argv, point);
    free(memory);
    free(copy);
    MPI_Finalize();
    return result;
}
