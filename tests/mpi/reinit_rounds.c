/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Reinit: ranks kill themselves in the middle of traffic, at chosen rounds; all roll back to
 * the restart point, the states are as specified, no message of an old epoch is received, and in
 * the end all leave together.
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 60, WORDS = 60000 };

static int failures_wanted, passes;

/* Incarnation i of the i-th victim fails: so each pass but the last has exactly one failure. */
static void fail_perhaps(int rank, int size, int iteration)
{
    int incarnation;
    RZ_Incarnation(&incarnation);
    for (int failure = 0; failure < failures_wanted; failure++) {
        int victim = (failure * 3 + 1) % size;
        int lives_before = 0;
        for (int earlier = 0; earlier < failure; earlier++) {
            lives_before += (earlier * 3 + 1) % size == victim;
        }
        if (rank == victim && incarnation == 1 + lives_before && iteration == 7 + failure * 5) {
            raise(SIGKILL);
        }
    }
}

static void iterate(int rank, int size, int iteration, MPI_Comm comm)
{
    static int out[WORDS], in[WORDS];
    int step = 1 + iteration % (size - 1), words = iteration % 2 ? WORDS : 2;
    int to = (rank + step) % size, from = (rank + size - step) % size;
    MPI_Request requests[2];
    MPI_Status status[2];
    for (int i = 0; i < words; i++) {
        out[i] = rank + iteration * 1000 + i;
    }
    MPI_Irecv(in, WORDS, MPI_INT, iteration % 3 ? from : MPI_ANY_SOURCE, iteration, comm,
              &requests[0]);
    fail_perhaps(rank, size, iteration);
    if (iteration % 5 == 0) {
        MPI_Issend(out, words, MPI_INT, to, iteration, comm, &requests[1]);
    } else {
        MPI_Isend(out, words, MPI_INT, to, iteration, comm, &requests[1]);
    }
    MPI_Waitall(2, requests, status);
    CHECK(status[0].MPI_SOURCE == from);
    for (int i = 0; i < words; i++) {
        CHECK(in[i] == from + iteration * 1000 + i);
    }
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    int rank, size, incarnation, told;
    MPI_Comm comm;
    (void)argc;
    (void)argv;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    RZ_Incarnation(&incarnation);
    MPIX_Reinit_state(&told);
    CHECK((int)state == told);
    passes++;
    CHECK(passes > 1 ? state == MPIX_REINIT_REINITED
                     : state == (incarnation > 1 ? MPIX_REINIT_RESTARTED : MPIX_REINIT_NEW));
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < ITERATIONS; i++) {
        iterate(rank, size, i, comm);
    }
    MPI_Comm_free(&comm);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    failures_wanted = argc > 1 ? atoi(argv[1]) : 1;
    int result = MPIX_Reinit(argc, argv, point);
    CHECK(result == 0);
    MPI_Finalize();
    return 0;
}
