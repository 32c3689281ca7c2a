/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What strangers_test.py runs while it is attacked: all ranks exchange payloads of many sizes, each
 * with its next ones round a ring, and check every byte, until the file that argv[1] names is
 * there. Rank 0 then says that all was right, and how many rounds there were.
 */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES_MAX (1 << 20)

static unsigned char out[BYTES_MAX], in[BYTES_MAX];

static unsigned char byte_of(int rank, int round, int i)
{
    return (unsigned char)(rank * 31 + round * 7 + i * 13 + (i >> 8));
}

/* The number of wrong bytes. */
static long exchange(int rank, int ranks, int round)
{
    static const int sizes[] = {8, 1000, 32768, 100000, BYTES_MAX};
    int bytes = sizes[round % 5], next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    long wrong = 0;
    for (int i = 0; i < bytes; i++) {
        out[i] = byte_of(rank, round, i);
    }
    MPI_Sendrecv(out, bytes, MPI_BYTE, next, round % 1000, in, bytes, MPI_BYTE, before,
                 round % 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; i++) {
        wrong += in[i] != byte_of(before, round, i);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, ranks, round = 0, end = 0;
    long wrong = 0, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    while (!end) {
        wrong += exchange(rank, ranks, round++);
        end = rank == 0 && access(argv[1], F_OK) == 0;
        MPI_Bcast(&end, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank == 0 && round == 5) {
            printf("connected\n"), fflush(stdout);
        }
    }
    MPI_Allreduce(&wrong, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%ld wrong bytes in %d rounds\n", sum, round);
    }
    MPI_Finalize();
    return sum != 0;
}
