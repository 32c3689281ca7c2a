/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks but the last one are in MPI_Finalize while that one goes on: images are saved there,
 * and continue there.
 *
 *   rewind_early STEPS
 *
 * Or: with messages that no receive has met, whose payloads each image takes from their senders,
 * the communicator is revoked, at one rank after the other.
 *
 *   rewind_early STEPS revoke
 */
#include <mpi-ext.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* More than can be on its way at a time, of each pair. */
enum { PENDING = 400, BYTES = 90000, RECEIVED = 5 };

static void receive(MPI_Comm comm, int left, char *got, int tag)
{
    MPI_Status status;
    int bytes = -1;
    got[BYTES - 1] = 0;
    if (MPI_Recv(got, BYTES, MPI_BYTE, left, tag, comm, &status) != MPI_SUCCESS) {
        return; /* revoked */
    }
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (bytes != BYTES || got[BYTES - 1] != (char)(left + 1)) {
        fprintf(stderr, "message %d is wrong, of %d bytes\n", tag, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void revoke(int steps, int rank, int size)
{
    static char sent[BYTES], got[BYTES];
    static MPI_Request sends[PENDING];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    sent[BYTES - 1] = (char)(rank + 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int step = 0; step < steps; step++) {
        MPI_Comm comm, next;
        int there;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < PENDING; i++) {
            MPI_Isend(sent, BYTES, MPI_BYTE, right, i, comm, &sends[i]);
        }
        double until = MPI_Wtime() + 0.02 * (1 + (step + rank) % 4);
        while (MPI_Wtime() < until) {
            MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        }
        for (int i = 1; i <= RECEIVED; i++) {
            receive(comm, left, got, PENDING - i);
        }
        if (rank == step % size) {
            MPIX_Comm_revoke(comm);
        }
        for (int i = 0; i < PENDING; i++) {
            MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
        }
        MPIX_Comm_shrink(comm, &next);
        MPI_Comm_free(&comm);
        MPI_Comm_free(&next);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank, size, there;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    if (argc > 2) {
        revoke(steps, rank, size);
        steps = 0;
    }
    for (int step = 0; rank == size - 1 && step < steps; step++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
    printf("rank %d ends\n", rank);
    MPI_Finalize();
    return 0;
}
