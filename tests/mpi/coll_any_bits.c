/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Floating-point sums of random numbers of all magnitudes by all reductions, with random roots and
 * lengths; rank 0 prints a digest of all bits of all results of all ranks. coll_any_bits.py runs it
 * again and again, and over nodes: the digest depends on seed and number of ranks alone.
 *
 * Arguments: [SEED [ROUNDS]].
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "coll_random.h"

enum { LENGTH_MAX = 30000, RANKS_MAX = 32 };

static double out[LENGTH_MAX], in[LENGTH_MAX];
static int rank, size;
static uint64_t digest;

/* In the order of calls at this rank. */
static void digest_add(const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        digest = mix(digest ^ ((const unsigned char *)bytes)[i]) + i;
    }
}

/* Of 2^-40 to 2^40, either sign: sums depend on the order of all but a few. */
static void fill(MPI_Datatype type, int n, uint64_t salt)
{
    for (int i = 0; i < n; i++) {
        uint64_t bits = mix(salt ^ (uint64_t)rank << 32 ^ (uint64_t)i);
        double value = (double)(int64_t)bits;
        for (int k = (int)(bits % 80); k > 0; k--) {
            value /= 2;
        }
        if (type == MPI_FLOAT) {
            ((float *)out)[i] = (float)value;
        } else {
            out[i] = value;
        }
    }
}

static void reduce_all_ways(void)
{
    static const int lengths[] = {1, 7, 900, 9000, LENGTH_MAX};
    MPI_Datatype type = draw(2) ? MPI_FLOAT : MPI_DOUBLE;
    size_t bytes = type == MPI_FLOAT ? sizeof(float) : sizeof(double);
    int n = lengths[draw(5)], root = draw(size), counts[RANKS_MAX], first = 0;
    MPI_Op op = draw(4) ? MPI_SUM : MPI_PROD;
    MPI_Request request;
    for (int i = 0; i < size; i++) {
        counts[i] = i == size - 1 ? n - first : draw(n - first + 1);
        first += counts[i];
    }
    fill(type, n, random_state);
    MPI_Reduce(out, in, n, type, op, root, MPI_COMM_WORLD);
    digest_add(in, rank == root ? (size_t)n * bytes : 0);
    MPI_Iallreduce(out, in, n, type, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    digest_add(in, (size_t)n * bytes);
    MPI_Reduce_scatter(out, in, counts, type, op, MPI_COMM_WORLD);
    digest_add(in, (size_t)counts[rank] * bytes);
    MPI_Reduce_scatter_block(out, in, n / size, type, op, MPI_COMM_WORLD);
    digest_add(in, (size_t)(n / size) * bytes);
    MPI_Scan(out, in, n, type, op, MPI_COMM_WORLD);
    digest_add(in, (size_t)n * bytes);
    MPI_Exscan(out, in, n, type, op, MPI_COMM_WORLD);
    digest_add(in, rank > 0 ? (size_t)n * bytes : 0);
}

int main(int argc, char **argv)
{
    uint64_t digests[RANKS_MAX];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= RANKS_MAX);
    for (int rounds = arguments(argc, argv, 20); rounds > 0; rounds--) {
        reduce_all_ways();
    }
    MPI_Gather(&digest, 1, MPI_UINT64_T, digests, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        digest_add(digests, (size_t)size * sizeof(digests[0]));
        printf("%016llx\n", (unsigned long long)digest);
    }
    MPI_Finalize();
    return 0;
}
