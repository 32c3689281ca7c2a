/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops with which users compare MPI libraries, for any MPI: collective calls one at a time,
 * round trips of two buffers, and messages of several threads:
 *
 *   bench_loops [--pin CPU,CPU,...] [--ms MILLISECONDS] LOOP N [LOOP N]...
 *
 * prints a line for each, `LOOP N VALUE WHOLE`:
 *
 *   barrier 0      barriers in a row: one call, microseconds
 *   bcast N        one call of N bytes from rank 0, microseconds, the mean of all ranks. Behind
 *                  each call all ranks meet in a barrier, which does not count
 *   allreduce N    the same
 *   alltoall N     the same, N bytes from each rank to each other
 *   trip N         two ranks: half a round trip of N bytes, sent from one buffer and received in
 *                  another one, microseconds
 *   fresh N        the same, with data that each sender has just written, and each receiver reads
 *   latency N      two ranks: half a round trip of 8 bytes, microseconds, between N threads of one
 *                  and N of the other, each with a partner and a tag of its own
 *   rate N         two ranks: 10^6 messages of 8 bytes per second, of N such threads together, each
 *                  with 64 in progress
 *
 * WHOLE: microseconds of the slowest rank from one call to the next, with the barrier. Each is the
 * mean of the repetitions that fill the time. Where a loop of threads is asked for, MPI is
 * initialised for several threads, for all loops.
 */
#define _GNU_SOURCE
#include "bench_pin.h"

#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 64,
    SMALL = 8,
    CACHE_LINE = 64,
    WARM_UP = 20,
    TIMES_MAX = 1 << 22,
    LONGEST = 4 << 20
};
enum { THREADS_MAX = 16, TAG_TRIP = 1, TAG_THREADS = 2 };

static int rank, size;
static double target_s = 0.02;
static char *out, *in;

