/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receivers of synchronous messages are killed as soon as they have received them. The
 * acknowledgement has left by then, so that each send succeeds. Most receivers have no connection
 * to the sender before, so that theirs is made for the acknowledgement. Run with --on-failure
 * continue; rank 0 prints at the end how many were received.
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>

enum { RANKS_MAX = 64, SHORT = 100, LONG = 30000 };

static int data[LONG];

/* Small ones come with their envelope, large ones are fetched. */
static int length_for(int rank)
{
    return rank % 3 == 0 ? LONG : SHORT;
}

static void receive(int rank)
{
    CHECK(MPI_Recv(data, length_for(rank), MPI_INT, 0, rank, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    raise(SIGKILL);
}

static void send_to_all(int size)
{
    MPI_Request requests[RANKS_MAX];
    int received = 0;
    for (int i = 1; i < size; i++) {
        CHECK(MPI_Issend(data, length_for(i), MPI_INT, i, i, MPI_COMM_WORLD, &requests[i]) ==
              MPI_SUCCESS);
    }
    for (int i = 1; i < size; i++) {
        int error = class_of(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        CHECK(error == MPI_SUCCESS);
        received += error == MPI_SUCCESS;
    }
    printf("%d of %d were received\n", received, size - 1);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= RANKS_MAX);
    MPI_Barrier(MPI_COMM_WORLD); /* no process fails in MPI_Init */
    if (rank == 0) {
        send_to_all(size);
    } else {
        receive(rank);
    }
    MPI_Finalize();
    return 0;
}
