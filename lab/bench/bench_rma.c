/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided communication, for any MPI:
 *
 *   bench_rma [--pin CPU,CPU] [--ms MILLISECONDS] [--window allocate|create] MEASURE N [MEASURE
 * N]...
 *
 * prints a line for each measurement, `MEASURE N VALUE`. Rank 0 is the origin, rank 1 the target,
 * which waits in MPI_Recv. The first group is within one epoch of MPI_Win_lock with
 * MPI_LOCK_SHARED:
 *
 *   put N      MPI_Put of N bytes and MPI_Win_flush, microseconds
 *   get N      the same with MPI_Get
 *   fetch 8    the same with MPI_Fetch_and_op (MPI_SUM of an int64_t)
 *   swap 8     the same with MPI_Compare_and_swap
 *   puts N     16 MPI_Put of N bytes one behind the other, and a flush, 10^6 bytes per second
 *   gets N     the same with MPI_Get
 *
 *   lock N     MPI_Win_lock (exclusive), MPI_Put of N bytes, MPI_Win_unlock, microseconds
 *   fence N    MPI_Put of N bytes and MPI_Win_fence, microseconds
 *   contend 8  all ranks at once: exclusive lock of rank 0, get, flush, put of one more, unlock;
 * microseconds of one of these
 *
 * Each is the mean of the repetitions that fill the time. A wrong count at the end of `fetch`,
 * `swap` or `contend` ends the job.
 */
#include "bench_pin.h"

#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_PROGRESS = 16, TIMES_MAX = 1 << 22, TARGET = 1 };

static int rank, size;
static double target_s = 0.05;
static int allocates = 1;
static char *memory, *buffer; /* of the window; at the origin */
static MPI_Win window;

static void refuse(const char *what, const char *word)
{
    fprintf(stderr, "bench_rma: %s%s\n", what, word);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- What is measured: one repetition ---- */

static void put(int bytes)
{
    MPI_Put(buffer, bytes, MPI_BYTE, TARGET, 0, bytes, MPI_BYTE, window);
    MPI_Win_flush(TARGET, window);
}

static void get(int bytes)
{
    MPI_Get(buffer, bytes, MPI_BYTE, TARGET, 0, bytes, MPI_BYTE, window);
    MPI_Win_flush(TARGET, window);
}

static void fetch(int bytes)
{
    static const int64_t one = 1;
    (void)bytes;
    MPI_Fetch_and_op(&one, buffer, MPI_INT64_T, TARGET, 0, MPI_SUM, window);
    MPI_Win_flush(TARGET, window);
}

static void swap(int bytes)
{
    static int64_t held;
    int64_t next = held + 1;
    (void)bytes;
    MPI_Compare_and_swap(&next, &held, buffer, MPI_INT64_T, TARGET, 0, window);
    MPI_Win_flush(TARGET, window);
    memcpy(&held, buffer, sizeof(held));
    held = held == next - 1 ? next : held;
}

static void puts_in_a_row(int bytes)
{
    for (int i = 0; i < IN_PROGRESS; i++) {
        MPI_Aint at = (MPI_Aint)i * bytes;
        MPI_Put(buffer + at, bytes, MPI_BYTE, TARGET, at, bytes, MPI_BYTE, window);
    }
    MPI_Win_flush(TARGET, window);
}

static void gets_in_a_row(int bytes)
{
    for (int i = 0; i < IN_PROGRESS; i++) {
        MPI_Aint at = (MPI_Aint)i * bytes;
        MPI_Get(buffer + at, bytes, MPI_BYTE, TARGET, at, bytes, MPI_BYTE, window);
    }
    MPI_Win_flush(TARGET, window);
}

static void lock(int bytes)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window);
    MPI_Put(buffer, bytes, MPI_BYTE, TARGET, 0, bytes, MPI_BYTE, window);
    MPI_Win_unlock(TARGET, window);
}

static void fence(int bytes)
{
    if (rank == 0) {
        MPI_Put(buffer, bytes, MPI_BYTE, TARGET, 0, bytes, MPI_BYTE, window);
    }
    MPI_Win_fence(0, window);
}

static void contend(int bytes)
{
    int64_t count;
    (void)bytes;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Get(&count, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window);
    MPI_Win_flush(0, window);
    count++;
    MPI_Put(&count, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window);
    MPI_Win_unlock(0, window);
}

/* ---- Measurements ---- */

static double whole_us(int n, double us)
{
    (void)n;
    return us;
}

static double of_row(int n, double us)
{
    return IN_PROGRESS * (double)n / us;
}

static double of_all(int n, double us)
{
    (void)n;
    return us / size;
}

enum epoch { SHARED, NONE, FENCES };

