/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ping-pong of two ranks, for any MPI:
 *
 *   bench_pair [--pin CPU,CPU] [--ms MILLISECONDS] BYTES...
 *
 * prints for each size `pair BYTES HALF_US`: half the mean round trip in microseconds, over as many
 * round trips as fill the time. Only MPI_Send and MPI_Recv are used.
 */
#include "bench_pin.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 20, TRIPS_MAX = 1 << 22 };

static void trips(int rank, char *buffer, int bytes, int n)
{
    int peer = 1 - rank;
    for (int i = 0; i < n; i++) {
        if (rank == 0) {
            MPI_Send(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        }
        MPI_Recv(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) {
            MPI_Send(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        }
    }
}

/* Rank 0 sends the number of round trips that follow; 0 ends the size. */
static int announced(int rank, int n)
{
    if (rank == 0) {
        MPI_Send(&n, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&n, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return n;
}

static double half_trip_us(int rank, char *buffer, int bytes, double target_s)
{
    double mean = 0.0;
    trips(rank, buffer, bytes, WARM_UP);
    for (int next = 16; (next = announced(rank, next)) > 0;) {
        double start = MPI_Wtime();
        trips(rank, buffer, bytes, next);
        double spent = MPI_Wtime() - start;
        mean = spent / next / 2 * 1e6;
        next = spent >= target_s / 2 || next >= TRIPS_MAX ? 0 : next * 2;
    }
    return mean;
}

int main(int argc, char **argv)
{
    int rank, size, first = 1;
    double target_s = 0.1;
    const char *cpus = NULL;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (strcmp(argv[first], "--pin") == 0) {
            cpus = argv[first + 1];
        } else if (strcmp(argv[first], "--ms") == 0) {
            target_s = atof(argv[first + 1]) / 1e3;
        }
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || (cpus && !bench_pin(cpus, rank))) {
        fprintf(stderr, "bench_pair: wants two ranks, and processors that exist\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = first; i < argc; i++) {
        int bytes = atoi(argv[i]);
        char *buffer = malloc(bytes > 0 ? (size_t)bytes : 1);
        memset(buffer, rank, bytes > 0 ? (size_t)bytes : 1);
        double us = half_trip_us(rank, buffer, bytes, target_s);
        if (rank == 0) {
            printf("pair %d %.4f\n", bytes, us);
        }
        fflush(stdout);
        free(buffer);
    }
    MPI_Finalize();
    return 0;
}
