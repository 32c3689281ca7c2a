/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads with a communicator each run collective operations at the same time; the user's operation
 * asks MPI questions. */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 3, ROUNDS = 200, LENGTH = 300 };

static int rank, size;

/* The first of each pair wins, so the result is the first rank's. */
static void first(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int bytes;
    MPI_Aint lb, extent;
    MPI_Type_size(*type, &bytes);
    MPI_Type_get_extent(*type, &lb, &extent);
    CHECK(bytes == sizeof(int) && extent == sizeof(int));
    for (int i = 0; i < *len; i++) {
        ((int *)inout)[i] = ((int *)in)[i];
    }
}

static void *run(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg;
    int out[LENGTH], in[LENGTH];
    MPI_Op op;
    MPI_Op_create(first, 0, &op);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request request;
        for (int k = 0; k < LENGTH; k++) {
            out[k] = rank * 1000 + k + i;
        }
        MPI_Iallreduce(out, in, LENGTH, MPI_INT, op, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(in[0] == i && in[LENGTH - 1] == LENGTH - 1 + i);
        MPI_Allreduce(out, in, LENGTH, MPI_INT, MPI_MAX, comm);
        CHECK(in[7] == (size - 1) * 1000 + 7 + i);
    }
    MPI_Op_free(&op);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Comm comms[THREADS];
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        CHECK(pthread_create(&threads[i], NULL, run, &comms[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&comms[i]);
    }
    MPI_Finalize();
    return 0;
}
