/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that end although no process takes part in them any more, a scene per run:
 *
 *     freed      a message for a communicator that its receiver has freed: once revoked, its send
 *                ends
 *     held       a message that a probe has taken and that is not received: the same
 *     empty      a long message received into an empty buffer: its send ends, over the network, too
 *     around     a revocation reaches the processes that still have the communicator past those
 *                that have freed it
 *     memory     revoking and freeing again and again takes no more memory
 *     finalize   MPI_Finalize ends with a message that is not received and an agreement that no
 *                process joins
 *     rollback   agreements on freed communicators go with the epoch (MPIX_Reinit; rank 1 is
 *                killed)
 */
#include "scenes.h"
#include "ulfm.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 300000 };
static int large[LARGE], rank, size;

static void tell(int target)
{
    CHECK(MPI_Send(NULL, 0, MPI_INT, target, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void hear(int from)
{
    CHECK(MPI_Recv(NULL, 0, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static MPI_Comm copy_of_world(void)
{
    MPI_Comm copy;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copy) == MPI_SUCCESS);
    return copy;
}

/* Between the first rank and the last, which may be on another node. */
static void freed(void)
{
    MPI_Request request;
    MPI_Comm copy = copy_of_world();
    if (rank == 0) {
        MPI_Comm_free(&copy);
        tell(size - 1);
        hear(size - 1);
    } else if (rank == size - 1) {
        hear(0);
        CHECK(MPI_Isend(large, LARGE, MPI_INT, 0, 5, copy, &request) == MPI_SUCCESS);
        CHECK(MPIX_Comm_revoke(copy) == MPI_SUCCESS);
        int class = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(class == MPI_ERR_REVOKED || class == MPI_SUCCESS);
        tell(0);
    }
}

static void held(void)
{
    MPI_Comm copy = copy_of_world();
    if (rank == 0) {
        MPI_Message message;
        CHECK(MPI_Mprobe(size - 1, 5, copy, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPIX_Comm_revoke(copy) == MPI_SUCCESS);
        hear(size - 1);
        CHECK(class_of(MPI_Mrecv(large, LARGE, MPI_INT, &message, MPI_STATUS_IGNORE)) ==
              MPI_ERR_REVOKED);
        CHECK(message == MPI_MESSAGE_NULL);
    } else if (rank == size - 1) {
        int class = class_of(MPI_Ssend(large, LARGE, MPI_INT, 0, 5, copy));
        CHECK(class == MPI_ERR_REVOKED || class == MPI_SUCCESS);
        tell(0);
    }
}

static void empty(void)
{
    MPI_Comm copy = copy_of_world();
    if (rank == 0) {
        CHECK(class_of(MPI_Recv(NULL, 0, MPI_INT, size - 1, 5, copy, MPI_STATUS_IGNORE)) ==
              MPI_ERR_TRUNCATE);
        /* Not by sending to it: that would make the connection. */
        CHECK(class_of(MPI_Recv(NULL, 0, MPI_INT, size - 1, 6, copy, MPI_STATUS_IGNORE)) ==
              MPI_SUCCESS);
    } else if (rank == size - 1) {
        CHECK(MPI_Send(large, LARGE, MPI_INT, 0, 5, copy) == MPI_SUCCESS);
        CHECK(MPI_Send(NULL, 0, MPI_INT, 0, 6, copy) == MPI_SUCCESS);
    }
}

/* With 8: rank 3 is no neighbour of rank 0 in the graph along which news go. */
static void around(void)
{
    int value;
    MPI_Comm copy = copy_of_world();
    if (rank == 3) {
        CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, 0, 5, copy, MPI_STATUS_IGNORE)) ==
              MPI_ERR_REVOKED);
    } else if (rank != 0) {
        MPI_Comm_free(&copy);
        tell(0);
    } else {
        for (int i = 1; i < size; i++) {
            if (i != 3) {
                hear(i);
            }
        }
        CHECK(MPIX_Comm_revoke(copy) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void memory(void)
{
    enum { ROUNDS = 6000 };
    long before = 0;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm copy = copy_of_world();
        if (i % size == rank) {
            MPIX_Comm_revoke(copy);
        }
        MPI_Comm_free(&copy);
        if (i % 16 == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        before = i == ROUNDS / 3 ? resident_bytes() : before;
    }
    CHECK(resident_bytes() - before < 512 << 10);
}

static void finalize(void)
{
    static int flag = 1;
    MPI_Request request;
    MPI_Comm copy = copy_of_world();
    if (rank == size - 1) {
        MPI_Isend(large, LARGE, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
    }
    if (rank > 0) {
        CHECK(MPIX_Comm_iagree(copy, &flag, &request) == MPI_SUCCESS);
    }
    MPI_Comm_free(&copy);
}

/* Everything that a round left behind is removed in the next one, and all reach all. */
static int rounds(int argc, char **argv, MPIX_Reinit_state_t state)
{
    (void)argc, (void)argv;
    static int flags[8], sums[8];
    MPI_Request requests[8];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Alltoall(flags, 1, MPI_INT, sums, 1, MPI_INT, MPI_COMM_WORLD);
    if (state != MPIX_REINIT_NEW) {
        return 0;
    }
    for (int i = 0; i < 8; i++) {
        MPI_Comm copy = copy_of_world();
        int first = 1;
        if (i % 2) {
            MPIX_Comm_agree(copy, &first);
        }
        flags[i] = 1;
        if (rank != size - 1) { /* so that none is decided */
            MPIX_Comm_iagree(copy, &flags[i], &requests[i]);
        }
        MPI_Irecv(large, 1, MPI_INT, 0, i, copy, &requests[i]);
        if (i % 4 == 3) {
            MPIX_Comm_revoke(copy);
        }
        MPI_Comm_free(&copy);
    }
    if (rank == 1) {
        raise(SIGKILL);
    }
    MPI_Recv(large, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(!"a receive without a send has ended");
    return 1;
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {{"freed", freed},   {"held", held},
                                          {"empty", empty},   {"around", around},
                                          {"memory", memory}, {"finalize", finalize}};
    const char *name = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    if (strcmp(name, "rollback") == 0) {
        CHECK(MPIX_Reinit(argc, argv, rounds) == MPI_SUCCESS);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* MPI_Mrecv */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    SCENE_PLAY(scenes, name);
    MPI_Finalize();
    return 0;
}
