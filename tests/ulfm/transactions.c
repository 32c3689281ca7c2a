/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transactions: an error handler revokes the communicator and jumps out of the call to where the
 * transaction began. It is committed if all have completed it, else repeated by the survivors. The
 * communicator made by shrink inherits the handler.
 */
#define SUITE_FUNCTIONS
#include "suite.h"

#include <setjmp.h>

enum { TRANSACTIONS = 60, EVERY = 20 };

static jmp_buf begin;
static int jumps;

static void roll_back(MPI_Comm *comm, int *error, ...)
{
    int class = class_of(*error);
    CHECK(class == ERR_FAILED || class == ERR_REVOKED);
    if (class == ERR_FAILED) {
        MPIX_Comm_revoke(*comm);
    }
    jumps++;
    longjmp(begin, 1);
}

/* Some calls, any of which may not return. */
static long work(MPI_Comm comm, int number, int victim)
{
    int rank = rank_in(comm), size = size_of(comm), got = -1;
    long mine = rank + number, sum;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                 (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size);
    if (rank == victim) {
        crash();
    }
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
    MPI_Barrier(comm);
    return sum;
}

static int committed(MPI_Comm comm, int well)
{
    /* The agreement's own errors must not jump: they are handled here. */
    MPI_Errhandler handler;
    MPI_Comm_get_errhandler(comm, &handler);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int all_well = all_agree(comm, well);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    return all_well;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    static MPI_Comm comm; /* these outlive the jump */
    static int number, killed;
    static long total;
    static unsigned seed = 1;
    comm = copy_of_the_world();
    int size = size_of(comm);
    MPI_Comm_create_errhandler(roll_back, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    while (number < TRANSACTIONS) {
        static int victim, well;
        static long sum;
        victim = -1;
        if (number % EVERY == EVERY / 2 && killed == number / EVERY) {
            victim = draw(&seed, size_of(comm));
            killed++;
        }
        if (setjmp(begin) == 0) {
            sum = work(comm, number, victim);
            well = 1;
        } else {
            well = 0;
        }
        if (committed(comm, well)) {
            int n = size_of(comm);
            CHECK(sum == (long)n * (n - 1) / 2 + (long)n * number);
            total += number++;
        } else {
            comm = shrunk(&comm);
        }
    }
    CHECK(killed == TRANSACTIONS / EVERY && jumps >= 1 && size_of(comm) == size - killed);
    CHECK(total == (long)TRANSACTIONS * (TRANSACTIONS - 1) / 2);
    MPI_Comm_free(&comm);
    return survived("transactions");
}