static const struct measure {
    const char *name;
    void (*once)(int n);
    double (*value)(int n, double us); /* of one repetition that takes so long */
    enum epoch epoch;
    int all;     /* ranks repeat it; else the origin alone */
    int counted; /* the rank where one more is found after each repetition; -1: none */
} measures[] = {
    {"put", put, whole_us, SHARED, 0, -1},          {"get", get, whole_us, SHARED, 0, -1},
    {"fetch", fetch, whole_us, SHARED, 0, TARGET},  {"swap", swap, whole_us, SHARED, 0, TARGET},
    {"puts", puts_in_a_row, of_row, SHARED, 0, -1}, {"gets", gets_in_a_row, of_row, SHARED, 0, -1},
    {"lock", lock, whole_us, NONE, 0, -1},          {"fence", fence, whole_us, FENCES, 1, -1},
    {"contend", contend, of_all, NONE, 1, 0},
};
enum { MEASURES = sizeof(measures) / sizeof(measures[0]) };

/* Rank 0 says how many repetitions follow; 0 ends the measurement. By messages, so that the target
 * waits in MPI_Recv. */
static int announced(int times)
{
    if (rank > 0) {
        MPI_Recv(&times, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return times;
    }
    for (int i = 1; i < size; i++) {
        MPI_Send(&times, 1, MPI_INT, i, 1, MPI_COMM_WORLD);
    }
    return times;
}

static double repeat_us(const struct measure *measure, int n, int times)
{
    if (measure->all) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    double start = MPI_Wtime();
    for (int i = 0; i < times; i++) {
        measure->once(n);
    }
    if (measure->all) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - start) * 1e6;
}

/* *done: repetitions of this rank, with the one before the first that counts. */
static double mean_us(const struct measure *measure, int n, int64_t *done)
{
    double us = 0;
    int works = measure->all || rank == 0;
    if (works) {
        measure->once(n);
        *done = 1;
    }
    for (int times = 1, filled = 0; (times = announced(times)) > 0;) {
        if (!works) {
            continue;
        }
        double spent_us = repeat_us(measure, n, times);
        us = spent_us / times;
        *done += times;
        filled = spent_us >= target_s / 2 * 1e6 ? filled + 1
                                                : 0; /* twice: the first may take long once */
        times = filled == 2 || times >= TIMES_MAX ? 0 : times * (filled ? 1 : 2);
    }
    return us;
}

static void make_window(size_t bytes)
{
    if (allocates) {
        MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    } else if (MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory) == MPI_SUCCESS) {
        MPI_Win_create(memory, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    }
    memset(memory, 0, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void free_window(void)
{
    MPI_Win_free(&window);
    if (!allocates) {
        MPI_Free_mem(memory);
    }
}

static void check_count(const struct measure *measure, int64_t done)
{
    int64_t all, found = 0;
    MPI_Allreduce(&done, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (measure->counted == rank) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
        memcpy(&found, memory, sizeof(found));
        MPI_Win_unlock(rank, window);
        if (found != all) {
            refuse("a wrong count after ", measure->name);
        }
    }
}

static void run(const struct measure *measure, int n)
{
    size_t bytes = (size_t)n * IN_PROGRESS;
    int64_t done = 0;
    buffer = malloc(bytes);
    if (!buffer) {
        refuse("no memory for ", measure->name);
        return;
    }
    memset(buffer, rank, bytes);
    make_window(bytes);
    if (measure->epoch == FENCES) {
        MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    } else if (measure->epoch == SHARED && rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window);
    }
    double us = mean_us(measure, n, &done);
    if (measure->epoch == FENCES) {
        MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    } else if (measure->epoch == SHARED && rank == 0) {
        MPI_Win_unlock(TARGET, window);
    }
    if (measure->counted >= 0) {
        check_count(measure, done);
    }
    if (rank == 0) {
        printf("%s %d %.5f\n", measure->name, n, measure->value(n, us));
    }
    fflush(stdout);
    free_window();
    free(buffer);
}

static const struct measure *named(const char *name)
{
    for (int i = 0; i < MEASURES; i++) {
        if (strcmp(measures[i].name, name) == 0) {
            return &measures[i];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int first = 1;
    const char *cpus = NULL;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (strcmp(argv[first], "--pin") == 0) {
            cpus = argv[first + 1];
        } else if (strcmp(argv[first], "--ms") == 0) {
            target_s = atof(argv[first + 1]) / 1e3;
        } else if (strcmp(argv[first], "--window") == 0) {
            allocates = strcmp(argv[first + 1], "create") != 0;
        }
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || (cpus && !bench_pin(cpus, rank))) {
        refuse("wants two ranks at least, and processors that exist", "");
    }
    for (int i = first; i + 1 < argc; i += 2) {
        const struct measure *measure = named(argv[i]);
        int n = atoi(argv[i + 1]);
        if (!measure || n < (int)sizeof(int64_t)) {
            refuse("cannot measure ", argv[i]);
            break;
        }
        run(measure, n);
    }
    MPI_Finalize();
    return 0;
}
