/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A large message was announced, and its sender fails before it is fetched: the receive ends with
 * MPI_ERR_PROC_FAILED. The receiver has never sent anything to the sender, so that it has no
 * connection to it. Two ranks, best on two nodes; run with --on-failure continue.
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

enum { LARGE = 1 << 20, TAG_LARGE, TAG_SMALL };

static char data[LARGE];

/* The small message follows the announcement of the large one. */
static void announce(void)
{
    int pid = (int)getpid();
    MPI_Request request;
    MPI_Isend(data, LARGE, MPI_CHAR, 0, TAG_LARGE, MPI_COMM_WORLD, &request);
    MPI_Send(&pid, 1, MPI_INT, 0, TAG_SMALL, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* no process receives it */
}

static void await_failure(void)
{
    int failed = 0;
    while (failed == 0) {
        MPI_Group group;
        CHECK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &group) == MPI_SUCCESS);
        MPI_Group_size(group, &failed);
        MPI_Group_free(&group);
    }
}

static void fetch_too_late(void)
{
    int pid = 0;
    CHECK(MPI_Recv(&pid, 1, MPI_INT, 1, TAG_SMALL, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    kill((pid_t)pid, SIGKILL);
    await_failure();
    int error = MPI_Recv(data, LARGE, MPI_CHAR, 1, TAG_LARGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(class_of(error) == MPI_ERR_PROC_FAILED);
    printf("told of the failure\n");
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        fetch_too_late();
    } else {
        announce();
    }
    MPI_Finalize();
    return 0;
}
