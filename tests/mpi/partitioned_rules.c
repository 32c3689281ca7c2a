/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPI says about partitioned communication: order of matching, lengths that differ, requests
 * that are not active, and what a failure and a revocation do. The last rank but one fails. */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdbool.h>

enum { N = 4 };

static int rank, size;

static MPI_Request send_to(int dest, int *words, int partitions, int count)
{
    MPI_Request request;
    CHECK(MPI_Psend_init(words, partitions, count, MPI_INT, dest, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &request) == MPI_SUCCESS);
    return request;
}

static MPI_Request receive_from(int source, int *words, int partitions, int count)
{
    MPI_Request request;
    CHECK(MPI_Precv_init(words, partitions, count, MPI_INT, source, 3, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &request) == MPI_SUCCESS);
    return request;
}

static bool arrived(MPI_Request request, int partition)
{
    int flag = -1;
    CHECK(MPI_Parrived(request, partition, &flag) == MPI_SUCCESS);
    return flag;
}

static void end(MPI_Request *request)
{
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS && *request != MPI_REQUEST_NULL);
}

static void drop(MPI_Request *request)
{
    CHECK(MPI_Request_free(request) == MPI_SUCCESS && *request == MPI_REQUEST_NULL);
}

/* A receive of MPI_Recv does not match, and the first request of a side meets the first of the
 * other, whichever is started first. */
static void order_is_that_of_the_calls(void)
{
    int out[2][N] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, in[2][N] = {{0}}, flag;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request sends[2] = {send_to(right, out[0], N, 1), send_to(right, out[1], N, 1)};
    MPI_Request unmatched = receive_from(left, in[0], N, 1);
    CHECK(arrived(unmatched, 0));
    MPI_Request receives[2] = {unmatched, receive_from(left, in[1], N, 1)};
    CHECK(MPI_Startall(2, receives) == MPI_SUCCESS);
    CHECK(MPI_Start(&sends[1]) == MPI_SUCCESS && MPI_Start(&sends[0]) == MPI_SUCCESS);
    CHECK(MPI_Pready_range(0, N - 1, sends[1]) == MPI_SUCCESS);
    end(&sends[1]);
    end(&receives[1]);
    CHECK(in[1][0] == 5 && in[1][3] == 8);
    CHECK(MPI_Pready_list(2, (int[]){3, 1}, sends[0]) == MPI_SUCCESS);
    while (!arrived(receives[0], 3)) {
    }
    CHECK(in[0][3] == 4 && !arrived(receives[0], 0));
    MPI_Test(&sends[0], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Test(&receives[0], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    CHECK(class_of(MPI_Cancel(&sends[0])) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Cancel(&receives[0])) == MPI_ERR_REQUEST);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Pready(0, sends[0]) == MPI_SUCCESS && MPI_Pready(2, sends[0]) == MPI_SUCCESS);
    end(&sends[0]);
    end(&receives[0]);
    CHECK(in[0][0] == 1 && in[0][2] == 3);
    for (int i = 0; i < 2; i++) {
        drop(&sends[i]);
        drop(&receives[i]);
    }
    CHECK(arrived(MPI_REQUEST_NULL, 7));
}

