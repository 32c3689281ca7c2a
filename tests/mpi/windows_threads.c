/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several threads of each process use one window, each with targets and places of its own, while
 * another thread makes and frees windows.
 */
#include "check.h"

#include <pthread.h>
#include <stdint.h>

enum { THREADS = 3, ROUNDS = 60 };

static int rank, size;
static MPI_Win win;

static void *count(void *arg)
{
    int64_t one = 1, before;
    int place = (int)(intptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        int target = (rank + i) % size;
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, place, MPI_SUM, win);
        MPI_Win_flush(target, win);
        MPI_Accumulate(&one, 1, MPI_INT64_T, target, THREADS, 1, MPI_INT64_T, MPI_SUM, win);
    }
    return NULL;
}

static void *make(void *arg)
{
    int64_t *memory, value = rank;
    MPI_Comm comm = *(MPI_Comm *)arg;
    for (int i = 0; i < 10; i++) {
        MPI_Win other;
        MPI_Win_allocate(64, 8, MPI_INFO_NULL, comm, &memory, &other);
        MPI_Win_fence(0, other);
        MPI_Put(&value, 1, MPI_INT64_T, (rank + 1) % size, 0, 1, MPI_INT64_T, other);
        MPI_Win_fence(0, other);
        CHECK(memory[0] == (rank + size - 1) % size);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, other);
        MPI_Win_free(&other);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    int64_t *memory;
    pthread_t threads[THREADS + 1];
    MPI_Comm comm;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int own = 0; own < 2; own++) {
        int64_t mine[THREADS + 1] = {0};
        if (own) {
            memory = mine;
            MPI_Win_create(mine, sizeof(mine), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        } else {
            MPI_Win_allocate(sizeof(mine), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, win);
        for (int i = 0; i < THREADS; i++) {
            CHECK(pthread_create(&threads[i], NULL, count, (void *)(intptr_t)i) == 0);
        }
        CHECK(pthread_create(&threads[THREADS], NULL, make, &comm) == 0);
        for (int i = 0; i <= THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        int64_t sums[THREADS + 1];
        MPI_Allreduce(memory, sums, THREADS + 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < THREADS; i++) {
            CHECK(sums[i] == (int64_t)ROUNDS * size);
        }
        CHECK(sums[THREADS] == (int64_t)ROUNDS * size * THREADS);
        MPI_Win_free(&win);
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
