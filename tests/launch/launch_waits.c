/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI program that, but for `late`, never ends by itself.
 *   receive   each rank waits in MPI_Recv for the next one, tag 77
 *   compute   rank 0 computes, the others wait for it in MPI_Recv
 *   late      the last rank comes to MPI_Allreduce two seconds after the others, then all end
 *   point     rank 0 computes in its restart point, those of the others have returned
 *   end       rank 0 computes, the others are in MPI_Finalize
 *   traffic   messages of all sizes go round
 *   any       rank 0 waits in MPI_Waitany for rank 1, which waits for it, or for the others, which
 *             compute
 *   lock      rank 0 has the lock of rank 1 and computes, the others wait for it
 *   threads   as receive, with MPI_THREAD_MULTIPLE
 */
#include <mpi.h>
#include <mpi-ext.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 77, BYTES_MAX = 1 << 20 };

static void traffic(int rank, int size)
{
    char *out = calloc(1, BYTES_MAX), *in = malloc(BYTES_MAX);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int bytes = 1;; bytes = bytes == BYTES_MAX ? 1 : 4 * bytes) {
        MPI_Sendrecv(out, bytes, MPI_BYTE, next, TAG, in, bytes, MPI_BYTE, previous, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void compute(void)
{
    volatile int for_ever = 1;
    while (for_ever) {
        ;
    }
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    int rank;
    (void)argc, (void)argv, (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        compute();
    }
    return 0;
}

static void any(int rank)
{
    int word[2], place;
    if (rank == 0) {
        MPI_Request requests[2];
        MPI_Irecv(&word[0], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&word[1], 1, MPI_INT, 2, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitany(2, requests, &place, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    compute();
}

static void lock(int rank)
{
    MPI_Win win;
    int *base;
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        compute();
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
}

int main(int argc, char **argv)
{
    int rank, size, word = 0, provided;
    const char *how = argc > 1 ? argv[1] : "";
    bool threads = strcmp(how, "threads") == 0;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(how, "traffic") == 0) {
        traffic(rank, size);
    }
    if (strcmp(how, "any") == 0) {
        any(rank);
    }
    if (strcmp(how, "lock") == 0) {
        lock(rank);
    }
    if (strcmp(how, "point") == 0) {
        MPIX_Reinit(argc, argv, point);
    }
    if (rank == 0 && (strcmp(how, "compute") == 0 || strcmp(how, "end") == 0)) {
        compute();
    }
    if (strcmp(how, "late") == 0) {
        sleep(rank == size - 1 ? 2 : 0);
        MPI_Allreduce(MPI_IN_PLACE, &word, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        return MPI_Finalize();
    }
    if (strcmp(how, "end") == 0) {
        return MPI_Finalize();
    }
    MPI_Recv(&word, 1, MPI_INT, strcmp(how, "compute") == 0 ? 0 : (rank + 1) % size, TAG,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
