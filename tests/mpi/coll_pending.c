/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Thousands of collective operations that are under way at once, on two communicators, with
 * point-to-point messages behind them: each ends with the right result, in whatever order the
 * program ends them. The last rank begins late, so that none can end before all have begun. It ends
 * within the time of a test only if a round of progress does not look at each of them. With the
 * argument fails the last rank fails instead of beginning: all operations that need it end with an
 * error, and as many are begun by the others.
 */
#include "ulfm.h"

#include <mpi-ext.h>
#include <signal.h>
#include <string.h>

enum { N = 6000, KINDS = 5, PERSISTENT = 64 };

static int rank, size;
static MPI_Comm comms[2];
static MPI_Request requests[N];
static long in[N], out[N];

static void expect(int i)
{
    switch (i % KINDS) {
    case 0:
        CHECK(out[i] == (long)size * i + (long)size * (size - 1) / 2);
        break;
    case 1:
        CHECK(out[i] == 7L * i);
        break;
    case 2:
        CHECK(out[i] == size - 1 + i);
        break;
    case 3:
        CHECK(out[i] == (rank == i % size ? (long)size * i + (long)size * (size - 1) / 2 : -1));
        break;
    default:
        break;
    }
}

static void begin(int i)
{
    MPI_Comm comm = comms[i / 3 % 2];
    int root = i % size;
    in[i] = rank + i;
    out[i] = -1;
    switch (i % KINDS) {
    case 0:
        MPI_Iallreduce(&in[i], &out[i], 1, MPI_LONG, MPI_SUM, comm, &requests[i]);
        break;
    case 1:
        out[i] = rank == root ? 7L * i : -1;
        MPI_Ibcast(&out[i], 1, MPI_LONG, root, comm, &requests[i]);
        break;
    case 2:
        MPI_Iallreduce(&in[i], &out[i], 1, MPI_LONG, MPI_MAX, comm, &requests[i]);
        break;
    case 3:
        MPI_Ireduce(&in[i], &out[i], 1, MPI_LONG, MPI_SUM, root, comm, &requests[i]);
        break;
    default:
        MPI_Ibarrier(comm, &requests[i]);
        break;
    }
}

/* The last rank begins when it has got a message that the others send when all of theirs have
 * begun. */
static void begin_all(void)
{
    int word = 0;
    if (rank == size - 1) {
        for (int peer = 0; peer < size - 1; peer++) {
            MPI_Recv(&word, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    for (int i = 0; i < N; i++) {
        begin(i);
    }
    if (rank < size - 1) {
        MPI_Send(&word, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
    }
}

static void end_in_reverse(void)
{
    for (int i = N - 1; i >= 0; i--) {
        CHECK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        expect(i);
    }
}

static void end_all(void)
{
    CHECK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < N; i++) {
        expect(i);
    }
}

static void end_some(void)
{
    static int places[N];
    for (int left = N, n; left > 0; left -= n) {
        CHECK(MPI_Waitsome(N, requests, &n, places, MPI_STATUSES_IGNORE) == MPI_SUCCESS && n > 0);
        for (int k = 0; k < n; k++) {
            expect(places[k]);
        }
    }
}

/* Each ends only by tests, beside a message that needs progress as well. */
static void end_by_tests(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, word = rank, got = -1, flag;
    MPI_Request pair[2];
    MPI_Irecv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &pair[0]);
    MPI_Issend(&word, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &pair[1]);
    for (int i = 0; i < N; i++) {
        int k = (int)(i * 4001LL % N);
        do {
            CHECK(MPI_Test(&requests[k], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        } while (!flag);
        expect(k);
    }
    CHECK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE) == MPI_SUCCESS && got == left);
}

/* The same requests begin again and again; those of one rank in another order. */
static void persistent(void)
{
    static MPI_Request kept[PERSISTENT];
    for (int i = 0; i < PERSISTENT; i++) {
        MPI_Allreduce_init(&in[i], &out[i], 1, MPI_LONG, MPI_SUM, comms[i % 2], MPI_INFO_NULL,
                           &kept[i]);
    }
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < PERSISTENT; i++) {
            int k = rank == 0 ? PERSISTENT - 1 - i : i;
            in[k] = rank + k + round;
            CHECK(MPI_Start(&kept[k]) == MPI_SUCCESS);
        }
        CHECK(MPI_Waitall(PERSISTENT, kept, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (int i = 0; i < PERSISTENT; i++) {
            CHECK(out[i] == (long)size * (i + round) + (long)size * (size - 1) / 2);
        }
    }
    for (int i = 0; i < PERSISTENT; i++) {
        MPI_Request_free(&kept[i]);
    }
}

static void fails(void)
{
    MPI_Comm survivors;
    int failures = 0;
    for (int k = 0; k < 2; k++) {
        MPI_Comm_set_errhandler(comms[k], MPI_ERRORS_RETURN);
    }
    if (rank == size - 1) {
        int word;
        for (int peer = 0; peer < size - 1; peer++) {
            MPI_Recv(&word, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        raise(SIGKILL);
    }
    begin_all();
    for (int i = 0; i < N; i++) {
        int error = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_PROC_FAILED);
        failures += error != MPI_SUCCESS;
    }
    CHECK(failures >= N / KINDS); /* at least each MPI_Iallreduce of one kind */
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors) == MPI_SUCCESS);
    MPI_Comm_rank(survivors, &rank);
    MPI_Comm_size(survivors, &size);
    for (int k = 0; k < 2; k++) {
        MPI_Comm_free(&comms[k]);
        MPI_Comm_dup(survivors, &comms[k]);
    }
    for (int i = 0; i < N; i++) {
        begin(i);
    }
    end_all();
    MPI_Comm_free(&survivors);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comms[1]);
    void (*const ends[])(void) = {end_in_reverse, end_all, end_some, end_by_tests};
    if (argc > 1 && strcmp(argv[1], "fails") == 0) {
        fails();
    } else {
        for (int k = 0; k < 4; k++) {
            begin_all();
            ends[k]();
        }
        persistent();
    }
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    MPI_Finalize();
    return 0;
}
