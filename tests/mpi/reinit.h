/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs that go back to MPIX_Reinit ask again and again. */
#ifndef REINIT_H
#define REINIT_H

#include "check.h"

#include <mpi-ext.h>
#include <signal.h>

/* The number of failures so far, exchanged once at the begin of each pass, this one being pass
 * number `passes` of this process: a spawned process cannot know it, the others send it. */
static inline int failures_so_far(int passes)
{
    static int failures;
    failures = passes > 1 ? failures + 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return failures;
}

/* A first process of `rank` fails at the steps that arguments from the third on name: RANK@STEP. */
static inline void fail_perhaps(int argc, char **argv, int rank, uint64_t step)
{
    int incarnation, victim;
    unsigned long long when;
    RZ_Incarnation(&incarnation);
    for (int i = 3; i < argc; i++) {
        if (sscanf(argv[i], "%d@%llu", &victim, &when) == 2 && victim == rank && when == step &&
            incarnation == 1) {
            raise(SIGKILL);
        }
    }
}

#endif
