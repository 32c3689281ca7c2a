/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reduction function of the program that communicates, an error: its calls are refused, and the
 * operation below which it runs goes on as if it had made none. Without an argument errors return;
 * "fatal": the first call ends the job.
 */
#include "check.h"

#include <mpi-ext.h>
#include <rhizome/checkpoint.h>
#include <string.h>

enum { ROUNDS = 200, LONG = 5000 };

static int rank, size, calls;
static MPI_Request pending;
static MPI_Win win;

static int refused(int error)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    return class_of(error) == MPI_ERR_OTHER && strstr(text, "must not communicate") != NULL;
}

static void communicates(void)
{
    int flag, value = 0, sum, acknowledged;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(
        refused(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE)));
    CHECK(refused(MPI_Send(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD)));
    CHECK(refused(MPI_Recv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)));
    CHECK(refused(MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request)));
    CHECK(refused(MPI_Test(&pending, &flag, MPI_STATUS_IGNORE)));
    CHECK(refused(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)));
    CHECK(refused(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF)));
    CHECK(refused(MPI_Ibarrier(MPI_COMM_WORLD, &request)));
    CHECK(refused(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win)));
    /* Inquiries are no communication. */
    CHECK(MPIX_Comm_is_revoked(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 0, &acknowledged) == MPI_SUCCESS);
    CHECK(RZ_Alive() == MPI_SUCCESS);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *datatype)
{
    int flag, bytes;
    CHECK(MPI_Type_size(*datatype, &bytes) == MPI_SUCCESS && bytes == (int)sizeof(int));
    if (calls++ % 8 == 0) {
        communicates();
    } else {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < *n; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
    }
}

static void are_sums(const int *sums, int n, int first)
{
    for (int i = 0; i < n; i++) {
        CHECK(sums[i] == size * (size - 1) / 2 + size * (first + i));
    }
}

static void reduce(int n, MPI_Op op)
{
    static int own[LONG], sums[LONG];
    MPI_Request request;
    for (int i = 0; i < n; i++) {
        own[i] = rank + i;
    }
    CHECK(MPI_Allreduce(own, sums, n, MPI_INT, op, MPI_COMM_WORLD) == MPI_SUCCESS);
    are_sums(sums, n, 0);
    CHECK(MPI_Iallreduce(own, sums, n, MPI_INT, op, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    are_sums(sums, n, 0);
    CHECK(MPI_Reduce_scatter_block(own, sums, n / size, MPI_INT, op, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    are_sums(sums, n / size, rank * (n / size));
    CHECK(MPI_Scan(own, sums, n, MPI_INT, op, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Reduce_local(own, sums, n, MPI_INT, op) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Op op;
    int memory = 0, arrived = 0;
    (void)argv;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_create(&memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Op_create(add, 1, &op);
    MPI_Irecv(&arrived, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD, &pending);
    if (argc == 1) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    }
    for (int i = 0; i < ROUNDS; i++) {
        reduce(i % 10 == 9 ? LONG : 100, op);
    }
    CHECK(calls > 0);
    /* Afterwards all calls work. */
    int value = 7;
    CHECK(MPI_Send(&value, 1, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Wait(&pending, MPI_STATUS_IGNORE) == MPI_SUCCESS && arrived == 7);
    MPI_Op_free(&op);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS && MPI_Win_free(&win) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
