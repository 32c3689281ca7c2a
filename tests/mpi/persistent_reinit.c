/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Reinit while persistent and neighbourhood collectives and partitioned messages run: ranks
 * kill themselves in the middle, inactive and active requests of the old epoch go with it, and
 * those made again work.
 *
 * Arguments: [DEATHS].
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdlib.h>

enum { ITERATIONS = 40, WORDS = 20000, PARTS = 8 };

static int failures_wanted, passes;
static double out[WORDS], sum[WORDS], from_left[2 * WORDS], parts[WORDS];
static MPI_Request unmatched; /* a partitioned receive */

static void fail_perhaps(int rank, int size, int iteration)
{
    int incarnation;
    RZ_Incarnation(&incarnation);
    /* A victim of its own for each pass. */
    if (passes == 1 && incarnation == 1 && rank < failures_wanted && rank < size &&
        iteration == 5 + 3 * rank) {
        raise(SIGKILL);
    }
}

static void iterate(int rank, int size, int iteration, MPI_Request *requests)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < WORDS; i++) {
        out[i] = rank + iteration + i % 5;
    }
    if (iteration % 2) {
        MPI_Start(&requests[1]);
        MPI_Start(&requests[0]);
    } else {
        MPI_Startall(2, requests);
    }
    MPI_Startall(2, &requests[3]);
    MPI_Pready_range(PARTS / 2, PARTS - 1, requests[3]);
    fail_perhaps(rank, size, iteration);
    for (int i = 0; i < PARTS / 2; i++) {
        MPI_Pready(i, requests[3]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, &requests[3], MPI_STATUSES_IGNORE);
    for (int i = 0; i < WORDS; i++) {
        CHECK(sum[i] == size * (iteration + i % 5) + size * (size - 1) / 2);
        CHECK(from_left[i] == left + iteration + i % 5 && parts[i] == from_left[i]);
        CHECK(from_left[WORDS + i] == right + iteration + i % 5);
    }
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    int rank, size, periodic = 1;
    MPI_Comm ring;
    MPI_Request requests[5]; /* the third is never started */
    (void)argc;
    (void)argv;
    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    passes++;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Allreduce_init(out, sum, WORDS, MPI_DOUBLE, MPI_SUM, ring, MPI_INFO_NULL, &requests[0]);
    MPI_Neighbor_allgather_init(out, WORDS, MPI_DOUBLE, from_left, WORDS, MPI_DOUBLE, ring,
                                MPI_INFO_NULL, &requests[1]);
    MPI_Barrier_init(ring, MPI_INFO_NULL, &requests[2]);
    MPI_Psend_init(out, PARTS, WORDS / PARTS, MPI_DOUBLE, (rank + 1) % size, 1, ring, MPI_INFO_NULL,
                   &requests[3]);
    MPI_Precv_init(parts, PARTS / 2, 2 * WORDS / PARTS, MPI_DOUBLE, (rank + size - 1) % size, 1,
                   ring, MPI_INFO_NULL, &requests[4]);
    MPI_Precv_init(parts, 1, 1, MPI_DOUBLE, rank, 2, ring, MPI_INFO_NULL, &unmatched);
    MPI_Request_free(&unmatched); /* still waits for its partner, which never comes */
    MPI_Precv_init(parts, 1, 1, MPI_DOUBLE, rank, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &unmatched);
    MPI_Start(&unmatched);
    for (int i = 0; i < ITERATIONS; i++) {
        iterate(rank, size, i, requests);
    }
    for (int k = 0; k < 5; k++) {
        MPI_Request_free(&requests[k]);
    }
    MPI_Comm_free(&ring);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    failures_wanted = argc > 1 ? atoi(argv[1]) : 1;
    int result = MPIX_Reinit(argc, argv, point);
    CHECK(result == 0);
    int incarnation;
    RZ_Incarnation(&incarnation);
    CHECK(passes == (incarnation > 1 || failures_wanted == 0 ? 1 : 2));
    MPI_Finalize();
    return 0;
}
