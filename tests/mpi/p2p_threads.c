/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads of each rank talk at once, each with its partner thread on the neighbours
 * (MPI_THREAD_MULTIPLE). */
#include "check.h"

#include <pthread.h>
#include <stdint.h>

enum { THREADS = 4, ROUNDS = 300 };

static int rank, size;

static void *talk(void *arg)
{
    int thread = (int)(intptr_t)arg, left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < ROUNDS; i++) {
        int out[2] = {rank * ROUNDS + i, thread}, in[2];
        MPI_Status status;
        if ((i + thread) % 3 == 0) {
            MPI_Request request;
            MPI_Issend(out, 2, MPI_INT, right, thread, MPI_COMM_WORLD, &request);
            MPI_Recv(in, 2, MPI_INT, left, thread, MPI_COMM_WORLD, &status);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Sendrecv(out, 2, MPI_INT, right, thread, in, 2, MPI_INT, left, thread,
                         MPI_COMM_WORLD, &status);
        }
        CHECK(in[0] == left * ROUNDS + i && in[1] == thread && status.MPI_TAG == thread);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, is_main;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Is_thread_main(&is_main);
    CHECK(is_main);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (intptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, talk, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    MPI_Finalize();
    return 0;
}
