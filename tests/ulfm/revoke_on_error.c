/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring in which each rank waits for its left neighbour. One fails; only its neighbours can
 * notice, and revoke, so that the others, which wait for survivors, learn of it, too.
 */
#define SUITE_FUNCTIONS
#include "suite.h"

enum { FAILURE = 50 };

/* Passes a token around until a rank reports that it cannot continue. */
static int turn(MPI_Comm comm, int victim)
{
    int rank = rank_in(comm), size = size_of(comm), error = MPI_SUCCESS;
    for (int lap = 0; error == MPI_SUCCESS; lap++) {
        int token = -1;
        if (rank == victim && lap == FAILURE) {
            crash();
        }
        error = MPI_Sendrecv(&lap, 1, MPI_INT, (rank + 1) % size, 0, &token, 1, MPI_INT,
                             (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
        CHECK(error != MPI_SUCCESS || token == lap);
        CHECK(lap < FAILURE + size + 1);
    }
    return class_of(error);
}

static void is_of_no_use(MPI_Comm comm)
{
    int value = 0;
    MPI_Comm copy;
    CHECK(is_revoked(comm) == 1);
    CHECK(class_of(MPI_Barrier(comm)) == ERR_REVOKED);
    CHECK(class_of(MPI_Send(&value, 1, MPI_INT, rank_in(comm), 0, comm)) == ERR_REVOKED);
    CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE)) ==
          ERR_REVOKED);
    CHECK(class_of(MPI_Comm_dup(comm, &copy)) == ERR_REVOKED);
    CHECK(all_agree(comm, 6) == 6);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm comm = copy_of_the_world(), other = copy_of_the_world();
    int rank = rank_in(comm), size = size_of(comm), victim = size / 2, value = rank;
    int class = turn(comm, victim);
    CHECK(class == ERR_FAILED || class == ERR_REVOKED);
    if (class == ERR_FAILED) {
        CHECK(rank == (victim + 1) % size || rank == (victim + size - 1) % size);
        CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    }
    is_of_no_use(comm);
    /* Only this one communicator is. */
    CHECK(is_revoked(other) == 0 && is_revoked(MPI_COMM_WORLD) == 0);
    CHECK(MPI_Sendrecv_replace(&value, 1, MPI_INT, rank, 0, rank, 0, other, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    comm = shrunk(&comm);
    CHECK(size_of(comm) == size - 1 && rank_in(comm) == (rank < victim ? rank : rank - 1));
    works(comm);
    MPI_Comm_free(&other);
    MPI_Comm_free(&comm);
    return survived("revoke_on_error");
}
