/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In each round one of the survivors fails, rank 0 included, at one of several places; the others
 * shrink and continue. Argument: the seed.
 */
#define SUITE_FUNCTIONS
#include "suite.h"

enum { PLACES = 4 };

/* Calls of a round; the victim fails before the one of this place. */
static int round_of_calls(MPI_Comm comm, int victim, int place)
{
    int rank = rank_in(comm), size = size_of(comm), value = rank, sum, error = MPI_SUCCESS;
    MPI_Comm made = MPI_COMM_NULL;
    gather(comm);
    for (int call = 0; call < PLACES && error == MPI_SUCCESS; call++) {
        if (rank == victim && call == place) {
            crash();
        }
        switch (call) {
        case 0:
            error = MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &value, 1, MPI_INT,
                                 (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
            break;
        case 1:
            error = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
            break;
        case 2:
            error = MPI_Comm_dup(comm, &made);
            break;
        default:
            error = MPI_Barrier(comm);
        }
    }
    if (made != MPI_COMM_NULL) {
        MPI_Comm_free(&made);
    }
    return error;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm comm = copy_of_the_world();
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    while (size_of(comm) > 1) {
        int size = size_of(comm), victim = draw(&seed, size), place = draw(&seed, PLACES);
        int error = round_of_calls(comm, victim, place);
        CHECK(class_of(error) == ERR_FAILED || class_of(error) == ERR_REVOKED);
        CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
        comm = shrunk(&comm);
        CHECK(size_of(comm) == size - 1);
        works(comm);
    }
    MPI_Comm_free(&comm);
    return survived("until_one_is_left");
}
