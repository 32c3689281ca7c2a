/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that complete several requests: the error handler of the first request that failed runs,
 * with that request's error, and the call returns MPI_ERR_IN_STATUS (MPI 4.1, section 9.3.1). The
 * empty status has MPI_SUCCESS. With the argument "fails" rank 1 is killed, and rank 0 waits for
 * it.
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <string.h>

static struct {
    int times, code;
    MPI_Comm comm;
    char text[MPI_MAX_ERROR_STRING];
} seen;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    int length;
    seen.times++;
    seen.code = *code;
    seen.comm = *comm;
    CHECK(MPI_Error_string(*code, seen.text, &length) == MPI_SUCCESS);
}

static void expect(int result, int code, MPI_Comm comm, const char *call)
{
    CHECK(result == MPI_ERR_IN_STATUS && seen.times == 1 && seen.code == code);
    CHECK(seen.comm == comm && strncmp(seen.text, call, strlen(call)) == 0);
    seen.times = 0;
}

static MPI_Comm comm_with_handler(void)
{
    MPI_Comm comm;
    MPI_Errhandler handler;
    CHECK(MPI_Comm_create_errhandler(on_error, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    return comm;
}

enum { N = 4 };
static int values[N][2], four[4];

/* Null, good on first, too long on second, too long on first. */
static void start(MPI_Comm first, MPI_Comm second, MPI_Request requests[N])
{
    MPI_Comm comms[N] = {MPI_COMM_NULL, first, second, first};
    requests[0] = MPI_REQUEST_NULL;
    for (int i = 1; i < N; i++) {
        CHECK(MPI_Irecv(values[i], 2, MPI_INT, 0, i, comms[i], &requests[i]) == MPI_SUCCESS);
        CHECK(MPI_Send(four, i == 1 ? 1 : 4, MPI_INT, 0, i, comms[i]) == MPI_SUCCESS);
    }
}

static void the_first_that_failed_is_blamed(MPI_Comm first, MPI_Comm second)
{
    MPI_Request requests[N];
    MPI_Status statuses[N];
    int n = 0, indices[N], length;
    char text[MPI_MAX_ERROR_STRING];
    start(first, second, requests);
    int result = MPI_Waitall(N, requests, statuses);
    expect(result, MPI_ERR_TRUNCATE, second, "MPI_Waitall");
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[1].MPI_ERROR == MPI_SUCCESS);
    CHECK(statuses[2].MPI_ERROR == MPI_ERR_TRUNCATE && statuses[3].MPI_ERROR == MPI_ERR_TRUNCATE);
    CHECK(MPI_Error_string(result, text, &length) == MPI_SUCCESS);
    CHECK(strstr(text, "MPI_Waitall") != NULL);
    start(first, second, requests);
    expect(MPI_Testall(N, requests, &n, MPI_STATUSES_IGNORE), MPI_ERR_TRUNCATE, second,
           "MPI_Testall");
    start(first, second, requests);
    expect(MPI_Waitsome(N, requests, &n, indices, statuses), MPI_ERR_TRUNCATE, second,
           "MPI_Waitsome");
    CHECK(n == N - 1 && statuses[1].MPI_ERROR == MPI_ERR_TRUNCATE);
    start(first, second, requests);
    expect(MPI_Testsome(N, requests, &n, indices, MPI_STATUSES_IGNORE), MPI_ERR_TRUNCATE, second,
           "MPI_Testsome");
}

/* The communicator is freed: the request alone keeps it until its handler has run. */
static void of_a_freed_communicator(MPI_Comm first)
{
    MPI_Comm second = comm_with_handler(), freed = second;
    MPI_Request requests[N];
    start(first, second, requests);
    CHECK(MPI_Comm_free(&second) == MPI_SUCCESS);
    expect(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE), MPI_ERR_TRUNCATE, freed, "MPI_Waitall");
}

static int query_fails(void *extra, MPI_Status *status)
{
    (void)status;
    return *(int *)extra;
}

