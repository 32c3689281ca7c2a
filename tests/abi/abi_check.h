/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs that know nothing but the ABI: a check says what is not so, and counts. */
#ifndef ABI_CHECK_H
#define ABI_CHECK_H

#include <mpi.h>

#include <stdio.h>

static int abi_faults;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            abi_faults++;                                                                          \
        }                                                                                          \
    } while (0)

#define GOOD(call) CHECK((call) == MPI_SUCCESS)

/* Of a call that returns an error: its class, which is the code itself or what it was made of. */
static inline int class_of(int error)
{
    int error_class = -1;
    return MPI_Error_class(error, &error_class) == MPI_SUCCESS ? error_class : -1;
}

#define REFUSED(call, error) CHECK(class_of(call) == (error))

#endif
