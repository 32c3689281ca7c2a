/* SPDX-License-Identifier: BSD-3-Clause */
/* For MPI programs that are tests: a check that fails says where and ends the job. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            int rank_ = -1;                                                                        \
            MPI_Comm_rank(MPI_COMM_WORLD, &rank_);                                                 \
            fprintf(stderr, "%s:%d: rank %d: not so: %s\n", __FILE__, __LINE__, rank_,             \
                    #condition);                                                                   \
            MPI_Abort(MPI_COMM_WORLD, 3);                                                          \
        }                                                                                          \
    } while (0)

/* The same outside MPI_Init and MPI_Finalize. */
#define SO(condition)                                                                              \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static inline int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

#endif
