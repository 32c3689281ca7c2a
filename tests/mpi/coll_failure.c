/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank is killed between or inside collective operations: every survivor gets MPI_ERR_PROC_FAILED
 * from one of them and from all later ones, from blocking and non-blocking ones alike; messages
 * between survivors are not affected. Run with --on-failure continue.
 *
 * Arguments: [OPERATION [VICTIM]].
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdlib.h>

enum { LARGE = 60000, KINDS = 8 };

static double out[LARGE], in[LARGE];
static int rank, size;

static int operation(int kind, MPI_Request *request)
{
    MPI_Comm world = MPI_COMM_WORLD;
    switch (kind) {
    case 0:
        return MPI_Barrier(world);
    case 1:
        return MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, world);
    case 2:
        return MPI_Allreduce(out, in, LARGE, MPI_DOUBLE, MPI_SUM, world);
    case 3:
        return MPI_Allgather(out, LARGE / 64, MPI_DOUBLE, in, LARGE / 64, MPI_DOUBLE, world);
    case 4:
        return MPI_Alltoall(out, LARGE / 64, MPI_DOUBLE, in, LARGE / 64, MPI_DOUBLE, world);
    case 5:
        return MPI_Scan(out, in, 10, MPI_DOUBLE, MPI_SUM, world);
    case 6:
        return MPI_Ibarrier(world, request);
    default:
        return MPI_Iallreduce(out, in, LARGE, MPI_DOUBLE, MPI_SUM, world, request);
    }
}

/* The class of the error of one whole operation. */
static int one(int kind)
{
    int class;
    MPI_Request request = MPI_REQUEST_NULL;
    int error = operation(kind, &request);
    if (error == MPI_SUCCESS && request != MPI_REQUEST_NULL) {
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Error_class(error, &class);
    return class;
}

/* The victim leaves in the middle: it takes part as far as it gets without waiting. */
static void fail_inside(int kind)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (kind >= 6) {
        operation(kind, &request);
    }
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int kind = argc > 1 ? atoi(argv[1]) : 1, victim = argc > 2 ? atoi(argv[2]) : size - 1;
    for (int i = 0; i < 20; i++) {
        CHECK(one(kind) == MPI_SUCCESS);
    }
    /* Not before all others have completed, because its failure would be too early for them. */
    if (rank == victim) {
        for (int i = 1, other; i < size; i++) {
            MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        fail_inside(kind);
    }
    MPI_Send(&rank, 1, MPI_INT, victim, 3, MPI_COMM_WORLD);
    int class;
    do {
        class = one(kind); /* a scan does not need the victim everywhere, until the news has come */
    } while (class == MPI_SUCCESS);
    CHECK(class == MPI_ERR_PROC_FAILED);
    for (int other = 0; other < KINDS; other++) {
        CHECK(one(other) == MPI_ERR_PROC_FAILED);
    }
    /* Around the survivors. */
    int right = (rank + 1) % size, left = (rank + size - 1) % size, got = -1;
    right = right == victim ? (right + 1) % size : right;
    left = left == victim ? (left + size - 1) % size : left;
    CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 4, &got, 1, MPI_INT, left, 4, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == left);
    MPI_Finalize();
    return 0;
}
