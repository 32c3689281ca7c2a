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
 *   posted     N times 32 MPI_Irecv by rank 0, and MPI_Waitall when their messages are there
 *   unexpected N times 32 MPI_Recv by rank 0, of messages that have arrived during an MPI_Recv of
 *              another one
 *   allreduce  N MPI_Allreduce of one double on MPI_COMM_SELF, by rank 0
 *   bcast      N MPI_Bcast of 8 bytes from rank 0 to rank 1, which is not in an MPI call meanwhile
 *   bcast-leaf as bcast, from rank 1 to rank 0; the message is there when the call begins
 *   reduce     N MPI_Reduce of one double (MPI_SUM) to rank 0; the value of rank 1 is there when
 *              the call begins
 *   reduce-leaf as reduce, to rank 1, which is not in an MPI call meanwhile
 *   put        N MPI_Put of 8 bytes to rank 1 and MPI_Win_flush, within MPI_Win_lock of a window of
 *              MPI_Win_allocate
 *   get        as put, by MPI_Get
 *   fetch      as put, by MPI_Fetch_and_op: MPI_SUM of an int64_t
 *   swap       as put, by MPI_Compare_and_swap
 *   lock       N MPI_Win_lock (exclusive), MPI_Put of 8 bytes, MPI_Win_unlock
 *
 * FILE holds zero bytes and is mapped by both ranks, which take turns by it: no MPI call waits, so
 * each call takes the same number of instructions each time. The calls of `valgrind
 * --tool=callgrind --toggle-collect='*MPI_Send'` with two values of N differ by those of one call
 * times the difference of N. Of a collective operation both ranks call the same function, so
 * the calls of one rank are those below the function `counted_call` of this program.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
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

enum { SEVERAL = 32, TAG_SEVERAL = 2, TAG_LAST = 3 };

static double results[SEVERAL];
static MPI_Request requests[SEVERAL];

static void irecv_several(int peer)
{
    for (int i = 0; i < SEVERAL; i++) {
        MPI_Irecv(&results[i], 8, MPI_BYTE, peer, TAG_SEVERAL, MPI_COMM_WORLD, &requests[i]);
    }
}

static void waitall_several(int peer)
{
    (void)peer;
    MPI_Waitall(SEVERAL, requests, MPI_STATUSES_IGNORE);
}

static void send_several(int peer)
{
    for (int i = 0; i < SEVERAL; i++) {
        MPI_Send(&value, 8, MPI_BYTE, peer, TAG_SEVERAL, MPI_COMM_WORLD);
    }
}

static void send_several_and_last(int peer)
{
    send_several(peer);
    MPI_Send(&value, 8, MPI_BYTE, peer, TAG_LAST, MPI_COMM_WORLD);
}

