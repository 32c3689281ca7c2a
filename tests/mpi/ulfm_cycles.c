/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making, agreeing on, revoking, shrinking and freeing communicators again and again takes no more
 * memory after thousands of times than after half of them: by then the rings and tables that stay
 * have been written to once. The argument: how many cycles.
 */
#include "ulfm.h"

#include <mpi-ext.h>
#include <stdlib.h>
#include <unistd.h>

static void cycle(int i)
{
    int rank, size, flag = 1 << (i % 31), sum = 0;
    MPI_Comm copy, shrunk;
    MPI_Request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    CHECK(MPIX_Comm_iagree(copy, &flag, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(flag == 1 << (i % 31));
    if (i % 2) {
        if (rank == i % size) {
            MPIX_Comm_revoke(copy);
        }
        CHECK(MPIX_Comm_shrink(copy, &shrunk) == MPI_SUCCESS);
    } else {
        flag = rank == i % size ? ~1 : ~0;
        CHECK(MPIX_Comm_agree(copy, &flag) == MPI_SUCCESS && flag == ~1);
        MPI_Comm_dup(copy, &shrunk);
    }
    MPI_Comm_free(&copy);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, shrunk) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Comm_free(&shrunk);
}

/* Sanitizers keep freed memory for a while. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

int main(int argc, char **argv)
{
    int cycles = argc > 1 ? atoi(argv[1]) : 1000;
    long before = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < cycles; i++) {
        if (i == cycles / 2) {
            before = resident_bytes();
        }
        cycle(i);
    }
    CHECK(SANITIZED || resident_bytes() - before < 256 << 10);
    MPI_Finalize();
    return 0;
}
