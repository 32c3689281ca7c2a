/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads make partitions of one send ready, while others ask for what has arrived
 * (MPI_THREAD_MULTIPLE), and the main thread waits. */
#include "check.h"

#include <pthread.h>
#include <stdint.h>

enum { THREADS = 4, EACH = 8, PARTITIONS = THREADS * EACH, WORDS = 300, ROUNDS = 40 };

static int out[PARTITIONS][WORDS], in[PARTITIONS][WORDS];
static MPI_Request requests[2];
static int rank, size, round_now;

static void *produce(void *arg)
{
    int thread = (int)(intptr_t)arg;
    for (int k = 0; k < EACH; k++) {
        int partition = k * THREADS + thread;
        for (int i = 0; i < WORDS; i++) {
            out[partition][i] = rank * 1000003 + round_now * 1009 + partition * 31 + i;
        }
        MPI_Pready(partition, requests[0]);
    }
    return NULL;
}

static void *consume(void *arg)
{
    int thread = (int)(intptr_t)arg, left = (rank + size - 1) % size;
    for (int k = 0; k < EACH; k++) {
        int partition = thread * EACH + k, flag = 0;
        while (!flag) {
            MPI_Parrived(requests[1], partition, &flag);
        }
        for (int i = 0; i < WORDS; i++) {
            CHECK(in[partition][i] == left * 1000003 + round_now * 1009 + partition * 31 + i);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[2 * THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Psend_init(out, PARTITIONS, WORDS, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, PARTITIONS, WORDS, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &requests[1]);
    for (round_now = 0; round_now < ROUNDS; round_now++) {
        MPI_Startall(2, requests);
        for (intptr_t i = 0; i < THREADS; i++) {
            pthread_create(&threads[i], NULL, produce, (void *)i);
            pthread_create(&threads[THREADS + i], NULL, consume, (void *)i);
        }
        /* A receive that was waited for is inactive: its partitions have arrived. */
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 2 * THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Finalize();
    return 0;
}
