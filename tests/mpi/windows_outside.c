/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target is outside MPI, in an epoch of fences, and waits for a signal that the origin sends
 * behind all its operations: each of them returns without the target, however many there are, and
 * however long.
 */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 64 * 1024, SMALL = 20000, SUMS = 40000, EACH = 3 };

static struct {
    int strided[EACH][2 * BLOCKS], small[SMALL], sum[SUMS], ordered[2 * BLOCKS];
} * memory;

static int ones[2 * BLOCKS], twos[SUMS], back[EACH][BLOCKS];

static MPI_Aint at(const void *place)
{
    return (const char *)place - (const char *)memory;
}

static void operate(MPI_Win win, int target)
{
    MPI_Datatype strided;
    MPI_Type_vector(BLOCKS, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    for (int i = 0; i < EACH; i++) {
        MPI_Put(ones, 1, strided, target, at(memory->strided[i]), 1, strided, win);
        MPI_Get(back[i], BLOCKS, MPI_INT, target, at(memory->strided[i] + 1), 1, strided, win);
    }
    for (int i = 0; i < SMALL; i++) {
        MPI_Put(ones, 1, MPI_INT, target, at(&memory->small[i]), 1, MPI_INT, win);
    }
    for (int i = 0; i < EACH; i++) {
        MPI_Accumulate(ones, SUMS, MPI_INT, target, at(memory->sum), SUMS, MPI_INT, MPI_SUM, win);
    }
    for (int i = 0; i < EACH; i++) { /* one message each, and too long to keep its place */
        MPI_Accumulate(ones, 1, strided, target, at(memory->ordered), 1, strided, MPI_SUM, win);
        MPI_Accumulate(twos, 1, MPI_INT, target, at(memory->ordered), 1, MPI_INT, MPI_PROD, win);
        MPI_Accumulate(twos, SUMS, MPI_INT, target, at(memory->ordered), SUMS, MPI_INT, MPI_PROD,
                       win);
    }
    MPI_Type_free(&strided);
}

/* What the accumulates leave at i, in their order. */
static int ordered_at(int i)
{
    int value = 0;
    for (int round = 0; round < EACH; round++) {
        value += i % 2 == 0;
        value *= (i == 0 ? 2 : 1) * (i < SUMS ? 2 : 1);
    }
    return value;
}

static int wrong_here(void)
{
    int wrong = 0;
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < 2 * BLOCKS; j++) {
            wrong += memory->strided[i][j] != (j % 2 == 0 ? 1 : 5);
        }
    }
    for (int i = 0; i < SMALL; i++) {
        wrong += memory->small[i] != 1;
    }
    for (int i = 0; i < SUMS; i++) {
        wrong += memory->sum[i] != EACH;
    }
    for (int i = 0; i < 2 * BLOCKS; i++) {
        wrong += memory->ordered[i] != ordered_at(i);
    }
    return wrong;
}

static int wrong_back(void)
{
    int wrong = 0;
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < BLOCKS; j++) {
            wrong += back[i][j] != 5;
        }
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, size, number, pid = (int)getpid();
    sigset_t signals;
    MPI_Info info;
    MPI_Win win;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    int pids[2];
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true"); /* no thread serves the target */
    memory = calloc(1, sizeof(*memory));
    CHECK(memory != NULL);
    for (int i = 0; i < SUMS; i++) {
        twos[i] = 2;
    }
    for (int i = 0; i < 2 * BLOCKS; i++) {
        ones[i] = 1;
        for (int j = 0; j < EACH; j++) {
            memory->strided[j][i] = 5;
        }
    }
    MPI_Win_create(memory, sizeof(*memory), 1, info, MPI_COMM_WORLD, &win);
    MPI_Info_free(&info);
    MPI_Win_fence(0, win);
    if (rank == 0) {
        operate(win, 1);
        CHECK(kill(pids[1], SIGUSR1) == 0);
    } else {
        CHECK(sigwait(&signals, &number) == 0);
    }
    MPI_Win_fence(0, win);
    CHECK(rank == 0 ? wrong_back() == 0 : wrong_here() == 0);
    MPI_Win_free(&win);
    free(memory);
    MPI_Finalize();
    return 0;
}
