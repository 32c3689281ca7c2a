/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank is killed in a job without MPIX_Reinit: every call that needs it returns an error class,
 * calls between survivors continue, and MPI_Finalize ends. Run with --on-failure continue.
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdlib.h>

/* A message around the survivors: the victim's neighbours exchange it across it. */
static void around_the_living(int rank, int size, int victim)
{
    int right = (rank + 1) % size == victim ? (rank + 2) % size : (rank + 1) % size;
    int left =
        (rank + size - 1) % size == victim ? (rank + size - 2) % size : (rank + size - 1) % size;
    static int out[50000], in[50000];
    out[0] = out[49999] = rank;
    int error = MPI_Sendrecv(out, 50000, MPI_INT, right, 4, in, 50000, MPI_INT, left, 4,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(error == MPI_SUCCESS && in[0] == left && in[49999] == left);
}

static void any_failure_is_told_until_acknowledged(int rank, int size, int victim)
{
    int value, acked;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &request);
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_PROC_FAILED_PENDING);
    CHECK(request != MPI_REQUEST_NULL);
    CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE)) == MPI_ERR_PROC_FAILED);
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &acked);
    CHECK(acked == 1);
    around_the_living(rank, size, victim); /* our neighbours know it, too, before we send */
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    left = left == victim ? (rank + size - 2) % size : left;
    right = right == victim ? (rank + 2) % size : right;
    MPI_Send(&rank, 1, MPI_INT, right, 9, MPI_COMM_WORLD);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && value == left);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int victim = size - 2;
    static int large[1000000], got = -1;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    if (rank == victim) {
        for (int i = 0; i < size; i++) {
            if (i != rank) {
                MPI_Send(&rank, 1, MPI_INT, i, 1,
                         MPI_COMM_WORLD); /* received before, or in spite of, the failure */
            }
        }
        raise(SIGKILL);
    }
    /* The large send and the receive have no partner; the small one was sent for sure only where it
     * has arrived. */
    MPI_Irecv(&got, 1, MPI_INT, victim, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(large, 1000000, MPI_INT, victim, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(large, 1000000, MPI_INT, victim, 3, MPI_COMM_WORLD, &requests[2]);
    int error = MPI_Wait(&requests[0], &statuses[0]);
    CHECK(error == MPI_SUCCESS ? got == victim : class_of(error) == MPI_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Wait(&requests[1], &statuses[1])) == MPI_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Wait(&requests[2], &statuses[2])) == MPI_ERR_PROC_FAILED);
    CHECK(statuses[2].MPI_SOURCE == victim);
    CHECK(class_of(MPI_Send(&rank, 1, MPI_INT, victim, 1, MPI_COMM_WORLD)) == MPI_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Probe(victim, 5, MPI_COMM_WORLD, statuses)) == MPI_ERR_PROC_FAILED);
    any_failure_is_told_until_acknowledged(rank, size, victim);
    MPI_Comm part;
    error = MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &part);
    CHECK(class_of(error) == MPI_ERR_PROC_FAILED);
    if (rank == 0) {
        printf("failures: correct\n");
    }
    MPI_Finalize();
    return 0;
}
