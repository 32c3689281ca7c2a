/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passive target epochs and atomic operations, with all ranks at once: counters under exclusive
 * locks, counters by MPI_Fetch_and_op, lists by MPI_Compare_and_swap, sums of doubles and of pairs,
 * readers and writers, the order of accumulates; a target that computes without MPI until others
 * have changed its memory, and one that is stopped.
 */
#include "check.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static int rounds = 200;

enum { CELLS = 64 };

struct pair {
    double value;
    int index;
};

/* Memory of a window of any flavour, zeroed; *memory is this process's. */
static MPI_Win window(int allocated, void **memory, MPI_Aint bytes)
{
    MPI_Win win;
    if (allocated) {
        MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, memory, &win);
    } else {
        *memory = malloc((size_t)bytes);
        MPI_Win_create(*memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    memset(*memory, 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    return win;
}

static void window_end(MPI_Win *win, int allocated, void *memory)
{
    MPI_Win_free(win);
    if (!allocated) {
        free(memory);
    }
}

/* Read, add and write back, which only the lock protects. */
static void exclusive_counter(int allocated)
{
    int64_t *memory, value;
    MPI_Win win = window(allocated, (void **)&memory, CELLS * 8);
    for (int i = 0; i < rounds; i++) {
        int target = i % size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Get(&value, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win);
        MPI_Win_flush(target, win);
        value++;
        MPI_Put(&value, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win);
        MPI_Win_unlock(target, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t mine, sum;
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    mine = memory[0];
    MPI_Win_unlock(rank, win);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == (int64_t)rounds * size);
    window_end(&win, allocated, memory);
}

/* Writers change two cells together; readers see them alike. */
static void readers_and_writers(int allocated)
{
    int64_t *memory, pair[2];
    MPI_Win win = window(allocated, (void **)&memory, CELLS * 8);
    for (int i = 0; i < rounds; i++) {
        int writes = (i + rank) % 4 == 0;
        MPI_Win_lock(writes ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
        MPI_Get(pair, 2, MPI_INT64_T, 0, 0, 2, MPI_INT64_T, win);
        MPI_Win_flush_local(0, win);
        CHECK(pair[0] == pair[1]);
        if (writes) {
            for (int k = 0; k < 2; k++) {
                pair[k] = (int64_t)i * size + rank;
                MPI_Put(&pair[k], 1, MPI_INT64_T, 0, 8 * k, 1, MPI_INT64_T, win);
            }
        }
        MPI_Win_unlock(0, win);
    }
    window_end(&win, allocated, memory);
}

/* Each number is drawn once. */
static void tickets(int allocated)
{
    int64_t *memory, one = 1, ticket, sum = 0, all;
    MPI_Win win = window(allocated, (void **)&memory, CELLS * 8);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < rounds; i++) {
        MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, size - 1, 8, MPI_SUM, win);
        MPI_Win_flush(size - 1, win);
        sum += ticket;
    }
    MPI_Win_unlock_all(win);
    int64_t n = (int64_t)rounds * size;
    MPI_Allreduce(&sum, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == n * (n - 1) / 2);
    window_end(&win, allocated, memory);
}

/* A word that counts as long as its last value is known. */
static void swaps(int allocated)
{
    int32_t *memory, done = 0;
    MPI_Win win = window(allocated, (void **)&memory, CELLS * 4);
    MPI_Win_lock_all(0, win);
    for (int32_t expected = 0; done < rounds / 4;) {
        int32_t next = expected + 1, found;
        MPI_Compare_and_swap(&next, &expected, &found, MPI_INT32_T, 0, 4, win);
        MPI_Win_flush(0, win);
        done += found == expected;
        expected = found == expected ? next : found;
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    int32_t last;
    MPI_Fetch_and_op(NULL, &last, MPI_INT32_T, 0, 4, MPI_NO_OP, win);
    MPI_Win_unlock(0, win);
    CHECK(last == rounds / 4 * size);
    window_end(&win, allocated, memory);
}

/* Sums of doubles that are exact; the largest of pairs, a type with a gap. */
static void sums_and_pairs(int allocated)
{
    struct {
        double sums[CELLS];
        struct pair largest[2];
    } * memory;
    double ones[CELLS];
    struct pair mine = {rank, rank + 100}, before;
    MPI_Win win = window(allocated, (void **)&memory, sizeof(*memory));
    for (int i = 0; i < CELLS; i++) {
        ones[i] = i + 0.5;
    }
    MPI_Win_fence(0, win);
    for (int target = 0; target < size; target++) {
        MPI_Accumulate(ones, CELLS, MPI_DOUBLE, target, 0, CELLS, MPI_DOUBLE, MPI_SUM, win);
        MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, target, sizeof(memory->sums), 1, MPI_DOUBLE_INT,
                       MPI_MAXLOC, win);
        MPI_Get_accumulate(&mine, 1, MPI_DOUBLE_INT, &before, 1, MPI_DOUBLE_INT, target,
                           sizeof(memory->sums) + sizeof(struct pair), 1, MPI_DOUBLE_INT,
                           MPI_MINLOC, win);
    }
    MPI_Win_fence(0, win);
    for (int i = 0; i < CELLS; i++) {
        CHECK(memory->sums[i] == size * ones[i]);
    }
    CHECK(memory->largest[0].value == size - 1 &&
          memory->largest[0].index == (size > 1 ? size + 99 : 0));
    CHECK(memory->largest[1].value == 0 && memory->largest[1].index == 0);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    window_end(&win, allocated, memory);
}

/* Single numbers at places without a rule: a type with a long description. */
static MPI_Datatype scattered(void)
{
    enum { BLOCKS = 700 };
    static int places[BLOCKS];
    MPI_Datatype type;
    for (int i = 0; i < BLOCKS; i++) {
        places[i] = 3 * i + i * i % 2;
    }
    MPI_Type_create_indexed_block(BLOCKS, 1, places, MPI_INT32_T, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Of accumulates of one rank on one place the last one stays, short or long. */
static void order(int allocated)
{
    enum { N = 40000 };
    static int32_t data[N];
    int32_t *memory, last;
    MPI_Datatype type = scattered();
    MPI_Win win = window(allocated, (void **)&memory, (MPI_Aint)size * N * 4);
    int target = (rank + 1) % size;
    MPI_Win_lock_all(0, win);
    for (int i = 1; i <= 20; i++) {
        int n = i % 3 == 2 ? N : 1;
        for (int k = 0; k < n; k++) {
            data[k] = i;
        }
        MPI_Datatype used = i % 3 == 1 ? type : MPI_INT32_T;
        for (int k = 0; k < 3000 && used == type; k++) {
            data[k] = i;
        }
        MPI_Accumulate(data, n, used, target, (MPI_Aint)rank * N * 4, n, used, MPI_REPLACE, win);
        MPI_Fetch_and_op(NULL, &last, MPI_INT32_T, target, (MPI_Aint)rank * N * 4, MPI_NO_OP, win);
        MPI_Win_flush_local(target, win);
        CHECK(last == i);
    }
    MPI_Win_unlock_all(win);
    MPI_Type_free(&type);
    window_end(&win, allocated, memory);
}

/* Rank 0 makes no call until all others have come. */
static void target_computes(int allocated)
{
    _Atomic int64_t *memory;
    int64_t one = 1, before;
    MPI_Win win = window(allocated, (void **)&memory, CELLS * 8);
    if (rank == 0) {
        while (atomic_load(&memory[0]) < size - 1) {
        }
    } else {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&before, 1, MPI_INT64_T, 0, 8, 1, MPI_INT64_T, win);
        MPI_Win_flush(0, win);
        MPI_Put(&one, 1, MPI_INT64_T, 0, 8 * (rank % (CELLS - 1) + 1), 1, MPI_INT64_T, win);
        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, win);
        MPI_Win_unlock(0, win);
    }
    window_end(&win, allocated, (void *)memory);
}

/* Rank 0 is stopped while a process of its node locks, counts and writes. */
static void target_stopped(int allocated)
{
    _Atomic int64_t *memory;
    int64_t one = 1, before, pid = getpid();
    MPI_Comm node;
    int members;
    MPI_Win win = window(allocated, (void **)&memory, CELLS * 8);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &members);
    MPI_Comm_free(&node);
    MPI_Bcast(&members, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&pid, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (members == size && size > 1 && !getenv("RZ_RMA")) {
        while (rank == 0 && atomic_load(&memory[1]) == 0) {
        }
        if (rank == 1) {
            kill((pid_t)pid, SIGSTOP);
            for (int i = 0; i <= rounds; i++) {
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
                MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 0, MPI_SUM, win);
                MPI_Win_unlock(0, win);
                CHECK(before == i);
            }
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
            MPI_Put(&one, 1, MPI_INT64_T, 0, 8, 1, MPI_INT64_T, win);
            MPI_Win_unlock(0, win);
            kill((pid_t)pid, SIGCONT);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    window_end(&win, allocated, (void *)memory);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rounds = argc > 1 ? atoi(argv[1]) : rounds;
    for (int allocated = 0; allocated < 2; allocated++) {
        exclusive_counter(allocated);
        readers_and_writers(allocated);
        tickets(allocated);
        swaps(allocated);
        sums_and_pairs(allocated);
        order(allocated);
        target_computes(allocated);
        target_stopped(allocated);
    }
    MPI_Finalize();
    return 0;
}
