/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program in C that knows nothing of failures: memory that is allocated, grown and freed all the
 * time, a file that it appends to with stdio's buffer half full, signal handlers, a jump.
 *
 *   rewind_c STEPS FOLDER
 */
#include <fcntl.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 200 };

static uint64_t state, wrong;
static struct block {
    unsigned char *at;
    size_t bytes;
    unsigned char filled;
} blocks[BLOCKS];
static volatile sig_atomic_t signals;
static jmp_buf back;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void on_signal(int number)
{
    (void)number;
    signals = signals + 1;
}

static void churn(void)
{
    struct block *block = &blocks[draw() % BLOCKS];
    for (size_t i = 0; i < block->bytes; i++) {
        wrong += block->at[i] != block->filled;
    }
    if (draw() % 3 == 0) {
        free(block->at);
        block->at = NULL;
    }
    /* Now and then so much that it is a mapping of its own. */
    block->bytes = draw() % 16 == 0 ? 400000 + draw() % 100000 : 1 + draw() % 3000;
    block->at = realloc(block->at, block->bytes);
    if (!block->at) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    block->filled = (unsigned char)draw();
    memset(block->at, block->filled, block->bytes);
}

/* Some lines of some length; what stands in the buffer is not in the file yet. */
static void append(FILE *file, int rank, int step)
{
    fprintf(file, "rank %d step %d: %016llx%*s\n", rank, step, (unsigned long long)state,
            (int)(draw() % 60), "");
}

static uint64_t sum_of(const char *path, int steps)
{
    char line[200];
    uint64_t sum = 0;
    int n = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file)) {
        int step = -1;
        if (sscanf(line, "rank %*d step %d:", &step) != 1 || step != n) {
            wrong++; /* a line that is missing, or there twice */
        }
        n++;
        for (const char *at = line; *at; at++) {
            sum = sum * 31 + (unsigned char)*at;
        }
    }
    wrong += n != steps;
    if (file) {
        fclose(file);
    }
    return sum;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int steps = argc > 1 ? atoi(argv[1]) : 200;
    char path[300];
    snprintf(path, sizeof(path), "%s/rank%d", argc > 2 ? argv[2] : ".", rank);
    FILE *file = fdopen(open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600), "a");
    if (!file) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    signal(SIGUSR2, on_signal);
    state = 88172645463325252u + (uint64_t)rank * 977;
    for (int step = 0; step < steps; step++) {
        uint64_t mine, sum;
        append(file, rank, step);
        for (int i = 0; i < 20; i++) {
            churn();
        }
        if (setjmp(back) == 0) {
            raise(SIGUSR2);
            longjmp(back, 1);
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        mine = state;
        MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
        state += sum;
        if (rank == 0 && step % 20 == 0) {
            printf("step %d: %016llx\n", step, (unsigned long long)sum);
        }
    }
    fclose(file);
    uint64_t parts[2] = {sum_of(path, steps), 0}, all[2];
    parts[1] = wrong + (uint64_t)(signals != steps);
    MPI_Reduce(parts, all, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d steps of %d ranks: %016llx, %llu wrong", steps, size, (unsigned long long)all[0],
               (unsigned long long)all[1]);
    }
    MPI_Finalize();
    return 0;
}
