/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two halves with a communicator each, and a copy of one of them. A failure and a revocation in one
 * half are no business of the other, nor of the copy, nor of messages between the halves.
 */
#define SUITE_FUNCTIONS
#include "suite.h"

enum { ROUNDS = 300, FAILURE = 40 };

static int step(MPI_Comm comm, int round)
{
    int mine = rank_in(comm) + round, sum = -1, size = size_of(comm);
    int error = MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(error != MPI_SUCCESS || sum == size * (size - 1) / 2 + size * round);
    return error;
}

/* Each has a live partner in the other half. */
static void across(MPI_Comm world, int half)
{
    int rank = rank_in(world), partner = (rank + half) % (2 * half), value = -1;
    if (rank % half != half - 1) {
        CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, partner, 5, &value, 1, MPI_INT, partner, 5, world,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(value == partner);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm world = copy_of_the_world(), own, copy;
    int rank = rank_in(world), half = size_of(world) / 2, left = rank < half, error = MPI_SUCCESS;
    int value = 0;
    CHECK(size_of(world) == 2 * half && half >= 3);
    CHECK(MPI_Comm_split(world, left, rank, &own) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(own, &copy) == MPI_SUCCESS);
    all_have_it(world);
    for (int round = 0; round < ROUNDS && error == MPI_SUCCESS; round++) {
        if (left && rank == half - 1 && round == FAILURE) {
            crash();
        }
        error = step(own, round);
        CHECK(left || error == MPI_SUCCESS);
    }
    across(world, half);
    if (left) {
        CHECK(class_of(error) == ERR_FAILED || class_of(error) == ERR_REVOKED);
        CHECK(MPIX_Comm_revoke(own) == MPI_SUCCESS);
        CHECK(class_of(MPI_Barrier(own)) == ERR_REVOKED);
        if (rank < 2) { /* the copy is another communicator, with the same failed one in it */
            CHECK(MPI_Sendrecv_replace(&value, 1, MPI_INT, 1 - rank, 0, 1 - rank, 0, copy,
                                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
    }
    across(world, half);
    CHECK(is_revoked(own) == left && !is_revoked(copy) && !is_revoked(world));
    own = shrunk(&own);
    CHECK(size_of(own) == (left ? half - 1 : half));
    works(own);
    world = shrunk(&world);
    CHECK(size_of(world) == 2 * half - 1);
    works(world);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&own);
    MPI_Comm_free(&world);
    return survived("insulation");
}
