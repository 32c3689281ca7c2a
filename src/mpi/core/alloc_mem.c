/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alloc_mem: memory for the program; large blocks are on pages of their own.
 */
#include "mpi/impl.h"

#include <stdlib.h>

#define LINE_BYTES 64
#define PAGE_BYTES 4096

int rzm_alloc_mem(MPI_Aint size, struct rz_info *info, void *baseptr)
{
    (void)info; /* hints; none is used */
    if (size < 0) {
        return rzm_error(MPI_ERR_ARG, "size is %lld", (long long)size);
    }
    void *memory;
    size_t alignment = size >= PAGE_BYTES ? PAGE_BYTES : LINE_BYTES;
    if (posix_memalign(&memory, alignment, size > 0 ? (size_t)size : 1) != 0) {
        return rzm_error(MPI_ERR_NO_MEM, "size is %lld: there is not that much memory",
                         (long long)size);
    }
    *(void **)baseptr = memory;
    return MPI_SUCCESS;
}

int rzm_free_mem(void *base)
{
    free(base);
    return MPI_SUCCESS;
}
