/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ten ranks. One thread of rank 0 has put all to ranks 1 to 8 that may be on its way, and they do
 * not look: they wait outside MPI, for a signal. That delays no put of another thread to rank 9,
 * which comes before the signal.
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 40000, EACH = 13, DEAF = 8, SIZE = DEAF + 2, AT_LEAST = 100 };

static char row[BYTES];
static MPI_Win deaf, other;
static atomic_int n_put;

static void *put_to_the_deaf(void *arg)
{
    for (int i = 0; i < EACH; i++) {
        for (int rank = 1; rank <= DEAF; rank++) {
            MPI_Put(row, BYTES, MPI_BYTE, rank, (MPI_Aint)i * BYTES, BYTES, MPI_BYTE, deaf);
            atomic_fetch_add(&n_put, 1);
        }
    }
    MPI_Put(row, BYTES, MPI_BYTE, 1, (MPI_Aint)EACH * BYTES, BYTES, MPI_BYTE, deaf);
    return arg;
}

static void put_beside(const int *pids)
{
    pthread_t thread;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, other);
    CHECK(pthread_create(&thread, NULL, put_to_the_deaf, NULL) == 0);
    while (atomic_load(&n_put) < AT_LEAST) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    for (int i = 0; i < 20; i++) {
        MPI_Put(row, BYTES, MPI_BYTE, SIZE - 1, 0, BYTES, MPI_BYTE, other);
        MPI_Win_flush(SIZE - 1, other);
    }
    for (int rank = 1; rank <= DEAF; rank++) {
        CHECK(kill(pids[rank], SIGUSR1) == 0);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    MPI_Win_unlock_all(other);
}

int main(int argc, char **argv)
{
    int rank, size, given, pids[SIZE], pid = (int)getpid(), wrong = 0, number;
    char *memory[2];
    sigset_t signals;
    MPI_Info info;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == SIZE && given == MPI_THREAD_MULTIPLE);
    memset(row, 'x', sizeof(row));
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true"); /* served inside calls of MPI alone */
    MPI_Win_allocate((EACH + 1) * BYTES, 1, info, MPI_COMM_WORLD, &memory[0], &deaf);
    MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory[1], &other);
    MPI_Info_free(&info);
    memset(memory[0], 0, (EACH + 1) * BYTES);
    memset(memory[1], 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_fence(0, deaf);
    if (rank == 0) {
        put_beside(pids);
    } else if (rank <= DEAF) {
        CHECK(sigwait(&signals, &number) == 0);
    }
    MPI_Win_fence(0, deaf);
    int bytes = rank == 0 || rank == SIZE - 1 ? 0 : rank == 1 ? (EACH + 1) * BYTES : EACH * BYTES;
    for (int i = 0; i < bytes; i++) {
        wrong += memory[0][i] != 'x';
    }
    for (int i = 0; rank == SIZE - 1 && i < BYTES; i++) {
        wrong += memory[1][i] != 'x';
    }
    CHECK(wrong == 0);
    MPI_Win_free(&other);
    MPI_Win_free(&deaf);
    MPI_Finalize();
    return 0;
}
