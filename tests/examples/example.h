/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What stands in the place of each `...` of an example: its beginning, its work, its end. The work
 * of an iteration changes all numbers, once more if it is done twice, and takes the neighbour's.
 *
 * FAILS="RANK@ITERATION ...": the first process of that rank fails in that iteration.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <mpi.h>
#include <mpi-ext.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void example_begins(double *x, int n)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < n; i++) {
        x[i] = rank + i;
    }
}

static inline void example_fails(int rank, int iteration)
{
    int incarnation, victim, when, used;
    const char *plan = getenv("FAILS");
    RZ_Incarnation(&incarnation);
    while (plan && incarnation == 1 && sscanf(plan, "%d@%d%n", &victim, &when, &used) == 2) {
        if (victim == rank && when == iteration) {
            raise(SIGKILL);
        }
        plan += used;
    }
}

static inline void example_works(double *x, int n, int iteration)
{
    int rank, size;
    double neighbour;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    example_fails(rank, iteration);
    MPI_Sendrecv(&x[iteration % n], 1, MPI_DOUBLE, (rank + 1) % size, 0, &neighbour, 1, MPI_DOUBLE,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++) {
        x[i] = 0.5 * x[i] + 0.25 * neighbour + iteration + i;
    }
}

/* All bits of all numbers, and how often the work was done. */
static inline void example_ends(const double *x, int n, int iteration)
{
    int rank;
    uint64_t word, mine = 0, all;
    for (int i = 0; i < n; i++) {
        memcpy(&word, &x[i], sizeof(word));
        mine = (mine ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("the answer after %d iterations is %016llx\n", iteration, (unsigned long long)all);
    }
}

#endif
