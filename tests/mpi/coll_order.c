/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members that begin a blocking and a non-blocking collective operation in different orders: an
 * error of the program, which other MPIs forgive, since they match the two kinds apart. So do we.
 * The order changes with the rank and the round. Plain, and with the same errors at all members.
 */
#include "check.h"

enum { ROUNDS = 12, LONG = 5000 };

static int rank, size;

static void nothing_first(int round, MPI_Comm comm)
{
    if ((rank + round) % 2 == 0) {
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    }
}

static void nothing_last(int round, MPI_Comm comm)
{
    if ((rank + round) % 2 != 0) {
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    }
}

static void sums(int round, MPI_Comm comm)
{
    int one = rank + 1, sum = 0;
    MPI_Request request;
    nothing_first(round, comm);
    CHECK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request) == MPI_SUCCESS);
    nothing_last(round, comm);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(sum == size * (size + 1) / 2);
}

static void reduce(int n, MPI_Comm comm)
{
    int own[LONG], sum[LONG];
    for (int i = 0; i < n; i++) {
        own[i] = rank + i;
    }
    CHECK(MPI_Allreduce(own, sum, n, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        CHECK(sum[i] == size * (size - 1) / 2 + size * i);
    }
}

/* Two that carry data, of one or of different lengths. */
static void broadcasts(int round, MPI_Comm comm)
{
    int n = round % 3 == 0 ? LONG : 1, m = round % 4 == 0 ? LONG : 1, data[LONG];
    MPI_Request request;
    for (int i = 0; i < n; i++) {
        data[i] = rank == 0 ? round + i : -1;
    }
    if ((rank + round) % 2 == 0) {
        reduce(m, comm);
    }
    CHECK(MPI_Ibcast(data, n, MPI_INT, 0, comm, &request) == MPI_SUCCESS);
    if ((rank + round) % 2 != 0) {
        reduce(m, comm);
    }
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        CHECK(data[i] == round + i);
    }
}

static void duplicates(int round, MPI_Comm comm)
{
    MPI_Comm made;
    MPI_Request request;
    nothing_first(round, comm);
    CHECK(MPI_Comm_idup(comm, &made, &request) == MPI_SUCCESS);
    nothing_last(round, comm);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    reduce(1, made);
    MPI_Comm_free(&made);
}

static void persistent(int round, MPI_Comm comm)
{
    int one = rank, sum = -1;
    MPI_Request request;
    nothing_first(round, comm);
    CHECK(MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request) ==
          MPI_SUCCESS);
    nothing_last(round, comm);
    for (int run = 0; run < 2; run++) {
        sum = -1;
        CHECK(MPI_Start(&request) == MPI_SUCCESS);
        reduce(1, comm);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(sum == size * (size - 1) / 2);
    }
    MPI_Request_free(&request);
}

static void all(MPI_Comm comm)
{
    for (int round = 0; round < ROUNDS; round++) {
        sums(round, comm);
        broadcasts(round, comm);
        duplicates(round, comm);
        persistent(round, comm);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    all(MPI_COMM_WORLD);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_error_uniform", "coll");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    all(comm);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
