/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dates of one job on one machine, in memory that all its processes can write although some fail: a
 * mapped file beside the program. CLOCK_MONOTONIC, in nanoseconds; 0: did not happen.
 */
#ifndef BENCH_DATES_H
#define BENCH_DATES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h> /* some need mpi.h first */
#endif

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { BENCH_RANKS_MAX = 4096, BENCH_SETTLE_MS = 100 };

struct bench_dates {
    volatile long long killed;
    volatile long long at[BENCH_RANKS_MAX], more[BENCH_RANKS_MAX];
};

static inline long long bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline void bench_sleep_ms(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    while (nanosleep(&t, &t) != 0) {
    }
}

/* The dates of a program called `argv0`; fresh: a new file, before any other process opens it. */
static struct bench_dates *bench_dates_open(const char *argv0, int fresh)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s.dates", argv0);
    if (fresh) {
        unlink(path);
    }
    int fd = open(path, fresh ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600);
    void *at = MAP_FAILED;
    if (fd >= 0 && (!fresh || ftruncate(fd, (off_t)sizeof(struct bench_dates)) == 0)) {
        at = mmap(NULL, sizeof(struct bench_dates), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (at == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    close(fd);
    return at;
}

/* For a whole world: all ranks return with the dates open. */
static inline struct bench_dates *bench_dates_of_world(const char *argv0)
{
    struct bench_dates *dates = NULL;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > BENCH_RANKS_MAX) {
        fprintf(stderr, "%s: at most %d ranks\n", argv0, BENCH_RANKS_MAX);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0) {
        dates = bench_dates_open(argv0, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return rank == 0 ? dates : bench_dates_open(argv0, 0);
}

/* Fails, with this number of mebibytes resident, when all other processes are asleep in a call. */
static inline _Noreturn void bench_fail(struct bench_dates *dates, size_t mebibytes)
{
    char *ballast = malloc((mebibytes << 20) + 1);
    if (!ballast) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    memset(ballast, 1, mebibytes << 20);
    bench_sleep_ms(BENCH_SETTLE_MS);
    dates->killed = 0; /* the page is there: no fault between the clock and the kill */
    dates->killed = bench_now();
    kill(getpid(), SIGKILL);
    for (;;) {
        pause();
    }
}

/* The class of a call's return value. */
static inline int bench_class(int code)
{
    int error_class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &error_class);
    }
    return error_class;
}

static inline int bench_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double bench_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), bench_by_value);
    return n > 0 ? (values[(n - 1) / 2] + values[n / 2]) / 2 : 0;
}

/*
 * Ends the program. After a failure not every MPI returns from MPI_Finalize (some 20 % of the jobs
 * of Open MPI 5.0.7 hang there), so the others end without it, after the figures were written.
 */
static inline int bench_finish(int after_failure)
{
    fflush(stdout);
#ifndef RHIZOME
    if (after_failure) {
        bench_sleep_ms(500);
        _exit(0);
    }
#endif
    (void)after_failure;
    MPI_Finalize();
    return 0;
}

#endif