static int frees(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int cancels(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

/* A request of the user has no communicator: that of MPI_COMM_SELF, which gets its code. */
static void of_no_communicator(MPI_Comm first)
{
    int code, flag;
    MPI_Request requests[2];
    MPI_Errhandler handler;
    CHECK(MPI_Add_error_code(MPI_ERR_IO, &code) == MPI_SUCCESS);
    CHECK(MPI_Add_error_string(code, "the disk is full") == MPI_SUCCESS);
    CHECK(MPI_Comm_get_errhandler(first, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    CHECK(MPI_Irecv(values[0], 2, MPI_INT, 0, 1, first, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Send(four, 1, MPI_INT, 0, 1, first) == MPI_SUCCESS);
    CHECK(MPI_Grequest_start(query_fails, frees, cancels, &code, &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Grequest_complete(requests[1]) == MPI_SUCCESS);
    expect(MPI_Request_get_status_all(2, requests, &flag, MPI_STATUSES_IGNORE), code, MPI_COMM_SELF,
           "the disk is full");
    expect(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), code, MPI_COMM_SELF, "the disk is full");
    CHECK(strcmp(seen.text, "the disk is full") == 0);
    CHECK(MPI_Remove_error_code(code) == MPI_ERR_ARG); /* its string is still there */
    CHECK(seen.times == 1);
    CHECK(MPI_Remove_error_string(code) == MPI_SUCCESS);
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

static void expect_empty(MPI_Status *status)
{
    int cancelled, count;
    MPI_Test_cancelled(status, &cancelled);
    MPI_Get_count(status, MPI_INT, &count);
    CHECK(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG);
    CHECK(status->MPI_ERROR == MPI_SUCCESS && !cancelled && count == 0);
    *status = (MPI_Status){.MPI_SOURCE = 5, .MPI_TAG = 6, .MPI_ERROR = 7};
}

static void empty_statuses_tell_success(void)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status[2] = {{.MPI_ERROR = 7}, {.MPI_ERROR = 7}};
    int flag, index;
    CHECK(MPI_Recv_init(four, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]) == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) {
        CHECK(MPI_Wait(&requests[i], status) == MPI_SUCCESS);
        expect_empty(status);
        CHECK(MPI_Test(&requests[i], &flag, status) == MPI_SUCCESS && flag);
        expect_empty(status);
        CHECK(MPI_Request_get_status(requests[i], &flag, status) == MPI_SUCCESS && flag);
        expect_empty(status);
    }
    CHECK(MPI_Waitany(2, requests, &index, status) == MPI_SUCCESS && index == MPI_UNDEFINED);
    expect_empty(status);
    CHECK(MPI_Testany(2, requests, &index, &flag, status) == MPI_SUCCESS && flag);
    expect_empty(status);
    CHECK(MPI_Request_get_status_any(2, requests, &index, &flag, status) == MPI_SUCCESS && flag);
    expect_empty(status);
    CHECK(MPI_Waitall(2, requests, status) == MPI_SUCCESS);
    expect_empty(&status[0]);
    expect_empty(&status[1]);
    CHECK(MPI_Request_free(&requests[1]) == MPI_SUCCESS);
}

static void failures_are_told_as_such(int rank)
{
    MPI_Errhandler handler;
    MPI_Request requests[2];
    int got[2], flag = 1;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    if (rank == 1) {
        raise(SIGKILL);
    }
    MPI_Irecv(&got[0], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
    expect(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_ERR_PROC_FAILED, MPI_COMM_WORLD,
           "MPI_Waitall");
    MPI_Send(&flag, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, 2, &flag);
    printf("the handler was told of the failure\n");
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc > 1) {
        failures_are_told_as_such(rank);
    } else {
        MPI_Comm first = comm_with_handler(), second = comm_with_handler();
        the_first_that_failed_is_blamed(first, second);
        of_a_freed_communicator(first);
        of_no_communicator(first);
        empty_statuses_tell_success();
        MPI_Comm_free(&first);
        MPI_Comm_free(&second);
    }
    MPI_Finalize();
    return 0;
}