static void lengths_differ(void)
{
    int out[2 * N] = {1, 2, 3, 4, 5, 6, 7, 8}, in[2 * N] = {0}, n;
    MPI_Status status;
    MPI_Request send = send_to(rank, out, 2, N), receive = receive_from(rank, in, N, 1);
    MPI_Start(&send);
    MPI_Start(&receive);
    MPI_Pready_range(0, 1, send);
    end(&send);
    CHECK(class_of(MPI_Wait(&receive, &status)) == MPI_ERR_TRUNCATE && in[3] == 4 && in[4] == 0);
    drop(&send);
    drop(&receive);
    send = send_to(rank, out, 3, 1);
    receive = receive_from(rank, in, 4, 2);
    MPI_Start(&receive);
    MPI_Start(&send);
    MPI_Pready_range(0, 2, send);
    end(&send);
    CHECK(MPI_Wait(&receive, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_INT, &n);
    CHECK(n == 3);
    drop(&send);
    drop(&receive);
}

static void nothing_travels(void)
{
    int word = 0;
    MPI_Status status;
    MPI_Request send = send_to(MPI_PROC_NULL, &word, 2, 1);
    MPI_Request receive = receive_from(MPI_PROC_NULL, &word, 2, 1);
    MPI_Start(&send);
    MPI_Start(&receive);
    CHECK(arrived(receive, 1));
    MPI_Pready_range(0, 1, send);
    end(&send);
    CHECK(MPI_Wait(&receive, &status) == MPI_SUCCESS && status.MPI_SOURCE == MPI_PROC_NULL);
    drop(&send);
    drop(&receive);
    /* Partitions without a byte arrive one by one as others do; no partition at all is ready. */
    send = send_to(rank, NULL, 2, 0);
    receive = receive_from(rank, NULL, 4, 0);
    MPI_Start(&send);
    MPI_Start(&receive);
    MPI_Pready(1, send);
    CHECK(!arrived(receive, 1) && arrived(receive, 2) && arrived(receive, 3));
    MPI_Pready(0, send);
    end(&receive);
    end(&send);
    drop(&send);
    drop(&receive);
    send = send_to(rank, NULL, 0, 5);
    receive = receive_from(rank, NULL, 0, 5);
    MPI_Start(&send);
    MPI_Start(&receive);
    end(&send);
    end(&receive);
    drop(&send);
    drop(&receive);
    /* A receive that is freed has its place in the order all the same. */
    receive = receive_from(rank, &word, 1, 1);
    drop(&receive);
    receive = receive_from(rank, &word, 1, 1);
    MPI_Request first = send_to(rank, (int[]){1}, 1, 1);
    send = send_to(rank, (int[]){2}, 1, 1);
    drop(&first);
    MPI_Start(&receive);
    MPI_Start(&send);
    MPI_Pready(0, send);
    end(&receive);
    end(&send);
    CHECK(word == 2);
    drop(&send);
    drop(&receive);
    receive = receive_from(rank, &word, 1, 1); /* never matched */
    drop(&receive);
}

/* Ends the request, which must have that error, also when it is started again. */
static void ends_with(int error, MPI_Request *request)
{
    for (int i = 0; i < 3; i++) {
        CHECK(class_of(MPI_Wait(request, MPI_STATUS_IGNORE)) == error);
        CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Start(request) == MPI_SUCCESS);
    }
    CHECK(class_of(MPI_Wait(request, MPI_STATUS_IGNORE)) == error);
}

static void a_failure_ends_requests(int victim)
{
    int out[N] = {0}, in[N] = {0}, flag, error;
    MPI_Request sends[2] = {send_to(victim, out, N, 1), send_to(victim, out, N, 1)};
    MPI_Request receive = receive_from(victim, in, N, 1), alone = receive_from(victim, in, N, 1);
    MPI_Start(&sends[0]);
    MPI_Start(&receive);
    MPI_Pready(1, sends[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) {
        raise(SIGKILL);
    }
    while ((error = MPI_Parrived(receive, 0, &flag)) == MPI_SUCCESS) {
        CHECK(!flag);
    }
    CHECK(class_of(error) == MPI_ERR_PROC_FAILED);
    CHECK(MPI_Parrived(alone, 0, &flag) == MPI_SUCCESS && flag); /* not started */
    CHECK(class_of(MPI_Wait(&sends[0], MPI_STATUS_IGNORE)) == MPI_ERR_PROC_FAILED);
    CHECK(MPI_Pready(2, sends[0]) == MPI_SUCCESS); /* another thread knows no better */
    CHECK(class_of(MPI_Pready(N, sends[0])) == MPI_ERR_ARG);
    CHECK(MPI_Start(&sends[1]) == MPI_SUCCESS && MPI_Pready_range(0, 2, sends[1]) == MPI_SUCCESS);
    ends_with(MPI_ERR_PROC_FAILED, &sends[1]);
    ends_with(MPI_ERR_PROC_FAILED, &receive);
    CHECK(MPI_Start(&alone) == MPI_SUCCESS);
    ends_with(MPI_ERR_PROC_FAILED, &alone);
    drop(&sends[0]);
    drop(&sends[1]);
    drop(&receive);
    drop(&alone);
}

static void a_revocation_ends_requests(void)
{
    int word = 0;
    MPI_Comm comm;
    MPI_Request requests[2];
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int me, n;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Psend_init(&word, 1, 1, MPI_INT, (me + 1) % n, 1, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(&word, 1, 1, MPI_INT, (me + n - 1) % n, 1, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Barrier(comm);
    if (me == 0) {
        MPIX_Comm_revoke(comm);
    }
    ends_with(MPI_ERR_REVOKED, &requests[0]);
    ends_with(MPI_ERR_REVOKED, &requests[1]);
    drop(&requests[0]);
    drop(&requests[1]);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    order_is_that_of_the_calls();
    lengths_differ();
    nothing_travels();
    a_failure_ends_requests(size - 2);
    a_revocation_ends_requests();
    MPIX_Comm_failure_ack(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("partitions: correct\n");
    }
    MPI_Finalize();
    return 0;
}
