/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of two ranks, for any MPI:
 *
 *   bench_messages [--pin CPU,CPU] [--ms MILLISECONDS] MEASURE N [MEASURE N]...
 *
 * prints a line for each measurement, `MEASURE N VALUE`:
 *
 *   latency N     half the mean round trip of N bytes, microseconds
 *   pingpong N    bandwidth of the same, 10^6 bytes per second
 *   stream N      bandwidth of messages of N bytes, 16 in progress
 *   posted N      10^6 messages of 8 bytes per second: N receives are posted, then all are sent
 *   unexpected N  the same: N messages have arrived before the first receive is called
 *   reverse N     the same, each has a tag of its own, and the one sent last is received first
 *   shuffled N    the same, received in an order drawn at random
 *
 * Each is the mean of the repetitions that fill the time.
 */
#define _GNU_SOURCE
#include "bench_pin.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 16, TIMES_MAX = 1 << 22, SMALL = 8, MESSAGES_MAX = 1 << 20 };
enum { TAG_DATA = 1, TAG_READY = 2, TAG_ALL_SENT = 3, TAG_TIMES = 4 };

static int rank;
static double target_s = 0.05;
static char *buffer; /* the longest message, or N short ones */
static MPI_Request *requests;
static MPI_Status *statuses;
static int *order; /* in which messages are received */

static void empty_send(int to, int tag)
{
    MPI_Send(NULL, 0, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

static void empty_recv(int from, int tag)
{
    MPI_Recv(NULL, 0, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void round_trip(int bytes)
{
    int peer = 1 - rank;
    if (rank == 0) {
        MPI_Send(buffer, bytes, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD);
    }
    MPI_Recv(buffer, bytes, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) {
        MPI_Send(buffer, bytes, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD);
    }
}

static void stream(int bytes)
{
    for (int i = 0; i < WINDOW; i++) {
        if (rank == 0) {
            MPI_Isend(buffer, bytes, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD, &requests[i]);
        } else {
            MPI_Irecv(buffer, bytes, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD, &requests[i]);
        }
    }
    MPI_Waitall(WINDOW, requests, statuses);
    if (rank == 0) {
        empty_recv(1, TAG_READY);
    } else {
        empty_send(0, TAG_READY);
    }
}

static void posted(int n)
{
    if (rank == 0) {
        empty_recv(1, TAG_READY);
        for (int i = 0; i < n; i++) {
            MPI_Isend(buffer, SMALL, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD, &requests[i]);
        }
    } else {
        for (int i = 0; i < n; i++) {
            MPI_Irecv(buffer + (size_t)i * SMALL, SMALL, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD,
                      &requests[i]);
        }
        empty_send(0, TAG_READY);
    }
    MPI_Waitall(n, requests, statuses);
}

/* The message sent last is received first, so that all others have arrived by then. */
static void unexpected_by(int n, int tag_of_first, int tags)
{
    if (rank == 0) {
        for (int i = 0; i < n; i++) {
            MPI_Send(buffer, SMALL, MPI_BYTE, 1, tag_of_first + (tags ? i : 0), MPI_COMM_WORLD);
        }
        empty_send(1, TAG_ALL_SENT);
        empty_recv(1, TAG_READY);
    } else {
        empty_recv(0, TAG_ALL_SENT);
        for (int i = 0; i < n; i++) {
            MPI_Recv(buffer + (size_t)i * SMALL, SMALL, MPI_BYTE, 0,
                     tag_of_first + (tags ? order[i] : 0), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        empty_send(0, TAG_READY);
    }
}

static void unexpected(int n)
{
    unexpected_by(n, TAG_DATA, 0);
}

static void tagged(int n)
{
    unexpected_by(n, TAG_TIMES + 1, 1);
}

static void order_reverse(int n)
{
    for (int i = 0; i < n; i++) {
        order[i] = n - 1 - i;
    }
}

static void order_shuffled(int n)
{
    unsigned seed = 1;
    order_reverse(n);
    for (int i = n - 1; i > 0; i--) {
        seed = seed * 1664525U + 1013904223U; /* Numerical Recipes' generator, alike everywhere */
        int j = (int)((double)seed / 4294967296.0 * (i + 1));
        int kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static double half_trip_us(int n, double us)
{
    (void)n;
    return us / 2;
}

static double of_half_trip(int n, double us)
{
    return n / (us / 2);
}

static double of_window(int n, double us)
{
    return WINDOW * (double)n / us;
}

static double of_messages(int n, double us)
{
    return n / us;
}

static const struct measure {
    const char *name;
    void (*once)(int n);
    double (*value)(int n, double us); /* of one repetition that takes so long */
    void (*prepare)(int n);
    int messages; /* N is their number; else their length */
} measures[] = {
    {"latency", round_trip, half_trip_us, NULL, 0},
    {"pingpong", round_trip, of_half_trip, NULL, 0},
    {"stream", stream, of_window, NULL, 0},
    {"posted", posted, of_messages, NULL, 1},
    {"unexpected", unexpected, of_messages, NULL, 1},
    {"reverse", tagged, of_messages, order_reverse, 1},
    {"shuffled", tagged, of_messages, order_shuffled, 1},
};
enum { MEASURES = sizeof(measures) / sizeof(measures[0]) };

/* Rank 0 says how many repetitions follow; 0 ends the measurement. */
static int announced(int times)
{
    if (rank == 0) {
        MPI_Send(&times, 1, MPI_INT, 1, TAG_TIMES, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&times, 1, MPI_INT, 0, TAG_TIMES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return times;
}

static double mean_us(const struct measure *measure, int n)
{
    double us = 0;
    measure->once(n); /* first, so that buffers are there */
    for (int times = 1, filled = 0; (times = announced(times)) > 0;) {
        double start = MPI_Wtime();
        for (int i = 0; i < times; i++) {
            measure->once(n);
        }
        double spent = MPI_Wtime() - start;
        us = spent / times * 1e6;
        filled = spent >= target_s / 2 ? filled + 1 : 0; /* twice: the first may take long once */
        times = filled == 2 || times >= TIMES_MAX ? 0 : times * (filled ? 1 : 2);
    }
    return us;
}

static void run(const struct measure *measure, int n)
{
    size_t bytes = (size_t)n * (measure->messages ? SMALL : 1);
    size_t several = (size_t)(measure->messages && n > WINDOW ? n : WINDOW);
    buffer = malloc(bytes);
    requests = malloc(several * sizeof(*requests));
    statuses = malloc(several * sizeof(*statuses));
    order = malloc(several * sizeof(*order));
    if (!buffer || !requests || !statuses || !order) {
        fprintf(stderr, "bench_messages: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    memset(buffer, rank, bytes);
    if (measure->prepare) {
        measure->prepare(n);
    }
    double us = mean_us(measure, n);
    if (rank == 0) {
        printf("%s %d %.5f\n", measure->name, n, measure->value(n, us));
    }
    fflush(stdout);
    free(buffer);
    free(requests);
    free(statuses);
    free(order);
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
    int size, first = 1;
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
        fprintf(stderr, "bench_messages: wants two ranks, and processors that exist\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = first; i + 1 < argc; i += 2) {
        const struct measure *measure = named(argv[i]);
        int n = atoi(argv[i + 1]);
        if (!measure || n < 1 || (measure->messages && n > MESSAGES_MAX)) {
            fprintf(stderr, "bench_messages: cannot measure %s %s\n", argv[i], argv[i + 1]);
            MPI_Abort(MPI_COMM_WORLD, 1);
            break;
        }
        run(measure, n);
    }
    MPI_Finalize();
    return 0;
}
