/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of all sizes between all pairs arrive whole, whichever is first, the message or the
 * receive. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 3 << 20 };

static unsigned char *out, *in;

static unsigned char byte_of(int rank, size_t n, size_t i)
{
    return (unsigned char)(rank * 31 + n * 7 + i * 13 + (i >> 8));
}

static void one(int rank, int size, size_t n, int step, int early)
{
    int to = (rank + step) % size, from = (rank + size - step) % size;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (size_t i = 0; i < n; i++) {
        out[i] = byte_of(rank, n, i);
    }
    if (early) {
        MPI_Irecv(in, LARGEST, MPI_BYTE, from, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, (int)n, MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[1]);
    } else {
        MPI_Isend(out, (int)n, MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Probe(from, 1, MPI_COMM_WORLD, &statuses[0]);
        int count;
        MPI_Get_count(&statuses[0], MPI_BYTE, &count);
        CHECK((size_t)count == n);
        MPI_Irecv(in, count, MPI_BYTE, from, 1, MPI_COMM_WORLD, &requests[0]);
    }
    MPI_Waitall(2, requests, statuses);
    int count;
    MPI_Get_count(&statuses[0], MPI_BYTE, &count);
    CHECK((size_t)count == n && statuses[0].MPI_SOURCE == from && statuses[0].MPI_TAG == 1);
    for (size_t i = 0; i < n; i++) {
        CHECK(in[i] == byte_of(from, n, i));
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = malloc(LARGEST);
    in = malloc(LARGEST);
    for (size_t n = 0; n <= LARGEST; n = n == 0 ? 1 : n * 3 + 1) {
        for (int step = 0; step < size; step++) {
            one(rank, size, n, step, 1);
            one(rank, size, n, step, 0);
        }
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
