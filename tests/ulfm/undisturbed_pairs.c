/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks work in pairs on MPI_COMM_WORLD. One fails in the middle of its work: its partner gets an
 * error, the other pairs get none and lose no message.
 */
#include "suite.h"

enum { ROUNDS = 2000, FAILURE = 300, WORDS = 3000 };

static int sent[WORDS], got[WORDS];

static int exchange(int rank, int partner, int round)
{
    int count = 1 + round * 37 % WORDS, error;
    for (int i = 0; i < count; i++) {
        sent[i] = rank * 1000003 + round * 101 + i;
    }
    error = MPI_Sendrecv(sent, count, MPI_INT, partner, round, got, count, MPI_INT, partner, round,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; error == MPI_SUCCESS && i < count; i++) {
        CHECK(got[i] == partner * 1000003 + round * 101 + i);
    }
    return error;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank = rank_in(MPI_COMM_WORLD), partner = rank ^ 1, victim = size_of(MPI_COMM_WORLD) / 2;
    int round, error = MPI_SUCCESS;
    CHECK(size_of(MPI_COMM_WORLD) % 2 == 0);
    for (round = 0; round < ROUNDS && error == MPI_SUCCESS; round++) {
        if (rank == victim && round == FAILURE) {
            crash();
        }
        error = exchange(rank, partner, round);
    }
    if (partner == victim) {
        /* A round that was sent, though not received, may have been the last good one. */
        CHECK(class_of(error) == ERR_FAILED && round - 1 >= FAILURE - 1 && round - 1 <= FAILURE);
        CHECK(class_of(exchange(rank, partner, ROUNDS)) == ERR_FAILED);
    } else {
        CHECK(error == MPI_SUCCESS && round == ROUNDS);
        /* Also when it certainly knows of it, because it sends to the failed one itself. */
        CHECK(class_of(MPI_Recv(NULL, 0, MPI_CHAR, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
              ERR_FAILED);
        CHECK(exchange(rank, partner, ROUNDS) == MPI_SUCCESS);
    }
    return survived("undisturbed_pairs");
}
