/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank is killed while the others run neighbourhood and persistent collectives on a grid: every
 * survivor gets MPI_ERR_PROC_FAILED from one of them and from all later ones, requests stay usable
 * and can be freed. Run with --on-failure continue.
 *
 * Arguments: [KIND [VICTIM]].
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdlib.h>

enum { LARGE = 60000, KINDS = 5 };

static double out[4 * LARGE], in[4 * LARGE];
static int rank, size;
static MPI_Comm grid;
static MPI_Request kept[KINDS];

static void make_requests(void)
{
    MPI_Info none = MPI_INFO_NULL;
    for (int kind = 0; kind < KINDS; kind++) {
        kept[kind] = MPI_REQUEST_NULL;
    }
    MPI_Neighbor_alltoall_init(out, LARGE, MPI_DOUBLE, in, LARGE, MPI_DOUBLE, grid, none, &kept[2]);
    MPI_Allreduce_init(out, in, LARGE, MPI_DOUBLE, MPI_SUM, grid, none, &kept[3]);
    MPI_Barrier_init(grid, none, &kept[4]);
}

static int begin(int kind, MPI_Request *request)
{
    *request = kept[kind];
    switch (kind) {
    case 0:
        return MPI_Neighbor_alltoall(out, LARGE, MPI_DOUBLE, in, LARGE, MPI_DOUBLE, grid);
    case 1:
        return MPI_Ineighbor_allgather(out, LARGE, MPI_DOUBLE, in, LARGE, MPI_DOUBLE, grid,
                                       request);
    default:
        return MPI_Start(request);
    }
}

/* The class of the error of one whole operation. */
static int one(int kind)
{
    int class;
    MPI_Request request;
    int error = begin(kind, &request);
    if (error == MPI_SUCCESS && request != MPI_REQUEST_NULL) {
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(request == kept[kind]);
    MPI_Error_class(error, &class);
    return class;
}

int main(int argc, char **argv)
{
    int dims[2] = {0, 0}, periods[2] = {1, 1}, class;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    int kind = argc > 1 ? atoi(argv[1]) : 0, victim = argc > 2 ? atoi(argv[2]) : size - 1;
    make_requests();
    for (int i = 0; i < 10; i++) {
        CHECK(one(kind) == MPI_SUCCESS);
    }
    /* Not before all others have completed, because its failure would be too early for them. */
    if (rank == victim) {
        MPI_Request request;
        for (int i = 1, other; i < size; i++) {
            MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (kind != 0) {
            begin(kind, &request);
        }
        raise(SIGKILL);
    }
    MPI_Send(&rank, 1, MPI_INT, victim, 3, MPI_COMM_WORLD);
    do {
        class = one(kind); /* not all are neighbours, until the news has arrived */
    } while (class == MPI_SUCCESS);
    CHECK(class == MPI_ERR_PROC_FAILED);
    for (int other = 0; other < KINDS; other++) {
        CHECK(one(other) == MPI_ERR_PROC_FAILED);
    }
    for (int other = 2; other < KINDS; other++) {
        CHECK(MPI_Request_free(&kept[other]) == MPI_SUCCESS);
    }
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
