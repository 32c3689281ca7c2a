/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows inside MPIX_Reinit: in each pass a process fails while windows of all flavours are in
 * use, with a lock in its hands or between fences; the roll-back ends all of them.
 *
 *     windows_reinit FAILURES
 */
#include "reinit.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

static int rank, size, failures, wanted, passes;

static void fails_at(int iteration)
{
    if (failures < wanted && rank == (failures * 3 + 1) % size && iteration == 3 + failures) {
        raise(SIGKILL);
    }
}

static void by_fences(MPI_Win win, int64_t *memory, int iteration)
{
    int64_t value = (int64_t)iteration * 100 + rank;
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT64_T, (rank + 1) % size, rank, 1, MPI_INT64_T, win);
    if (failures % 2) {
        fails_at(iteration);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    int from = (rank + size - 1) % size;
    CHECK(memory[from] == (int64_t)iteration * 100 + from);
}

static void by_locks(MPI_Win win, int iteration)
{
    int64_t value, one = 1;
    int target = (rank + iteration) % size;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Get(&value, 1, MPI_INT64_T, target, 32, 1, MPI_INT64_T, win);
    MPI_Win_flush(target, win);
    if (failures % 2 == 0) {
        fails_at(iteration);
    }
    value += one;
    MPI_Put(&value, 1, MPI_INT64_T, target, 32, 1, MPI_INT64_T, win);
    MPI_Win_unlock(target, win);
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    enum { CELLS = 64, ITERATIONS = 16 };
    static int64_t own[CELLS];
    int64_t *memory, sum;
    MPI_Win made, given;
    (void)argc, (void)argv, (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    failures = failures_so_far(++passes);
    memset(own, 0, sizeof(own));
    MPI_Win_allocate(sizeof(own), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &made);
    MPI_Win_create(own, sizeof(own), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &given);
    for (int i = 0; i < ITERATIONS; i++) {
        by_fences(i % 2 ? made : given, i % 2 ? memory : own, i);
        by_locks(i % 2 ? given : made, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t mine = memory[32] + own[32];
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == (int64_t)ITERATIONS * size);
    MPI_Win_free(&made);
    MPI_Win_free(&given);
    return failures == wanted ? 0 : 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    wanted = argc > 1 ? atoi(argv[1]) : 2;
    CHECK(MPIX_Reinit(argc, argv, point) == 0);
    MPI_Finalize();
    return 0;
}
