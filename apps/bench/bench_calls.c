/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shortest paths through a few calls, for any MPI, to be counted in instructions:
 *
 *   bench_calls FILE CALL N
 *
 * CALL is one of
 *
 *   send       N MPI_Send of 8 bytes from rank 0 to rank 1, which is not in an MPI call meanwhile
 *   recv       N MPI_Recv of 8 bytes by rank 0; the message is there when the call begins
 *   isend      as send, by MPI_Isend and MPI_Wait
 *   irecv      as recv, by MPI_Irecv and MPI_Wait
 *   allreduce  N MPI_Allreduce of one double on MPI_COMM_SELF, by rank 0
 *
 * FILE holds zero bytes and is mapped by both ranks, which take turns by it: no MPI call waits, so
 * each call takes the same number of instructions each time. The calls of `valgrind
 * --tool=callgrind --toggle-collect='*MPI_Send'` with two values of N differ by those of one call
 * times the difference of N.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int rank;
static _Atomic long *turn; /* how many steps have ended */

/* The next step of both ranks: this rank's call, when all earlier steps have ended. */
static void step(int of, void (*call)(int peer))
{
    static long steps;
    if (rank == of) {
        while (*turn != steps) {
            sched_yield();
        }
        call(1 - rank);
        *turn = steps + 1;
    }
    steps++;
}

static double value = 1, result;

static void send_one(int peer)
{
    MPI_Send(&value, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
}

static void recv_one(int peer)
{
    MPI_Recv(&result, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void isend_one(int peer)
{
    MPI_Request request;
    MPI_Isend(&value, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void irecv_one(int peer)
{
    MPI_Request request;
    MPI_Irecv(&result, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void allreduce_one(int peer)
{
    (void)peer;
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void nothing(int peer)
{
    (void)peer;
}

/* What rank 0 does and is counted, and what rank 1 does before or after that, by another call. */
static const struct {
    const char *name;
    void (*before)(int peer), (*counted)(int peer), (*after)(int peer);
} cases[] = {
    {"send", nothing, send_one, irecv_one},         {"recv", isend_one, recv_one, nothing},
    {"isend", nothing, isend_one, recv_one},        {"irecv", send_one, irecv_one, nothing},
    {"allreduce", nothing, allreduce_one, nothing},
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int fd = argc == 4 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
    void *at = fd >= 0 ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    size_t i = 0, n_cases = sizeof(cases) / sizeof(cases[0]);
    while (i < n_cases && argc == 4 && strcmp(argv[2], cases[i].name) != 0) {
        i++;
    }
    if (at == MAP_FAILED || i == n_cases) {
        fprintf(stderr, "usage: bench_calls FILE send|recv|isend|irecv|allreduce N; FILE has 4096 "
                        "zero bytes\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    turn = at;
    long n = atol(argv[3]);
    /* Both connect first, by a call that is not counted. */
    MPI_Sendrecv(&value, 8, MPI_BYTE, 1 - rank, 0, &result, 8, MPI_BYTE, 1 - rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (long k = 0; k < n; k++) {
        step(1, cases[i].before);
        step(0, cases[i].counted);
        step(1, cases[i].after);
    }
    close(fd);
    MPI_Finalize();
    return 0;
}
