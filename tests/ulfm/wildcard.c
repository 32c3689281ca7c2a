/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives from any source: a failure leaves them pending until it is acknowledged, then they
 * continue; arrived messages are received first.
 */
#define SUITE_FUNCTIONS
#include "suite.h"

enum { GO = 1, WANTED = 2, EARLY = 3, MARK = 4 };

static MPI_Comm comm;

static void tell(int rank, int tag)
{
    CHECK(MPI_Send(&tag, 1, MPI_INT, rank, tag, comm) == MPI_SUCCESS);
}

static void hear(int rank, int tag)
{
    int value = -1;
    CHECK(MPI_Recv(&value, 1, MPI_INT, rank, tag, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(value == tag);
}

static void is_pending(MPI_Request *request)
{
    int flag = 0, error;
    MPI_Status status;
    CHECK(class_of(MPI_Wait(request, &status)) == ERR_PENDING && *request != MPI_REQUEST_NULL);
    error = MPI_Test(request, &flag, &status);
    CHECK(class_of(error) == ERR_PENDING && *request != MPI_REQUEST_NULL);
}

/* Rank 0 receives while `victim` has failed; `friend` lives. */
static void receive(int victim, int friend, int failed_before)
{
    int value = -1, failed[8];
    MPI_Request request;
    MPI_Status status;
    tell(friend, GO);
    hear(friend, MARK); /* so what it sent before is here, too */
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, WANTED, comm, &request);
    is_pending(&request);
    CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, GO, comm, &status)) == ERR_FAILED);
    CHECK(class_of(MPI_Probe(MPI_ANY_SOURCE, GO, comm, &status)) == ERR_FAILED);
    CHECK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, EARLY, comm, &status) == MPI_SUCCESS);
    CHECK(value == EARLY && status.MPI_SOURCE == friend);
    is_pending(&request);
    CHECK(failed_ranks(comm, failed, 8) == failed_before + 1 && failed[failed_before] == victim);
    tell(friend, GO);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    CHECK(value == WANTED && status.MPI_SOURCE == friend && status.MPI_TAG == WANTED);
    tell(friend, GO);
    CHECK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status) == MPI_SUCCESS);
    CHECK(value == WANTED && status.MPI_SOURCE == friend);
}

static void send(void)
{
    hear(0, GO);
    tell(0, EARLY);
    tell(0, MARK);
    for (int i = 0; i < 2; i++) {
        hear(0, GO);
        tell(0, WANTED);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    comm = copy_of_the_world();
    int rank = rank_in(comm), size = size_of(comm);
    works(comm);
    for (int victim = size - 1, i = 0; i < 2; victim--, i++) {
        if (i == 0) {
            lose(comm, victim);
        } else if (rank == victim) {
            crash();
        }
        if (rank == 0) {
            receive(victim, 1 + i % (size - 3), i);
        } else if (rank == 1 + i % (size - 3)) {
            send();
        }
        /* The second one lives until the first has been dealt with. */
        if (rank == 0 && i == 0) {
            tell(size - 2, GO);
        } else if (rank == size - 2) {
            hear(0, GO);
        }
    }
    return survived("wildcard");
}
