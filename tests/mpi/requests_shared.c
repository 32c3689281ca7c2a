/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of sends that have left at once, which share one handle: it may be in use many times,
 * and several times in one array. Each call on it behaves as on a request of its own.
 */
#include "check.h"

#include <mpi.h>

enum { N = 4 };

static int rank, peer;

/* Rank 0 sends n messages of one int; all handles are set. Rank 1 receives them. */
static void sent(int n, MPI_Request *requests)
{
    static const int values[N] = {0, 1, 2, 3};
    for (int i = 0; i < n && rank == 0; i++) {
        CHECK(MPI_Isend(&values[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]) ==
              MPI_SUCCESS);
        CHECK(requests[i] != MPI_REQUEST_NULL);
    }
    for (int i = 0; i < n && rank == 1; i++) {
        int value = -1;
        MPI_Recv(&value, 1, MPI_INT, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(value == i);
    }
}

/* The status of a completed send. What it says of source, tag and error is not defined. */
static void check_status(const MPI_Status *status)
{
    int cancelled = -1, count = -1;
    CHECK(MPI_Test_cancelled(status, &cancelled) == MPI_SUCCESS && !cancelled);
    CHECK(MPI_Get_count(status, MPI_INT, &count) == MPI_SUCCESS && count == 0);
}

static void are_shared(void)
{
    MPI_Request requests[2];
    sent(2, requests);
    if (rank == 0) {
        CHECK(requests[0] == requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void one_by_one(void)
{
    MPI_Request requests[N];
    MPI_Status status = {.MPI_ERROR = 77};
    int flag = 0;
    sent(N, requests);
    if (rank != 0) {
        return;
    }
    CHECK(MPI_Wait(&requests[0], &status) == MPI_SUCCESS && requests[0] == MPI_REQUEST_NULL);
    check_status(&status);
    CHECK(status.MPI_ERROR == 77);
    CHECK(requests[1] != MPI_REQUEST_NULL);
    CHECK(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag);
    CHECK(requests[1] == MPI_REQUEST_NULL);
    CHECK(MPI_Request_free(&requests[2]) == MPI_SUCCESS && requests[2] == MPI_REQUEST_NULL);
    for (int i = 0; i < 2; i++) { /* an inquiry does not end the use */
        flag = 0;
        CHECK(MPI_Request_get_status(requests[3], &flag, &status) == MPI_SUCCESS && flag);
        check_status(&status);
    }
    CHECK(MPI_Cancel(&requests[3]) == MPI_SUCCESS);
    CHECK(MPI_Wait(&requests[3], &status) == MPI_SUCCESS && requests[3] == MPI_REQUEST_NULL);
    check_status(&status);
}

static void check_all(const MPI_Request *requests, const MPI_Status *statuses)
{
    for (int i = 0; i < N; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL && statuses[i].MPI_ERROR == MPI_SUCCESS);
        check_status(&statuses[i]);
    }
}

static void all_at_once(void)
{
    MPI_Request requests[N];
    MPI_Status statuses[N];
    int flag = 0;
    sent(N, requests);
    if (rank == 0) {
        CHECK(MPI_Waitall(N, requests, statuses) == MPI_SUCCESS);
        check_all(requests, statuses);
    }
    sent(N, requests);
    if (rank == 0) {
        CHECK(MPI_Testall(N, requests, &flag, statuses) == MPI_SUCCESS && flag);
        check_all(requests, statuses);
    }
}

/* Each call ends one entry of the array, and the others stay. */
static void any(int (*waits)(int n, MPI_Request *requests, int *index, MPI_Status *status))
{
    MPI_Request requests[N];
    int index = -1;
    sent(N, requests);
    for (int i = 0; i < N && rank == 0; i++) {
        MPI_Status status;
        CHECK(waits(N, requests, &index, &status) == MPI_SUCCESS && index == i);
        check_status(&status);
        for (int k = 0; k < N; k++) {
            CHECK((requests[k] == MPI_REQUEST_NULL) == (k <= i));
        }
    }
    if (rank == 0) {
        CHECK(waits(N, requests, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(index == MPI_UNDEFINED);
    }
}

static int test_any(int n, MPI_Request *requests, int *index, MPI_Status *status)
{
    int flag = 0;
    int error = MPI_Testany(n, requests, index, &flag, status);
    CHECK(flag);
    return error;
}

static void some(int (*waits)(int n, MPI_Request *requests, int *n_ended, int *indices,
                              MPI_Status *statuses))
{
    MPI_Request requests[N];
    MPI_Status statuses[N];
    int n_ended = -1, indices[N];
    sent(N, requests);
    if (rank == 0) {
        CHECK(waits(N, requests, &n_ended, indices, statuses) == MPI_SUCCESS && n_ended == N);
        check_all(requests, statuses);
        for (int i = 0; i < N; i++) {
            CHECK(indices[i] == i);
        }
    }
}

/* Beside a receive, which has not ended: only what has ended is told. */
static void mixed(void)
{
    MPI_Request requests[3];
    int value = 0, flag = 1, n_ended = -1, indices[3];
    sent(2, requests);
    if (rank == 0) {
        MPI_Irecv(&value, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, &requests[2]);
        CHECK(MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS && !flag);
        CHECK(MPI_Testsome(3, requests, &n_ended, indices, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(n_ended == 2 && indices[0] == 0 && indices[1] == 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS && value == 5);
    } else if (rank == 1) {
        value = 5;
        MPI_Send(&value, 1, MPI_INT, peer, 9, MPI_COMM_WORLD);
    }
}

/* Numbers of handles, as Fortran uses them. */
static void numbers(void)
{
    MPI_Request requests[2];
    sent(2, requests);
    if (rank != 0) {
        return;
    }
    int numbers[2];
    for (int i = 0; i < 2; i++) {
        numbers[i] = MPI_Request_toint(requests[i]);
        CHECK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        requests[i] = MPI_Request_fromint(numbers[i]);
        CHECK(requests[i] != MPI_REQUEST_NULL);
    }
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
}

/* A request that can be started again is one of its own. */
static void persistent(void)
{
    static int value;
    MPI_Request requests[2], plain[1];
    sent(1, plain);
    if (rank == 0) {
        for (int i = 0; i < 2; i++) {
            MPI_Send_init(&value, 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]);
        }
        CHECK(requests[0] != requests[1] && requests[0] != plain[0]);
        MPI_Wait(&plain[0], MPI_STATUS_IGNORE);
    }
    for (int round = 0; round < 3; round++) {
        value = round;
        if (rank == 0) {
            CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
            CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
            CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
        }
        for (int i = 0; i < 2 && rank == 1; i++) {
            MPI_Recv(&value, 1, MPI_INT, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(value == round);
        }
    }
    for (int i = 0; i < 2 && rank == 0; i++) {
        MPI_Request_free(&requests[i]);
    }
}

/* What else has ended when its call returns. */
static void other_operations(void)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    CHECK(MPI_Buffer_iflush(&request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) {
        MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status);
        CHECK(message == MPI_MESSAGE_NO_PROC);
        CHECK(MPI_Imrecv(NULL, 0, MPI_INT, &message, &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
        check_status(&status);
    }
}

/* A request of a communicator that is freed, or whose receiver waits for nothing more. */
static void outlives_its_communicator(void)
{
    MPI_Comm copy;
    MPI_Request request = MPI_REQUEST_NULL;
    int value = 8;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank == 0) {
        MPI_Isend(&value, 1, MPI_INT, peer, 0, copy, &request);
    } else if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, peer, 0, copy, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&copy);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    /* Both connect: from now on short messages leave at once. */
    MPI_Sendrecv(&rank, 1, MPI_INT, peer, 0, &(int){0}, 1, MPI_INT, peer, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    are_shared();
    one_by_one();
    all_at_once();
    any(MPI_Waitany);
    any(test_any);
    some(MPI_Waitsome);
    some(MPI_Testsome);
    mixed();
    numbers();
    persistent();
    other_operations();
    outlives_its_communicator();
    MPI_Finalize();
    return 0;
}
