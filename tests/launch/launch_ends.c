/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI program that ends in the way its first argument names; rank 1 does it, the others wait.
 *   return N     every rank finalises and returns N
 *   abort N      rank 1 calls MPI_Abort(N)
 *   early N      rank 1 calls exit(N) before MPI_Finalize
 *   kill N       rank 1 kills itself by signal N
 *
 * Of some processes, where the others say "goes on" when they know that those have failed:
 *   self N       rank 1 calls MPI_Abort(N) of MPI_COMM_SELF
 *   alone N      rank 1 kills itself by signal N; the others notice nothing
 *   half N       one calls MPI_Abort(N) of the upper half of the ranks
 *   half-error   there is an error in it whose handler is MPI_ERRORS_ABORT
 *   half-failure   so is the failure of one of them (SIGKILL)
 *   spawn HOW N  a spawned process ends: `abort N` of its MPI_COMM_WORLD; `fatal`, by an error
 */
#include <mpi.h>
#include <mpi-ext.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Until n of comm, or of those to which it leads, have failed. */
static void goes_on(MPI_Comm comm, int n)
{
    int size = 0;
    while (size < n) {
        MPI_Group failed;
        MPIX_Comm_get_failed(comm, &failed);
        MPI_Group_size(failed, &size);
        MPI_Group_free(&failed);
    }
    printf("goes on\n");
}

static void error_in(MPI_Comm comm)
{
    MPI_Send(NULL, 0, MPI_INT, 99, 0, comm);
}

static void half(const char *how, int code)
{
    int rank, size;
    MPI_Comm comm;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank >= size / 2, 0, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ABORT);
    if (rank < size / 2) {
        goes_on(MPI_COMM_WORLD, size - size / 2);
        return;
    }
    MPI_Barrier(comm);
    if (rank == size / 2 && strcmp(how, "half") == 0) {
        MPI_Abort(comm, code);
    }
    if (rank == size / 2 && strcmp(how, "half-error") == 0) {
        error_in(comm);
    }
    if (rank == size / 2 && strcmp(how, "half-failure") == 0) {
        raise(SIGKILL);
    }
    MPI_Recv(NULL, 0, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
}

static void spawn(char **argv)
{
    MPI_Comm child;
    MPI_Comm_spawn(argv[0], argv + 2, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child,
                   MPI_ERRCODES_IGNORE);
    MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN);
    goes_on(child, 1);
}

int main(int argc, char **argv)
{
    int rank, word = 0, code = argc > 2 ? atoi(argv[2]) : 0;
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (strncmp(how, "half", 4) == 0) {
        half(how, code);
    }
    if (strcmp(how, "spawn") == 0) {
        spawn(argv);
    }
    if (strcmp(how, "self") == 0 && rank != 1) {
        goes_on(MPI_COMM_WORLD, 1);
    }
    if (strcmp(how, "self") == 0 && rank == 1) {
        MPI_Abort(MPI_COMM_SELF, code);
    }
    if (parent != MPI_COMM_NULL && strcmp(how, "fatal") == 0) {
        error_in(MPI_COMM_WORLD);
    }
    if (parent != MPI_COMM_NULL || (rank == 1 && strcmp(how, "abort") == 0)) {
        MPI_Abort(MPI_COMM_WORLD, code);
    }
    if (rank == 1 && strcmp(how, "early") == 0) {
        exit(code);
    }
    if (rank == 1 && (strcmp(how, "kill") == 0 || strcmp(how, "alone") == 0)) {
        raise(code);
    }
    if (rank != 1 && strstr("abort early kill", how)) {
        MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return strcmp(how, "return") == 0 ? code : 0;
}
