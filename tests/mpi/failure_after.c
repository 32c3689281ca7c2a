/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that has completed a collective operation is killed a moment later. The others do not need
 * it any more, so that the operation succeeds at each of them that had entered it, with the right
 * result; of the operations after it each survivor gets MPI_ERR_PROC_FAILED eventually, and each
 * wait ends. Then the survivors shrink and the next one fails, until three are left. Run with
 * --on-failure continue.
 *
 * Arguments: SEED [lossy]. lossy: what the victim had sent may be lost with it (a network).
 */
#include "check.h"

#include "coll_random.h"
#include <mpi-ext.h>
#include <signal.h>
#include <string.h>
#include <stdbool.h>
#include <time.h>

enum { LONG = 20000, KINDS = 12, LEFT = 3 };

static int values[LONG], sums[LONG];
static int rank, size;
static MPI_Comm comm;

static void spin(int microseconds)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 <
             microseconds);
}

static int allreduce(int n)
{
    for (int i = 0; i < n; i++) {
        values[i] = rank + i;
    }
    int error = MPI_Allreduce(values, sums, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < n && error == MPI_SUCCESS; i++) {
        CHECK(sums[i] == size * i + size * (size - 1) / 2);
    }
    return error;
}

static int bcast(int n, int root)
{
    for (int i = 0; i < n; i++) {
        values[i] = rank == root ? i + root : -1;
    }
    int error = MPI_Bcast(values, n, MPI_INT, root, comm);
    for (int i = 0; i < n && error == MPI_SUCCESS; i++) {
        CHECK(values[i] == i + root);
    }
    return error;
}

static int alltoall(void)
{
    for (int i = 0; i < size; i++) {
        values[i] = rank * size + i;
    }
    int error = MPI_Alltoall(values, 1, MPI_INT, sums, 1, MPI_INT, comm);
    for (int i = 0; i < size && error == MPI_SUCCESS; i++) {
        CHECK(sums[i] == i * size + rank);
    }
    return error;
}

static int allgather(int n)
{
    for (int i = 0; i < n; i++) {
        values[i] = rank;
    }
    int error = MPI_Allgather(values, n, MPI_INT, sums, n, MPI_INT, comm);
    for (int i = 0; i < n * size && error == MPI_SUCCESS; i++) {
        CHECK(sums[i] == i / n);
    }
    return error;
}

/* A call that makes a communicator, of which only the making is looked at. */
static int make(int kind)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group group;
    int error, one = 1, dims[1] = {size};
    if (kind == 0) {
        error = MPI_Comm_split(comm, rank % 2, 0, &made);
    } else if (kind == 1) {
        error = MPI_Comm_dup(comm, &made);
    } else if (kind == 2) {
        error = MPI_Cart_create(comm, 1, dims, &one, 0, &made);
    } else {
        MPI_Comm_group(comm, &group);
        error = MPI_Comm_create(comm, group, &made);
        MPI_Group_free(&group);
    }
    if (error == MPI_SUCCESS) {
        MPI_Comm_free(&made);
    }
    return error;
}

static int run_request(MPI_Request *request)
{
    return MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* What all of them enter before any leaves it: all except the last two kinds. */
static int operation(int kind, int root)
{
    MPI_Request request;
    switch (kind) {
    case 0:
        return MPI_Barrier(comm);
    case 1:
    case 2:
    case 3:
    case 4:
        return make(kind - 1);
    case 5:
        return allreduce(1);
    case 6:
        return allreduce(LONG);
    case 7:
        return alltoall();
    case 8:
        return allgather(1000);
    case 9:
        CHECK(MPI_Ibarrier(comm, &request) == MPI_SUCCESS);
        return run_request(&request);
    case 10:
        return bcast(1, root);
    default:
        return bcast(LONG, root);
    }
}

static void round_of(bool lossy)
{
    int kind = draw(KINDS), victim = draw(size), root = draw(size), warm = draw(4);
    int delay = draw(3) == 0 ? 0 : draw(300);
    for (int i = 0; i < warm; i++) {
        CHECK(operation(kind, root) == MPI_SUCCESS);
    }
    /* No process knows of a failure when it enters this. The victim may leave it, and fail, before
     * its last message has left the network. */
    int error = class_of(MPI_Barrier(comm));
    CHECK(error == MPI_SUCCESS || (lossy && error == MPI_ERR_PROC_FAILED));
    if (error == MPI_SUCCESS) {
        error = class_of(operation(kind, root));
    }
    if (rank == victim) {
        CHECK(error == MPI_SUCCESS);
        spin(delay);
        raise(SIGKILL);
    }
    CHECK(error == MPI_SUCCESS || error == MPI_ERR_PROC_FAILED);
    if (kind < KINDS - 2 && !lossy) {
        CHECK(error == MPI_SUCCESS);
    }
    /* From here on it is missed. */
    while (error == MPI_SUCCESS) {
        error = class_of(operation(kind, root));
    }
    CHECK(error == MPI_ERR_PROC_FAILED);
    CHECK(class_of(operation(kind, root)) == MPI_ERR_PROC_FAILED);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    random_state = argc > 1 ? (uint64_t)atoi(argv[1]) : 1;
    bool lossy = argc > 2 && strcmp(argv[2], "lossy") == 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (;;) {
        MPI_Comm smaller;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        if (size <= LEFT) {
            break;
        }
        round_of(lossy);
        CHECK(MPIX_Comm_shrink(comm, &smaller) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
        comm = smaller;
    }
    if (rank == 0) {
        printf("%d are left\n", size);
    }
    MPI_Finalize();
    return 0;
}
