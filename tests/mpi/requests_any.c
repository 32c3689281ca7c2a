/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops that end the requests of a long array one by one, or some at a time: each is found once,
 * whatever the program does with the array between two calls. With the argument N: nothing but such
 * a loop over N receives, whose instructions tests/counted.py counts.
 */
#include <stdbool.h>

#include "check.h"

enum { N = 300, TAGS = 1000 };

static int rank, size;

/* ---- One by one ---- */

enum how { WAITANY, TESTANY, WAITSOME, TESTSOME, HOWS };

/* Ends at least one; the number of those that have ended, with their places. */
static int end_some(enum how how, MPI_Request *requests, int n, int *places, MPI_Status *statuses)
{
    int found = 0, flag = 1;
    while (found == 0) {
        if (how == WAITANY) {
            CHECK(MPI_Waitany(n, requests, places, statuses) == MPI_SUCCESS);
        } else if (how == TESTANY) {
            CHECK(MPI_Testany(n, requests, places, &flag, statuses) == MPI_SUCCESS);
        } else if (how == WAITSOME) {
            CHECK(MPI_Waitsome(n, requests, &found, places, statuses) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Testsome(n, requests, &found, places, statuses) == MPI_SUCCESS);
        }
        found = how < WAITSOME ? flag : found;
    }
    return found;
}

/* Receives from the left, two times in each place, and between them sends and empty places. */
static void loop(enum how how)
{
    static int values[N], sent[2 * N], times[N], places[N];
    static MPI_Request requests[N], sends[2 * N];
    static MPI_Status statuses[N];
    int left = (rank + size - 1) % size, right = (rank + 1) % size, due = 0;
    for (int i = 0; i < N; i++) {
        times[i] = 0;
        requests[i] = MPI_REQUEST_NULL;
        if (i % 3 == 0) {
            MPI_Irecv(&values[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
            due += 2;
        } else if (i % 3 == 1) {
            MPI_Isend(&rank, 1, MPI_INT, right, TAGS + i, MPI_COMM_WORLD, &requests[i]);
            due++;
        }
    }
    for (int k = 0; k < 2 * N; k++) { /* in another order than that of the array */
        int i = (int)((k * 7LL + 5) % N);
        sent[k] = 1000 * (k / N) + i;
        sends[k] = MPI_REQUEST_NULL;
        if (i % 3 == 0) {
            MPI_Isend(&sent[k], 1, MPI_INT, right, i, MPI_COMM_WORLD, &sends[k]);
        }
    }
    while (due > 0) {
        int found = end_some(how, requests, N, places, statuses);
        due -= found;
        for (int k = 0; k < found; k++) {
            int i = places[k];
            CHECK(i >= 0 && i < N && requests[i] == MPI_REQUEST_NULL);
            if (i % 3 == 0) {
                CHECK(values[i] == 1000 * times[i] + i);
                CHECK(statuses[k].MPI_TAG == i && statuses[k].MPI_SOURCE == left);
            }
            CHECK(times[i]++ < 2 - i % 3 && i % 3 != 2);
            if (i % 3 == 0 && times[i] == 1) {
                MPI_Irecv(&values[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
            }
        }
    }
    int flag, place;
    CHECK(MPI_Testany(N, requests, &place, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(flag && place == MPI_UNDEFINED);
    for (int i = 1; i < N; i += 3) {
        int value;
        MPI_Recv(&value, 1, MPI_INT, left, TAGS + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(value == left);
    }
    MPI_Waitall(2 * N, sends, MPI_STATUSES_IGNORE);
}

/* ---- Turns, and what cannot be waited for ---- */

/* A request that is started again and ends at once does not hide another one. */
static void turns(void)
{
    int value, sent = 1;
    MPI_Request requests[2];
    MPI_Isend(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]);
    bool other = false;
    for (int i = 0; i < 3; i++) {
        int place;
        CHECK(MPI_Waitany(2, requests, &place, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        other = other || place == 1;
        MPI_Recv(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!other) {
            MPI_Isend(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]);
        }
        if (other) {
            break;
        }
    }
    CHECK(other);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int flag = 1; flag;) {
        MPI_Iprobe(rank, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        if (flag) {
            MPI_Recv(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

/* Persistent requests stay in the array, and are passed over until they are started again. */
static void persistent(void)
{
    int values[2] = {-1, -1}, place, sent = 5;
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++) {
        MPI_Recv_init(&values[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int round = 0; round < 3; round++) {
        MPI_Startall(2, requests);
        MPI_Send(&sent, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
        CHECK(MPI_Waitany(2, requests, &place, MPI_STATUS_IGNORE) == MPI_SUCCESS && place == 1);
        MPI_Send(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
        CHECK(MPI_Waitany(2, requests, &place, MPI_STATUS_IGNORE) == MPI_SUCCESS && place == 0);
        CHECK(MPI_Waitany(2, requests, &place, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(place == MPI_UNDEFINED && values[0] == 5 && values[1] == 5);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* The error of a request that is next in turn is reported, and so is a handle that is none. */
static void errors(void)
{
    int value = 0, place = -1, long_one[2] = {1, 2};
    MPI_Request requests[3];
    MPI_Status status;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Isend(&value, 1, MPI_INT, 0, 0, comm, &requests[0]);
    MPI_Irecv(&value, 1, MPI_INT, 0, 1, comm, &requests[1]);
    MPI_Irecv(&value, 1, MPI_INT, 0, 0, comm, &requests[2]);
    MPI_Send(long_one, 2, MPI_INT, 0, 1, comm);
    CHECK(MPI_Waitany(3, requests, &place, &status) == MPI_SUCCESS && place == 0);
    CHECK(class_of(MPI_Waitany(3, requests, &place, &status)) == MPI_ERR_TRUNCATE && place == 1);
    CHECK(MPI_Waitany(3, requests, &place, &status) == MPI_SUCCESS && place == 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    requests[0] = (MPI_Request)comm;
    CHECK(class_of(MPI_Waitany(3, requests, &place, &status)) == MPI_ERR_REQUEST);
    requests[0] = (MPI_Request)7;
    CHECK(class_of(MPI_Waitany(3, requests, &place, &status)) == MPI_ERR_REQUEST);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
}

/* ---- For counting ---- */

static void count(int n)
{
    int *values = calloc((size_t)n, sizeof(int));
    MPI_Request *requests = calloc((size_t)n, sizeof(*requests));
    for (int i = 0; i < n; i++) {
        MPI_Irecv(&values[i], 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[i]);
    }
    for (int i = 0; i < n; i++) {
        MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    }
    for (int i = 0; i < n; i++) {
        int place;
        CHECK(MPI_Waitany(n, requests, &place, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(values[place] == place);
    }
    free(values);
    free(requests);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) {
        count(atoi(argv[1]));
    } else {
        for (int how = 0; how < HOWS; how++) {
            loop((enum how)how);
        }
        turns();
        persistent();
        errors();
    }
    MPI_Finalize();
    return 0;
}
