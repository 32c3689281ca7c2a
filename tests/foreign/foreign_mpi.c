/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program of MPI-3 for mpicc of any MPI.
 *
 *   foreign_mpi                a ring, an allreduce, long messages
 *   foreign_mpi kill|exit|abort  what rank 1 does, while the others wait for it
 *   foreign_mpi names          publishes a name, and looks it up
 *   foreign_mpi connect        half of the ranks connect to the other half
 *   foreign_mpi spawn          spawns two processes, twice
 *   foreign_mpi program        each rank says the number of its program
 *   foreign_mpi wait           waits for ever
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 1 << 20 };

static int rank, n;

static void ring(void)
{
    int token = 0, sum;
    char *out = malloc(LONG), *in = malloc(LONG);
    if (n > 1) {
        if (rank > 0) {
            MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        token++;
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % n, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Recv(&token, 1, MPI_INT, n - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else {
        token = 1;
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    memset(out, rank, LONG);
    MPI_Sendrecv(out, LONG, MPI_CHAR, (rank + 1) % n, 1, in, LONG, MPI_CHAR, (rank + n - 1) % n, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (in[0] != (char)((rank + n - 1) % n) || in[LONG - 1] != in[0]) {
        printf("rank %d: WRONG data\n", rank);
    }
    if (rank == 0) {
        printf("ring of %d: token %d, sum %d\n", n, token, sum);
    }
    free(out);
    free(in);
}

static void names(void)
{
    char port[MPI_MAX_PORT_NAME] = "a-port-of-rank-0";
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Publish_name("foreign", MPI_INFO_NULL, port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    memset(port, 0, sizeof(port));
    int error = MPI_Lookup_name("foreign", MPI_INFO_NULL, port);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Unpublish_name("foreign", MPI_INFO_NULL, "a-port-of-rank-0");
    }
    printf("rank %d: %s\n", rank, error == MPI_SUCCESS ? port : "an error");
}

/* Even ranks accept, odd ones connect. */
static void join_halves(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm half, other;
    int sum = 0, value = 1;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
    }
    MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank % 2 == 0) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other);
    } else {
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other);
    }
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, other); /* of the other side */
    MPI_Comm_disconnect(&other);
    if (rank == 0) {
        MPI_Close_port(port);
        printf("connected to %d\n", sum);
    }
}

/* What parents and spawned processes do together. */
static void meet(MPI_Comm other)
{
    MPI_Comm both;
    int value = rank + 1, of_others = 0, of_all = 0, size;
    MPI_Allreduce(&value, &of_others, 1, MPI_INT, MPI_SUM, other);
    MPI_Intercomm_merge(other, 0, &both);
    MPI_Allreduce(&value, &of_all, 1, MPI_INT, MPI_SUM, both);
    MPI_Comm_size(both, &size);
    if (rank == 0) {
        printf("met: sum %d of the others, %d of all %d\n", of_others, of_all, size);
        fflush(stdout);
    }
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(&other);
}

static void spawn(char *program)
{
    for (int i = 0; i < 2; i++) {
        MPI_Comm children;
        char *arguments[] = {"child", NULL};
        MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                       MPI_ERRCODES_IGNORE);
        meet(children);
    }
}

static void fail(const char *how)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && strcmp(how, "kill") == 0) {
        raise(SIGKILL);
    } else if (rank == 1 && strcmp(how, "exit") == 0) {
        exit(3);
    } else if (rank == 1) {
        MPI_Abort(MPI_COMM_WORLD, 42);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "ring";
    char *program = argv[0];
    MPI_Comm parent;
    int *number, there;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (strcmp(what, "ring") == 0) {
        ring();
    } else if (strcmp(what, "names") == 0) {
        names();
    } else if (strcmp(what, "connect") == 0) {
        join_halves();
    } else if (strcmp(what, "spawn") == 0) {
        spawn(program);
    } else if (strcmp(what, "child") == 0) {
        MPI_Comm_get_parent(&parent);
        meet(parent);
    } else if (strcmp(what, "program") == 0) {
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &there);
        printf("rank %d: program %d\n", rank, there ? *number : -1);
    } else if (strcmp(what, "wait") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            printf("ready\n");
            fflush(stdout);
        }
        for (;;) {
            pause();
        }
    } else {
        fail(what);
    }
    MPI_Finalize();
    return 0;
}
