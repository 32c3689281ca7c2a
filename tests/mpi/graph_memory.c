/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Dist_graph_create where the last rank runs out of memory: for its rows of edges, for those it
 * receives, for the topology itself. No process is left waiting.
 */
#include "check.h"

#include <stdatomic.h>
#include <stdlib.h>

#define LARGE ((size_t)1 << 20) /* what the call needs for the edges; messages need less */
#define EDGES 100000

/* glibc's own; ours stand before them. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);

static atomic_int until_failure; /* 0: none fails */

static int fails(size_t size)
{
    return size >= LARGE && until_failure > 0 && --until_failure == 0;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    return fails(size) ? NULL : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t size)
{
    return fails(n * size) ? NULL : __libc_calloc(n, size);
}

static int source, degree = EDGES, destinations[EDGES];

/* The error of this rank; comm is set if there is none. */
static int create(MPI_Comm *comm)
{
    return MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, destinations, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, comm);
}

int main(void)
{
    int rank, size, failures = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    source = rank;
    for (int i = 0; i < EDGES; i++) {
        destinations[i] = i % size;
    }
    for (int n = 1; n <= 4; n++) {
        MPI_Comm comm = MPI_COMM_NULL;
        until_failure = rank == size - 1 ? n : 0;
        int error = create(&comm), failed = rank == size - 1 && until_failure == 0;
        until_failure = 0;
        CHECK((error == MPI_ERR_NO_MEM) == failed);
        CHECK((error == MPI_SUCCESS) == (comm != MPI_COMM_NULL));
        /* An error before the graph is known is returned at all; afterwards only at the rank
         * itself. */
        int errors = error != MPI_SUCCESS, all;
        CHECK(MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(errors == (all == 0 ? 0 : n <= 2 ? size : 1));
        failures += all;
        if (comm != MPI_COMM_NULL) {
            MPI_Comm_free(&comm);
        }
    }
    CHECK(failures == 3);
    MPI_Finalize();
    return 0;
}