static void barrier(int bytes)
{
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(int bytes)
{
    MPI_Bcast(out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void allreduce(int bytes)
{
    MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(int bytes)
{
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void trip(int bytes)
{
    if (rank == 0) {
        MPI_Send(out, bytes, MPI_BYTE, 1, TAG_TRIP, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, 1, TAG_TRIP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(in, bytes, MPI_BYTE, 0, TAG_TRIP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, bytes, MPI_BYTE, 0, TAG_TRIP, MPI_COMM_WORLD);
    }
}

/* What a program does with data: it has written what it sends, and reads what it gets. */
static void use(int bytes)
{
    static unsigned char times;
    memset(out, ++times, (size_t)bytes);
    for (int i = 0; i < bytes; i += CACHE_LINE) {
        (void)*(volatile const char *)&in[i];
    }
}

static void fresh(int bytes)
{
    if (rank == 0) {
        use(bytes);
        trip(bytes);
    } else if (rank == 1) {
        MPI_Recv(in, bytes, MPI_BYTE, 0, TAG_TRIP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        use(bytes);
        MPI_Send(out, bytes, MPI_BYTE, 0, TAG_TRIP, MPI_COMM_WORLD);
    }
}

/* ---- Threads ---- */

struct thread {
    pthread_t id;
    int tag, times;
    double spent; /* seconds */
    void (*once)(int tag);
};

static pthread_barrier_t together;

static void round_trip(int tag)
{
    char data[SMALL] = {0};
    if (rank == 0) {
        MPI_Send(data, SMALL, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
        MPI_Recv(data, SMALL, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(data, SMALL, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, SMALL, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
    }
}

static void window(int tag)
{
    char data[WINDOW][SMALL] = {{0}};
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        if (rank == 0) {
            MPI_Isend(data[i], SMALL, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &requests[i]);
        } else {
            MPI_Irecv(data[i], SMALL, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &requests[i]);
        }
    }
    MPI_Waitall(WINDOW, requests, statuses);
    if (rank == 0) {
        MPI_Recv(data[0], SMALL, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(data[0], SMALL, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
    }
}

static void *thread_main(void *arg)
{
    struct thread *thread = arg;
    thread->once(thread->tag);
    pthread_barrier_wait(&together);
    double start = MPI_Wtime();
    for (int i = 0; i < thread->times; i++) {
        thread->once(thread->tag);
    }
    thread->spent = MPI_Wtime() - start;
    return NULL;
}

/* Seconds of the slowest of n threads. */
static double by_threads(void (*once)(int tag), int n, int times)
{
    struct thread threads[THREADS_MAX];
    double slowest = 0;
    pthread_barrier_init(&together, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        threads[i] = (struct thread){.tag = TAG_THREADS + i, .times = times, .once = once};
        if (pthread_create(&threads[i].id, NULL, thread_main, &threads[i]) != 0) {
            fprintf(stderr, "bench_loops: no thread\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i].id, NULL);
        slowest = threads[i].spent > slowest ? threads[i].spent : slowest;
    }
    pthread_barrier_destroy(&together);
    return slowest;
}

static double half_trip_us(int n, double us)
{
    (void)n;
    return us / 2;
}

static double of_windows(int n, double us)
{
    return n * WINDOW / us;
}

/* ---- Loops ---- */

static const struct loop {
    const char *name;
    void (*call)(int bytes); /* a collective call */
    int apart;               /* a barrier before each, which is not counted */
    void (*once)(int tag);   /* what a thread repeats */
    double (*value)(int n, double us);
} loops[] = {
    {"barrier", barrier, 0, NULL, NULL},
    {"bcast", bcast, 1, NULL, NULL},
    {"allreduce", allreduce, 1, NULL, NULL},
    {"alltoall", alltoall, 1, NULL, NULL},
    {"trip", trip, 0, NULL, half_trip_us},
    {"fresh", fresh, 0, NULL, half_trip_us},
    {"latency", NULL, 0, round_trip, half_trip_us},
    {"rate", NULL, 0, window, of_windows},
};
enum { LOOPS = sizeof(loops) / sizeof(loops[0]) };

/* Seconds that this rank was in the calls. */
static double by_calls(const struct loop *loop, int bytes, int times)
{
    double spent = 0;
    for (int i = 0; i < times; i++) {
        double start = MPI_Wtime();
        loop->call(bytes);
        spent += MPI_Wtime() - start;
        if (loop->apart) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    return spent;
}

static double spent_by(const struct loop *loop, int n, int times)
{
    return loop->call ? by_calls(loop, n, times) : by_threads(loop->once, n, times);
}

struct result {
    double call, whole; /* microseconds of one */
};

/* Rank 0 decides how often, until that fills the time: twice, for the first calls may take long
 * once. */
static struct result measured(const struct loop *loop, int n)
{
    struct result result = {0, 0};
    int times = WARM_UP, filled = 0;
    spent_by(loop, n, WARM_UP);
    while (times > 0) {
        int now = times;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        double call = spent_by(loop, n, now) / now * 1e6;
        double spent = MPI_Wtime() - start, whole = spent / now * 1e6;
        MPI_Allreduce(&call, &result.call, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(&whole, &result.whole, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        filled = spent >= target_s / 2 ? filled + 1 : 0;
        times = filled == 2 || now >= TIMES_MAX ? 0 : now * (filled ? 1 : 2);
        MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    result.call /= size;
    return result;
}

static const struct loop *named(const char *name)
{
    for (int i = 0; i < LOOPS; i++) {
        if (strcmp(loops[i].name, name) == 0) {
            return &loops[i];
        }
    }
    return NULL;
}

static int can_run(const struct loop *loop, int n)
{
    return loop && n >= 0 && n <= LONGEST &&
           (!loop->once || (n >= 1 && n <= THREADS_MAX && size == 2));
}

static void run(const struct loop *loop, int n)
{
    size_t parts = loop->call == alltoall ? (size_t)size : 1;
    memset(out, 0, (size_t)n * parts); /* pages of its own, not that of zeros */
    struct result result = measured(loop, n);
    if (rank == 0) {
        double value = loop->value ? loop->value(n, result.call) : result.call;
        printf("%s %d %.5f %.5f\n", loop->name, n, value, result.whole);
        fflush(stdout);
    }
}

static int wants_threads(int argc, char **argv)
{
    int wants = 0;
    for (int i = 1; i < argc; i++) {
        const struct loop *loop = named(argv[i]);
        wants |= loop && loop->once;
    }
    return wants;
}

int main(int argc, char **argv)
{
    int first = 1, provided;
    int wanted = wants_threads(argc, argv) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    const char *cpus = NULL;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (strcmp(argv[first], "--pin") == 0) {
            cpus = argv[first + 1];
        } else if (strcmp(argv[first], "--ms") == 0) {
            target_s = atof(argv[first + 1]) / 1e3;
        }
    }
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = calloc((size_t)size, LONGEST); /* pages that are not used take no memory */
    in = calloc((size_t)size, LONGEST);
    if (provided < wanted || !out || !in || (cpus && !bench_pin(cpus, rank))) {
        fprintf(stderr, "bench_loops: no threads, no memory, or processors that do not exist\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = first; i + 1 < argc; i += 2) {
        const struct loop *loop = named(argv[i]);
        int n = atoi(argv[i + 1]);
        if (!can_run(loop, n)) {
            fprintf(stderr, "bench_loops: cannot run %s %s\n", argv[i], argv[i + 1]);
            MPI_Abort(MPI_COMM_WORLD, 1);
            break;
        }
        run(loop, n);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
