/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: started twice, not startable, of the wrong kind; many at once. */
#include "arguments.h"

#include "check.h"

#include <stdint.h>

static int words[4];

static void rows_starting(void)
{
    MPI_Request two[2];
    CHECK(MPI_Recv_init(words, 1, MPI_INT, 0, 31, good.comm, &two[0]) == MPI_SUCCESS);
    CHECK(MPI_Start(&two[0]) == MPI_SUCCESS);
    ROW(MPI_ERR_REQUEST, "MPI_Start", "request", MPI_Start(&two[0]));
    ROW(MPI_ERR_REQUEST, "MPI_Start", "request", MPI_Start(&good.active));
    two[1] = two[0];
    two[0] = good.persistent;
    ROW(MPI_ERR_REQUEST, "MPI_Startall", "array_of_requests", MPI_Startall(2, two));
    int flag;
    CHECK(MPI_Request_get_status(good.persistent, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Iprobe(0, 7, good.comm, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    CHECK(MPI_Cancel(&two[1]) == MPI_SUCCESS);
    CHECK(MPI_Wait(&two[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&two[1]) == MPI_SUCCESS);
}

static void rows_of_the_user(void)
{
    ROW(MPI_ERR_REQUEST, "MPI_Grequest_complete", "request", MPI_Grequest_complete(good.active));
    ROW(MPI_ERR_REQUEST, "MPI_Grequest_complete", "request",
        MPI_Grequest_complete(good.persistent));
    MPI_Request request;
    CHECK(MPI_Grequest_start(query_nothing, free_nothing, cancel_nothing, NULL, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Grequest_complete(request) == MPI_SUCCESS);
    ROW(MPI_ERR_REQUEST, "MPI_Grequest_complete", "request", MPI_Grequest_complete(request));
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* Collective operations can be neither cancelled nor given away. Rank 1 joins after the rows. */
static void rows_of_collectives(void)
{
    MPI_Request request;
    int rank, go = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        ROW(MPI_ERR_REQUEST, "MPI_Cancel", "request", MPI_Cancel(&request));
        ROW(MPI_ERR_REQUEST, "MPI_Request_free", "request", MPI_Request_free(&request));
        CHECK(request != MPI_REQUEST_NULL);
        CHECK(MPI_Send(&go, 1, MPI_INT, 1, 50, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Recv(&go, 1, MPI_INT, 0, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    }
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static void rows_of_many(void)
{
    MPI_Request requests[3];
    MPI_Status statuses[3];
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(words, 1 + i, MPI_INT, 0, 40 + i, good.comm, &requests[i]);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(MPI_Send(words, 2, MPI_INT, 0, 40 + i, good.comm) == MPI_SUCCESS);
    }
    CHECK(MPI_Waitall(2, requests, statuses) == MPI_ERR_IN_STATUS); /* completion_errors.c */
    CHECK(statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == MPI_SUCCESS);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    requests[0] = good.active;
    requests[1] = gone.request;
    ROW(MPI_ERR_REQUEST, "MPI_Waitall", "array_of_requests",
        MPI_Waitall(2, requests, out.statuses));
    ROW(MPI_ERR_REQUEST, "MPI_Waitany", "array_of_requests",
        MPI_Waitany(2, requests, &out.number, &out.status));
    ROW(MPI_ERR_REQUEST, "MPI_Testany", "array_of_requests",
        MPI_Testany(2, requests, &out.number, &out.flag, &out.status));
    ROW(MPI_ERR_REQUEST, "MPI_Testall", "array_of_requests",
        MPI_Testall(2, requests, &out.flag, out.statuses));
    ROW(MPI_ERR_REQUEST, "MPI_Waitsome", "array_of_requests",
        MPI_Waitsome(2, requests, &out.number, out.numbers, out.statuses));
    ROW(MPI_ERR_REQUEST, "MPI_Testsome", "array_of_requests",
        MPI_Testsome(2, requests, &out.number, out.numbers, out.statuses));
    CHECK(requests[0] == good.active && requests[1] == gone.request);
}

static void rows_partitions(void)
{
    int list[] = {1, 0, 1}, flag;
    MPI_Request send, receive;
    CHECK(MPI_Psend_init(words, 2, 2, MPI_INT, 0, 32, good.comm, MPI_INFO_NULL, &send) ==
          MPI_SUCCESS);
    CHECK(MPI_Precv_init(words, 2, 2, MPI_INT, 0, 32, good.comm, MPI_INFO_NULL, &receive) ==
          MPI_SUCCESS);
    ROW(MPI_ERR_REQUEST, "MPI_Pready", "request", MPI_Pready(0, send));
    ROW(MPI_ERR_REQUEST, "MPI_Pready", "request", MPI_Pready(0, good.persistent));
    ROW(MPI_ERR_REQUEST, "MPI_Pready", "request", MPI_Pready(0, MPI_REQUEST_NULL));
    ROW(MPI_ERR_REQUEST, "MPI_Parrived", "request", MPI_Parrived(good.persistent, 0, &out.flag));
    ROW(MPI_ERR_ARG, "MPI_Parrived", "partition", MPI_Parrived(receive, 2, &out.flag));
    CHECK(MPI_Start(&send) == MPI_SUCCESS && MPI_Start(&receive) == MPI_SUCCESS);
    ROW(MPI_ERR_REQUEST, "MPI_Start", "request", MPI_Start(&send));
    ROW(MPI_ERR_REQUEST, "MPI_Pready", "request", MPI_Pready(0, receive));
    ROW(MPI_ERR_REQUEST, "MPI_Parrived", "request", MPI_Parrived(send, 0, &out.flag));
    ROW(MPI_ERR_ARG, "MPI_Pready", "partition", MPI_Pready(2, send));
    ROW(MPI_ERR_ARG, "MPI_Pready", "partition", MPI_Pready(-1, send));
    ROW(MPI_ERR_ARG, "MPI_Pready_range", "partition_low", MPI_Pready_range(1, 0, send));
    ROW(MPI_ERR_ARG, "MPI_Pready_range", "partition", MPI_Pready_range(0, 2, send));
    ROW(MPI_ERR_ARG, "MPI_Pready_range", "partition", MPI_Pready_range(-1, 1, send));
    ROW(MPI_ERR_ARG, "MPI_Pready_range", "partition", MPI_Pready_range(0, 2147483647, send));
    ROW(MPI_ERR_ARG, "MPI_Pready_list", "partition", MPI_Pready_list(3, list, send));
    ROW(MPI_ERR_REQUEST, "MPI_Cancel", "request", MPI_Cancel(&send));
    CHECK(MPI_Pready_list(2, list, send) == MPI_SUCCESS);
    ROW(MPI_ERR_ARG, "MPI_Pready", "partition", MPI_Pready(1, send));
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Wait(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Request_free(&send) == MPI_SUCCESS && MPI_Request_free(&receive) == MPI_SUCCESS);
    ROW(MPI_ERR_COUNT, "MPI_Psend_init_c", "partitions",
        MPI_Psend_init_c(words, 1 << 20, INT64_MAX / 8, MPI_INT, 0, 32, good.comm, MPI_INFO_NULL,
                         &out.request));
    ROW(MPI_ERR_COUNT, "MPI_Precv_init_c", "partitions",
        MPI_Precv_init_c(out.buffer, 1 << 20, INT64_MAX / 8, MPI_INT, 0, 32, good.comm,
                         MPI_INFO_NULL, &out.request));
}

void rows_requests(void)
{
    rows_partitions();
    rows_starting();
    rows_of_the_user();
    rows_of_collectives();
    rows_of_many();
}
