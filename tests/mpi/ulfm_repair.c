/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Survivors repair their communicator until one is left: one rank after the other is killed inside
 * a collective, the others get errors, revoke, agree, shrink and continue with the same sum. Run
 * with --on-failure continue. The argument is the seed of which ranks fail and how.
 */
#include "ulfm.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

static bool is_failure(int error)
{
    int class = class_of(error);
    return class == MPI_ERR_PROC_FAILED || class == MPI_ERR_REVOKED;
}

/* The survivors of world are the members of comm, in their order. */
static void is_of_the_living(MPI_Comm comm, int n_failed)
{
    int size, before;
    MPI_Group all, group;
    MPI_Comm_size(MPI_COMM_WORLD, &before);
    MPI_Comm_size(comm, &size);
    CHECK(size == before - n_failed);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(comm, &group);
    int last = -1;
    for (int rank = 0; rank < size; rank++) {
        int world;
        MPI_Group_translate_ranks(group, 1, &rank, all, &world);
        CHECK(world > last);
        last = world;
    }
    MPI_Group_free(&all);
    MPI_Group_free(&group);
}

static void revoked_is_of_no_use(MPI_Comm comm)
{
    int flag, value = 1, all = 3;
    MPI_Request request;
    MPI_Comm copy;
    MPIX_Comm_is_revoked(comm, &flag);
    CHECK(flag);
    CHECK(class_of(MPI_Barrier(comm)) == MPI_ERR_REVOKED);
    CHECK(class_of(MPI_Send(&value, 1, MPI_INT, 0, 0, comm)) == MPI_ERR_REVOKED);
    CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE)) ==
          MPI_ERR_REVOKED);
    CHECK(class_of(MPI_Comm_dup(comm, &copy)) == MPI_ERR_REVOKED);
    CHECK(class_of(MPI_Probe(0, 0, comm, MPI_STATUS_IGNORE)) == MPI_ERR_REVOKED);
    CHECK(MPI_Ibarrier(comm, &request) == MPI_SUCCESS);
    int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(class_of(error) == MPI_ERR_REVOKED && request == MPI_REQUEST_NULL);
    /* Agreement works on it, and knows of the failure. */
    MPIX_Comm_ack_failed(comm, 1 << 20, &flag);
    do {
        MPIX_Comm_ack_failed(comm, 1 << 20, &flag);
        error = MPIX_Comm_agree(comm, &all);
        CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_PROC_FAILED);
    } while (error != MPI_SUCCESS);
    CHECK(all == 3);
}

/* comm without its rank `victim`, which is killed `how`. */
static MPI_Comm lose(MPI_Comm comm, int victim, int how)
{
    int rank, value = 7, sum;
    MPI_Request request;
    MPI_Comm left;
    MPI_Comm_rank(comm, &rank);
    /* A process that continues from here knows that the others have completed the calls before. */
    int error = MPIX_Comm_agree(comm, &value);
    CHECK((error == MPI_SUCCESS || class_of(error) == MPI_ERR_PROC_FAILED) && value == 7);
    if (rank == victim) {
        raise(SIGKILL);
    }
    /* This one has no partner: only the revocation, or the failure, can end it. */
    MPI_Irecv(&value, 1, MPI_INT, how % 2 ? (rank + 1) % victim : victim, 99, comm, &request);
    error = how % 3 ? MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) : MPI_Barrier(comm);
    CHECK(is_failure(error));
    CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    CHECK(is_failure(MPI_Wait(&request, MPI_STATUS_IGNORE)));
    revoked_is_of_no_use(comm);
    if (how % 2) {
        CHECK(MPIX_Comm_ishrink(comm, &left, &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else {
        CHECK(MPIX_Comm_shrink(comm, &left) == MPI_SUCCESS);
    }
    return left;
}

int main(int argc, char **argv)
{
    int size, left, n_failed = 0;
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_size(comm, &size);
    works(comm);
    for (left = size; left > 1; left--) {
        seed = seed * 1103515245 + 12345;
        int victim = left > 2 ? 1 + (int)((seed >> 16) % (unsigned)(left - 1)) : 1;
        MPI_Comm next = lose(comm, victim, (int)(seed >> 8 & 7));
        MPI_Comm_free(&comm);
        comm = next;
        is_of_the_living(comm, ++n_failed);
        works(comm);
    }
    MPI_Comm_free(&comm);
    printf("one is left\n");
    MPI_Finalize();
    return 0;
}
