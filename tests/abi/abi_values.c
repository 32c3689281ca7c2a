/* SPDX-License-Identifier: BSD-3-Clause */
/* Every constant as a compiled program sees it, and the layout of what has one: a line each, for
 * constants_test.py. Compiled with Rhizome's header and with an independent one. */
#include <mpi.h>

#include "abi_facts.h"

#include <stdio.h>

#define INTEGER(name) printf(#name " %lld\n", (long long)name);
#define ADDRESS(name) printf(#name " %lld\n", (long long)(intptr_t)name);
#define SIZE(type) printf("sizeof(" #type ") %zu\n", sizeof(type));
#define OFFSET(field) printf("offsetof(MPI_Status." #field ") %zu\n", offsetof(MPI_Status, field));

int main(void)
{
    ABI_INTEGERS(INTEGER)
    ABI_ADDRESSES(ADDRESS)
    SIZE(MPI_Status)
    SIZE(MPI_Comm)
    SIZE(MPI_Aint)
    SIZE(MPI_Offset)
    SIZE(MPI_Count)
    OFFSET(MPI_SOURCE)
    OFFSET(MPI_TAG)
    OFFSET(MPI_ERROR)
    OFFSET(MPI_internal)
    return 0;
}
