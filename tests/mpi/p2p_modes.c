/* SPDX-License-Identifier: BSD-3-Clause */
/* Send modes, persistent requests, probes, cancelling, truncation, between neighbours of a ring. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

static int rank, size, left, right;

static void synchronous_send_meets_its_receive(void)
{
    int flag = 1, value = rank, got = -1;
    MPI_Request request;
    MPI_Issend(&value, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &request);
    MPI_Sendrecv(NULL, 0, MPI_INT, left, 2, NULL, 0, MPI_INT, right, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (size > 1) {
        /* Our right neighbour has not received yet: it waits for our next word. */
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
    }
    MPI_Sendrecv(NULL, 0, MPI_INT, right, 3, NULL, 0, MPI_INT, left, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == left && request == MPI_REQUEST_NULL);
}

static void buffered_sends_leave_their_data(void)
{
    enum { N = 100, EACH = 1000 * sizeof(int) };
    int bytes = N * (EACH + MPI_BSEND_OVERHEAD), detached;
    void *buffer = malloc((size_t)bytes), *address;
    int data[1000], got[1000];
    MPI_Buffer_attach(buffer, bytes);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 1000; k++) {
            data[k] = i * 1000 + k;
        }
        MPI_Bsend(data, 1000, MPI_INT, right, i, MPI_COMM_WORLD);
    }
    memset(data, 0, sizeof(data));
    for (int i = N - 1; i >= 0; i--) {
        MPI_Recv(got, 1000, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got[0] == i * 1000 && got[999] == i * 1000 + 999);
    }
    MPI_Buffer_detach(&address, &detached);
    CHECK(address == buffer && detached == bytes);
    free(buffer);
}

static void persistent_requests_go_round(void)
{
    int out, in;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Send_init(&out, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 50; i++) {
        out = rank * 1000 + i;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        CHECK(in == left * 1000 + i && statuses[1].MPI_SOURCE == left);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[0] == MPI_REQUEST_NULL);
}

static void matched_probes_take_the_message_out(void)
{
    int out[2] = {rank, -rank}, in[2] = {-1, -1}, flag = 0, count;
    MPI_Message first, second = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Isend(&out[0], 1, MPI_INT, right, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out[1], 1, MPI_INT, right, 6, MPI_COMM_WORLD, &requests[1]);
    MPI_Mprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &first, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 1 && status.MPI_TAG == 6);
    while (!flag) {
        MPI_Improbe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &flag, &second, &status);
    }
    MPI_Mrecv(&in[1], 1, MPI_INT, &second, MPI_STATUS_IGNORE);
    MPI_Mrecv(&in[0], 1, MPI_INT, &first, MPI_STATUS_IGNORE);
    CHECK(in[0] == left && in[1] == -left && first == MPI_MESSAGE_NULL);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void a_receive_can_be_cancelled(void)
{
    int value, flag;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
}

static void truncation_is_an_error_and_no_more(void)
{
    char out[5000] = "long", in[10] = "";
    MPI_Status status;
    MPI_Request request;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int n = 20; n <= 5000; n += 4980) {
        MPI_Isend(out, n, MPI_CHAR, right, 8, MPI_COMM_WORLD, &request);
        int error = MPI_Recv(in, 5, MPI_CHAR, left, 8, MPI_COMM_WORLD, &status), class;
        MPI_Error_class(error, &class);
        CHECK(class == MPI_ERR_TRUNCATE);
        CHECK(strcmp(in, "long") == 0);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void replacing_keeps_what_goes_out(void)
{
    static int data[100000];
    for (int i = 0; i < 100000; i++) {
        data[i] = rank + i;
    }
    MPI_Sendrecv_replace(data, 100000, MPI_INT, right, 9, left, 9, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    for (int i = 0; i < 100000; i++) {
        CHECK(data[i] == left + i);
    }
}

/* A request of two messages that has ended, for which the program does not wait before the end. */
static void one_is_left_to_finalize(void)
{
    static int out[10000], in[10000];
    int flag = 0;
    MPI_Request request;
    MPI_Isendrecv(out, 10000, MPI_INT, right, 10, in, 10000, MPI_INT, left, 10, MPI_COMM_WORLD,
                  &request);
    while (!flag) {
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    synchronous_send_meets_its_receive();
    buffered_sends_leave_their_data();
    persistent_requests_go_round();
    matched_probes_take_the_message_out();
    a_receive_can_be_cancelled();
    truncation_is_an_error_and_no_more();
    replacing_keeps_what_goes_out();
    one_is_left_to_finalize();
    MPI_Finalize();
    return 0;
}
