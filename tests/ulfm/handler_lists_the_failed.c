/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An error handler of the program lists the failed processes: two ranks fail, the others call a
 * barrier until their handler has seen both.
 */
#define SUITE_FUNCTIONS
#include "suite.h"

enum { VICTIMS = 2, MAX = 64 };

static int listed[MAX], n_listed, calls;

static void on_error(MPI_Comm *comm, int *error, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, before = n_listed, earlier[MAX];
    CHECK(*comm == MPI_COMM_WORLD);
    CHECK(class_of(*error) == ERR_FAILED);
    CHECK(MPI_Error_string(*error, text, &length) == MPI_SUCCESS && length > 0);
    memcpy(earlier, listed, sizeof(listed));
    n_listed = failed_ranks(*comm, listed, MAX);
    CHECK(n_listed > 0);
    /* One list is the beginning of the next. */
    CHECK(n_listed >= before && memcmp(earlier, listed, (size_t)before * sizeof(listed[0])) == 0);
    calls++;
}

/* Each victim is told by all, the other victim included, that the work is done. */
static void lose_both(const int victims[VICTIMS])
{
    int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), other;
    for (int i = 0; i < VICTIMS; i++) {
        CHECK(MPI_Send(&rank, 1, MPI_INT, victims[i], 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    if (rank != victims[0] && rank != victims[1]) {
        return;
    }
    for (int from = 0; from < size; from++) {
        MPI_Recv(&other, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    crash();
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), errors = 0;
    int victims[VICTIMS] = {1, size - 1};
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    works(MPI_COMM_WORLD);
    lose_both(victims);
    while (n_listed < VICTIMS) {
        CHECK(class_of(MPI_Barrier(MPI_COMM_WORLD)) == ERR_FAILED);
        errors++;
    }
    CHECK(calls == errors && n_listed == VICTIMS);
    CHECK((listed[0] == victims[0] && listed[1] == victims[1]) ||
          (listed[0] == victims[1] && listed[1] == victims[0]));
    /* What ends well does not call it. */
    CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, rank, 0, &size, 1, MPI_INT, rank, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(calls == errors);
    return survived("handler_lists_the_failed");
}
