/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point-to-point and collective calls, for any MPI:
 *
 *   bench_mpi [--pin CPU,CPU,...] [--ms MILLISECONDS] [--quick]
 *
 * prints a line for each measurement, `NAME BYTES VALUE SWITCHES`:
 *
 *   latency    half the mean round trip of two ranks, microseconds
 *   bandwidth  two ranks, 16 messages in progress, 10^6 bytes per second
 *   barrier, allreduce, alltoall
 *              one call on all ranks, that of the slowest rank, microseconds (bytes: per rank, and
 *              per pair)
 *
 * Latency and bandwidth are measured with two ranks. Each is the mean of the repetitions that fill
 * the time. SWITCHES: voluntary context switches of all ranks per 10,000 repetitions, which is how
 * often a rank slept.
 */
#define _GNU_SOURCE
#include "bench_pin.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { WARM_UP = 20, TIMES_MAX = 1 << 22, WINDOW = 16, PAIR = 2 };

static int rank, size, quick;
static double target_s = 0.05;
static char *out, *in; /* room for the largest message, and for alltoall */

static void latency(int bytes, int n)
{
    int peer = 1 - rank;
    for (int i = 0; i < n; i++) {
        if (rank == 0) {
            MPI_Send(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        }
        MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) {
            MPI_Send(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        }
    }
}

static void bandwidth(int bytes, int n)
{
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < WINDOW; k++) {
            if (rank == 0) {
                MPI_Isend(out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[k]);
            } else {
                MPI_Irecv(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[k]);
            }
        }
        MPI_Waitall(WINDOW, requests, statuses);
        if (rank == 0) {
            MPI_Recv(in, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(out, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        }
    }
}

static void barrier(int bytes, int n)
{
    (void)bytes;
    for (int i = 0; i < n; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void allreduce(int bytes, int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Allreduce(out, in, bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void alltoall(int bytes, int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    }
}

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

/* All ranks see the same slowest time, so all stop at the same number of repetitions. */
static void measure(const char *name, void (*calls)(int bytes, int n), int bytes)
{
    double slowest = 0;
    long slept = 0;
    int n = 1;
    memset(out, 0, (size_t)bytes);
    calls(bytes, bytes <= 65536 ? WARM_UP : 2);
    for (;; n *= 2) {
        MPI_Barrier(MPI_COMM_WORLD);
        long before = switches();
        double start = MPI_Wtime();
        calls(bytes, n);
        double spent = MPI_Wtime() - start;
        long mine = switches() - before;
        MPI_Allreduce(&spent, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        MPI_Allreduce(&mine, &slept, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (slowest >= target_s / 2 || n >= TIMES_MAX) {
            break;
        }
    }
    double us = slowest / n * 1e6;
    double value = calls == latency     ? us / 2
                   : calls == bandwidth ? WINDOW * (double)bytes / us
                                        : us;
    if (rank == 0) {
        printf("%s %d %.4f %.1f\n", name, bytes, value, (double)slept / n * 1e4);
    }
    fflush(stdout);
}

static void measure_pair(void)
{
    static const int sizes[] = {8, 64, 512, 4096, 32768, 65536, 262144, 1048576, 4194304};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i += quick ? 4 : 1) {
        measure("latency", latency, sizes[i]);
    }
    measure("bandwidth", bandwidth, 65536);
    for (int bytes = 1048576; !quick && bytes <= 4194304; bytes *= 4) {
        measure("bandwidth", bandwidth, bytes);
    }
}

int main(int argc, char **argv)
{
    const char *cpus = NULL;
    for (int i = 1; i < argc; i++) {
        quick = quick || strcmp(argv[i], "--quick") == 0;
        if (i + 1 < argc && strcmp(argv[i], "--pin") == 0) {
            cpus = argv[i + 1];
        } else if (i + 1 < argc && strcmp(argv[i], "--ms") == 0) {
            target_s = atof(argv[i + 1]) / 1e3;
        }
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    size_t room = size == PAIR ? 4194304 : (size_t)size * 4096;
    out = calloc(room, 1);
    in = calloc(room, 1);
    if (!out || !in || (cpus && !bench_pin(cpus, rank))) {
        fprintf(stderr, "bench_mpi: no memory, or processors that do not exist\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (size == PAIR) {
        measure_pair();
    }
    measure("barrier", barrier, 0);
    measure("allreduce", allreduce, 8);
    measure("allreduce", allreduce, 4096);
    measure("alltoall", alltoall, 8);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
