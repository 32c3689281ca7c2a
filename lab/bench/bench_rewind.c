/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What snapshots cost an unmodified program, beside copies of the same memory in the same run: in
 * turns a memcpy of all of it to memory that is there, one to memory that is new, a file of it, a
 * snapshot.
 *
 *     bench_rewind MIB PERCENT REPETITIONS
 *
 * PERCENT of the pages change before each snapshot. Rank 0 prints "sample COPY_S NEW_S FILE_S
 * PAUSE_S" for each repetition; the pause is the longest time that a barrier of all ranks took
 * while the snapshot was asked for, taken and committed.
 */
#include <mpi.h>
#include <rhizome/rewind.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, WARM_UP = 2 };

static char *memory;
static size_t bytes;
static int rank, percent;

static void change(void)
{
    static size_t turn;
    size_t pages = bytes / PAGE, n = pages * (size_t)percent / 100;
    for (size_t i = 0; i < n; i++) {
        memory[(i * pages / n + turn) % pages * PAGE + turn % PAGE]++;
    }
    turn++;
}

/* Of all memory, to memory that is not there at the snapshot: it is no part of the program. ready:
 * it is touched before. */
static double copy_s(int ready)
{
    char *to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ready) {
        memset(to, 1, bytes);
    }
    double begin = MPI_Wtime();
    memcpy(to, memory, bytes);
    double taken = MPI_Wtime() - begin;
    munmap(to, bytes);
    return taken;
}

/* As a program does that saves itself, without waiting for the disk. */
static double file_s(void)
{
    char name[64];
    snprintf(name, sizeof(name), "bench_rewind.%d", rank);
    double begin = MPI_Wtime();
    FILE *file = fopen(name, "w");
    if (!file || fwrite(memory, 1, bytes, file) != bytes || fclose(file) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    double taken = MPI_Wtime() - begin;
    remove(name);
    return taken;
}

/* The snapshot begins soon after it was asked for, and is committed within the time that its copies
 * take. */
static double pause_s(void)
{
    double begin = MPI_Wtime(), longest = 0, before = begin;
    if (rank == 0) {
        RZ_Rewind_now();
    }
    int more = 1;
    while (more) {
        MPI_Barrier(MPI_COMM_WORLD);
        double now = MPI_Wtime();
        longest = now - before > longest ? now - before : longest;
        before = now;
        more = now - begin < 0.2 + 4e-9 * (double)bytes;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return longest;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 4) {
        fprintf(stderr, "usage: bench_rewind MIB PERCENT REPETITIONS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    bytes = (size_t)atoi(argv[1]) << 20;
    percent = atoi(argv[2]);
    int repetitions = atoi(argv[3]);
    memory = malloc(bytes);
    for (size_t i = 0; i < bytes / sizeof(unsigned); i++) {
        ((unsigned *)(void *)memory)[i] = (unsigned)i * 2654435761U;
    }
    for (int i = -WARM_UP; i < repetitions; i++) {
        double mine[4] = {copy_s(1), copy_s(0), file_s(), 0}, worst[4];
        change();
        MPI_Barrier(MPI_COMM_WORLD);
        mine[3] = pause_s();
        MPI_Reduce(mine, worst, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0 && i >= 0) {
            printf("sample %.6f %.6f %.6f %.6f\n", worst[0], worst[1], worst[2], worst[3]);
            fflush(stdout);
        }
    }
    MPI_Finalize();
    return 0;
}