/* The message sent last is received first. */
static void recv_last_and_several(int peer)
{
    MPI_Recv(&result, 8, MPI_BYTE, peer, TAG_LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < SEVERAL; i++) {
        MPI_Recv(&results[i], 8, MPI_BYTE, peer, TAG_SEVERAL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void allreduce_one(int peer)
{
    (void)peer;
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void bcast_from(int root)
{
    MPI_Bcast(&value, 8, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void reduce_to(int root)
{
    MPI_Reduce(&value, &result, 1, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
}

static void bcast_here(int peer)
{
    bcast_from(1 - peer);
}

static void reduce_here(int peer)
{
    reduce_to(1 - peer);
}

/* Not inlined: valgrind knows it by its name. */
void counted_call(void (*call)(int root), int root) __attribute__((noinline));
void counted_call(void (*call)(int root), int root)
{
    call(root);
}

static void bcast_root(int peer)
{
    counted_call(bcast_from, 1 - peer);
}

static void bcast_leaf(int peer)
{
    counted_call(bcast_from, peer);
}

static void reduce_root(int peer)
{
    counted_call(reduce_to, 1 - peer);
}

static void reduce_leaf(int peer)
{
    counted_call(reduce_to, peer);
}

static MPI_Win window;
static const int64_t one = 1;

static void put_one(int peer)
{
    MPI_Put(&value, 8, MPI_BYTE, peer, 0, 8, MPI_BYTE, window);
    MPI_Win_flush(peer, window);
}

static void get_one(int peer)
{
    MPI_Get(&result, 8, MPI_BYTE, peer, 0, 8, MPI_BYTE, window);
    MPI_Win_flush(peer, window);
}

static void fetch_one(int peer)
{
    MPI_Fetch_and_op(&one, &result, MPI_INT64_T, peer, 0, MPI_SUM, window);
    MPI_Win_flush(peer, window);
}

static void swap_one(int peer)
{
    MPI_Compare_and_swap(&one, &one, &result, MPI_INT64_T, peer, 0, window);
    MPI_Win_flush(peer, window);
}

static void lock_one(int peer)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, window);
    MPI_Put(&value, 8, MPI_BYTE, peer, 0, 8, MPI_BYTE, window);
    MPI_Win_unlock(peer, window);
}

static void nothing(int peer)
{
    (void)peer;
}

enum window_use { NO_WINDOW, LOCKED, NOT_LOCKED };

/* What rank 0 does and is counted, and what rank 1 does before or after that, by another call; then
 * what rank 0 does at the end, which is counted as well. */
static const struct {
    const char *name;
    void (*before)(int peer), (*counted)(int peer), (*after)(int peer);
    enum window_use window;
    void (*end)(int peer); /* or NULL */
} cases[] = {
    {"send", nothing, send_one, irecv_one, NO_WINDOW, NULL},
    {"recv", isend_one, recv_one, nothing, NO_WINDOW, NULL},
    {"isend", nothing, isend_one, recv_one, NO_WINDOW, NULL},
    {"irecv", send_one, irecv_one, nothing, NO_WINDOW, NULL},
    {"posted", nothing, irecv_several, send_several, NO_WINDOW, waitall_several},
    {"unexpected", send_several_and_last, recv_last_and_several, nothing, NO_WINDOW, NULL},
    {"allreduce", nothing, allreduce_one, nothing, NO_WINDOW, NULL},
    {"bcast", nothing, bcast_root, bcast_from, NO_WINDOW, NULL},
    {"bcast-leaf", bcast_here, bcast_leaf, nothing, NO_WINDOW, NULL},
    {"reduce", reduce_to, reduce_root, nothing, NO_WINDOW, NULL},
    {"reduce-leaf", nothing, reduce_leaf, reduce_here, NO_WINDOW, NULL},
    {"put", nothing, put_one, nothing, LOCKED, NULL},
    {"get", nothing, get_one, nothing, LOCKED, NULL},
    {"fetch", nothing, fetch_one, nothing, LOCKED, NULL},
    {"swap", nothing, swap_one, nothing, LOCKED, NULL},
    {"lock", nothing, lock_one, nothing, NOT_LOCKED, NULL},
};

static void window_begin(enum window_use use)
{
    void *memory;
    if (use == NO_WINDOW) {
        return;
    }
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    if (use == LOCKED && rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
    }
}

static void window_end(enum window_use use)
{
    if (use == LOCKED && rank == 0) {
        MPI_Win_unlock(1, window);
    }
    if (use != NO_WINDOW) {
        MPI_Win_free(&window);
    }
}

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
        fprintf(stderr, "usage: bench_calls FILE CALL N; FILE has 4096 zero bytes; CALL is one of");
        for (i = 0; i < n_cases; i++) {
            fprintf(stderr, " %s", cases[i].name);
        }
        fprintf(stderr, "\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    turn = at;
    long n = atol(argv[3]);
    /* Both connect first, by a call that is not counted. */
    MPI_Sendrecv(&value, 8, MPI_BYTE, 1 - rank, 0, &result, 8, MPI_BYTE, 1 - rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    window_begin(cases[i].window);
    for (long k = 0; k < n; k++) {
        step(1, cases[i].before);
        step(0, cases[i].counted);
        step(1, cases[i].after);
        if (cases[i].end) {
            step(0, cases[i].end);
        }
    }
    window_end(cases[i].window);
    close(fd);
    MPI_Finalize();
    return 0;
}
