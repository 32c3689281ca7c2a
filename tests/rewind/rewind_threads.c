/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads of each rank exchange messages at once (MPI_THREAD_MULTIPLE), each around a ring of
 * its own, while snapshots are taken. Prints one line at the end, which depends on the arguments
 * alone.
 *
 *   rewind_threads ROUNDS
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 3000 };

static int rank, size, rounds;
static uint64_t sums[2];

static void *turn(void *arg)
{
    int tag = (int)(intptr_t)arg;
    static uint64_t out[2][WORDS], in[2][WORDS];
    int next = tag == 0 ? (rank + 1) % size : (rank + size - 1) % size;
    int before = tag == 0 ? (rank + size - 1) % size : (rank + 1) % size;
    for (int round = 0; round < rounds; round++) {
        int n = round % 3 == 0 ? WORDS : 1 + round % 50;
        for (int i = 0; i < n; i++) {
            out[tag][i] = (uint64_t)rank * 1000003 + (uint64_t)(round * 31 + i + tag);
        }
        MPI_Request request;
        MPI_Isend(out[tag], n, MPI_UINT64_T, next, tag, MPI_COMM_WORLD, &request);
        MPI_Recv(in[tag], WORDS, MPI_UINT64_T, before, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++) {
            if (in[tag][i] != (uint64_t)before * 1000003 + (uint64_t)(round * 31 + i + tag)) {
                fprintf(stderr, "rank %d, ring %d, round %d: a wrong message\n", rank, tag, round);
                MPI_Abort(MPI_COMM_WORLD, 3);
            }
            sums[tag] += in[tag][i];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t other;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rounds = argc > 1 ? atoi(argv[1]) : 1000;
    pthread_create(&other, NULL, turn, (void *)(intptr_t)1);
    turn((void *)(intptr_t)0);
    pthread_join(other, NULL);
    uint64_t all[2];
    MPI_Reduce(sums, all, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d rounds: %llu %llu\n", rounds, (unsigned long long)all[0],
               (unsigned long long)all[1]);
    }
    MPI_Finalize();
    return 0;
}
