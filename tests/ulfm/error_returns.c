/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * After the last rank's failure each call that needs it returns PROC_FAILED, and no other call
 * returns an error.
 */
#include "suite.h"

enum { LARGE = 1 << 20 };

static int rank, size, victim;

/* Every point-to-point call that names the failed processes. */
static void calls_that_need_the_failed(void)
{
    static char large[LARGE];
    int value = 0, flag = 0, error;
    MPI_Status status;
    MPI_Request request;
    MPI_Message message;
    MPI_Comm world = MPI_COMM_WORLD;

    error = MPI_Recv(&value, 1, MPI_INT, victim, 1, world, &status);
    CHECK(class_of(error) == ERR_FAILED && status.MPI_SOURCE == victim);
    CHECK(MPI_Irecv(&value, 1, MPI_INT, victim, MPI_ANY_TAG, world, &request) == MPI_SUCCESS);
    CHECK(class_of(MPI_Wait(&request, &status)) == ERR_FAILED && request == MPI_REQUEST_NULL);
    CHECK(class_of(MPI_Ssend(&value, 1, MPI_INT, victim, 1, world)) == ERR_FAILED);
    CHECK(class_of(MPI_Send(large, LARGE, MPI_CHAR, victim, 1, world)) == ERR_FAILED);
    error = MPI_Sendrecv(&rank, 1, MPI_INT, victim, 2, &value, 1, MPI_INT, victim, 2, world,
                         MPI_STATUS_IGNORE);
    CHECK(class_of(error) == ERR_FAILED);
    CHECK(class_of(MPI_Probe(victim, 1, world, &status)) == ERR_FAILED);
    CHECK(class_of(MPI_Iprobe(victim, 1, world, &flag, &status)) == ERR_FAILED);
    CHECK(class_of(MPI_Mprobe(victim, 1, world, &message, &status)) == ERR_FAILED);
    MPI_Recv_init(&value, 1, MPI_INT, victim, 3, world, &request);
    error = MPI_Start(&request);
    CHECK(error == MPI_SUCCESS || class_of(error) == ERR_FAILED);
    if (error == MPI_SUCCESS) {
        CHECK(class_of(MPI_Wait(&request, &status)) == ERR_FAILED && request != MPI_REQUEST_NULL);
    }
    MPI_Request_free(&request);
}

/* Messages among survivors. */
static void calls_that_do_not(void)
{
    int to = (rank + 1) % victim, from = (rank + victim - 1) % victim, value = -1;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Group group;
    for (int i = 0; i < 20; i++) {
        int out = 100 * i + rank;
        CHECK(MPI_Sendrecv(&out, 1, MPI_INT, to, i, &value, 1, MPI_INT, from, i, world,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(value == 100 * i + from);
    }
    CHECK(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, world) == MPI_SUCCESS);
    CHECK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, world, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, rank, 0, &value, 1, MPI_INT, rank, 0, world,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(value == rank && rank_in(world) == rank && size_of(world) == size);
    CHECK(MPI_Comm_group(world, &group) == MPI_SUCCESS && MPI_Group_free(&group) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_SELF) == MPI_SUCCESS);
}

/* Several requests at once: each status has its own error. */
static void of_two_requests_one(void)
{
    int to = (rank + 1) % victim, from = (rank + victim - 1) % victim, value[2], error;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(&value[0], 1, MPI_INT, victim, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&value[1], 1, MPI_INT, from, 7, MPI_COMM_WORLD, &requests[1]);
    CHECK(MPI_Send(&rank, 1, MPI_INT, to, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
    error = MPI_Waitall(2, requests, statuses);
    CHECK(class_of(error) == MPI_ERR_IN_STATUS);
    CHECK(class_of(statuses[0].MPI_ERROR) == ERR_FAILED && requests[0] == MPI_REQUEST_NULL);
    if (class_of(statuses[1].MPI_ERROR) == MPI_ERR_PENDING) {
        CHECK(MPI_Wait(&requests[1], &statuses[1]) == MPI_SUCCESS);
    } else {
        CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS);
    }
    CHECK(requests[1] == MPI_REQUEST_NULL && value[1] == from);
}

/* No process can have the sum without the failed one's part; a broadcast may have passed it
 * before. */
static void collectives(void)
{
    int value = rank, sum, error;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Request request;
    error = MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(class_of(error) == ERR_FAILED);
    CHECK(MPI_Error_string(error, text, &sum) == MPI_SUCCESS && sum > 0);
    CHECK(class_of(MPI_Barrier(MPI_COMM_WORLD)) == ERR_FAILED);
    error = MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    CHECK(error == MPI_SUCCESS || class_of(error) == ERR_FAILED);
    if (error == MPI_SUCCESS) {
        CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == ERR_FAILED);
    }
    error = MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS || class_of(error) == ERR_FAILED);
    error = MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    CHECK(class_of(error) == ERR_FAILED || (rank != 0 && error == MPI_SUCCESS));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    victim = size - 1;
    works(MPI_COMM_WORLD);
    lose(MPI_COMM_WORLD, victim);
    calls_that_do_not();
    calls_that_need_the_failed();
    calls_that_do_not();
    of_two_requests_one();
    collectives();
    calls_that_do_not();
    return survived("error_returns");
}
