/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Cancel of sends: MPI_Wait ends, whatever the receiver does, and the message was cancelled and
 * never arrives, or was not and does. Ranks 0 and 1, and each process with itself.
 */
#include "check.h"

#include <string.h>

enum { BYTES_MAX = 2000000, TAG = 5, ANSWER = 6 };
static char out[2][BYTES_MAX], in[BYTES_MAX];
static const int sizes[] = {0, 1, 4096, 5000, 100000, BYTES_MAX};
static int rank, size;

static int cancelled(MPI_Request *request)
{
    MPI_Status status;
    int flag;
    CHECK(MPI_Cancel(request) == MPI_SUCCESS);
    CHECK(MPI_Cancel(request) == MPI_SUCCESS); /* a second time makes no difference */
    CHECK(MPI_Wait(request, &status) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS);
    return flag;
}

static void start(int way, char byte, int bytes, int dest, MPI_Request *request)
{
    char *from = out[way];
    memset(from, byte, (size_t)bytes);
    CHECK((way == 0 ? MPI_Issend : MPI_Isend)(from, bytes, MPI_CHAR, dest, TAG, MPI_COMM_WORLD,
                                              request) == MPI_SUCCESS);
}

static void arrives(int source, char byte, int bytes)
{
    CHECK(MPI_Recv(in, BYTES_MAX, MPI_CHAR, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(bytes == 0 || (in[0] == byte && in[bytes - 1] == byte));
}

static void nothing_arrives(int source)
{
    int flag;
    CHECK(MPI_Iprobe(source, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(!flag);
}

/* No process receives: a synchronous send can only be cancelled. */
static void unmatched(int way, int bytes)
{
    int gone;
    if (rank == 0) {
        MPI_Request request;
        start(way, 'u', bytes, 1, &request);
        gone = cancelled(&request);
        CHECK(gone || way != 0);
        MPI_Send(&gone, 1, MPI_INT, 1, ANSWER, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&gone, 1, MPI_INT, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        gone ? nothing_arrives(0) : arrives(0, 'u', bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A receive is there: the sender finds out. */
static void matched(int way, int bytes)
{
    MPI_Request request;
    int gone = 0;
    if (rank == 1) {
        memset(in, 0, sizeof(in));
        MPI_Irecv(in, BYTES_MAX, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        start(way, 'm', bytes, 1, &request);
        gone = cancelled(&request);
        CHECK(!gone);
        MPI_Send(&gone, 1, MPI_INT, 1, ANSWER, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv(&gone, 1, MPI_INT, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(bytes == 0 || in[bytes - 1] == 'm');
    }
}

/* Of two alike only the first is cancelled. */
static void the_right_one(int bytes)
{
    if (rank == 0) {
        MPI_Request first, second;
        start(0, '1', bytes, 1, &first);
        start(1, '2', bytes, 1, &second);
        CHECK(cancelled(&first));
        MPI_Send(NULL, 0, MPI_INT, 1, ANSWER, MPI_COMM_WORLD);
        CHECK(MPI_Wait(&second, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else if (rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        arrives(0, '2', bytes);
        nothing_arrives(0);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* not before that the next message */
}

static void persistent(int bytes)
{
    if (rank == 0) {
        MPI_Request request;
        MPI_Status status;
        int flag = 1;
        MPI_Ssend_init(out[0], bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        CHECK(cancelled(&request));
        memset(out[0], 'p', (size_t)bytes);
        MPI_Send(NULL, 0, MPI_INT, 1, ANSWER, MPI_COMM_WORLD);
        MPI_Start(&request);
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        MPI_Test_cancelled(&status, &flag);
        CHECK(!flag);
        MPI_Request_free(&request);
    } else if (rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        arrives(0, 'p', bytes);
    }
}

/* The receiver has freed the communicator: messages that have arrived there match no receive any
 * more. */
static void after_the_end(int bytes)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == 0) {
        MPI_Request request;
        CHECK(MPI_Issend(out[0], bytes, MPI_CHAR, 1, TAG, comm, &request) == MPI_SUCCESS);
        MPI_Send(NULL, 0, MPI_INT, 1, ANSWER, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_INT, 1, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(cancelled(&request));
    } else if (rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&comm);
    if (rank == 1) {
        MPI_Send(NULL, 0, MPI_INT, 0, ANSWER, MPI_COMM_WORLD);
    }
}

/* The receiver is in MPI_Finalize, or soon will be. */
static void last_of_all(int bytes)
{
    MPI_Request request;
    start(0, 'l', bytes, 1, &request);
    CHECK(cancelled(&request));
}

static void to_oneself(int bytes)
{
    MPI_Request request, receive;
    start(0, 's', bytes, rank, &request);
    CHECK(cancelled(&request));
    nothing_arrives(rank);
    MPI_Irecv(in, BYTES_MAX, MPI_CHAR, rank, TAG, MPI_COMM_WORLD, &receive);
    start(0, 's', bytes, rank, &request);
    CHECK(!cancelled(&request));
    CHECK(MPI_Wait(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        to_oneself(sizes[i]);
        for (int way = 0; size > 1 && way < 2; way++) {
            unmatched(way, sizes[i]);
            matched(way, sizes[i]);
        }
        if (size > 1) {
            the_right_one(sizes[i]);
            persistent(sizes[i]);
            after_the_end(sizes[i]);
        }
    }
    for (size_t i = 0; size > 1 && rank == 0 && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        last_of_all(sizes[i]);
    }
    MPI_Finalize();
    return 0;
}
