/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator is made by all or by none: a process that has got it asks the others, by
 * agreement, and frees it again if one has not. A process fails around each construction.
 */
#define SUITE_FUNCTIONS
#include "suite.h"

enum { KINDS = 3 };

/* Each kind splits in two or copies; may succeed here and return an error there. */
static int construct(MPI_Comm comm, int kind, MPI_Comm *made)
{
    MPI_Group group;
    int error;
    switch (kind) {
    case 0:
        return MPI_Comm_split(comm, rank_in(comm) % 2, 0, made);
    case 1:
        return MPI_Comm_dup(comm, made);
    default:
        MPI_Comm_group(comm, &group);
        error = MPI_Comm_create(comm, group, made);
        MPI_Group_free(&group);
        return error;
    }
}

/* Made at all of comm, or MPI_COMM_NULL at all. */
static MPI_Comm construct_uniformly(MPI_Comm comm, int kind)
{
    MPI_Comm made = MPI_COMM_NULL;
    int error = construct(comm, kind, &made);
    CHECK(error == MPI_SUCCESS || class_of(error) == ERR_FAILED);
    CHECK((error == MPI_SUCCESS) == (made != MPI_COMM_NULL));
    if (!all_agree(comm, error == MPI_SUCCESS) && made != MPI_COMM_NULL) {
        CHECK(MPI_Comm_free(&made) == MPI_SUCCESS);
    }
    return made;
}

/* The guarantee of agreement: the `and` of all flags; and an error at all for a failure that one
 * has not acknowledged, whether the caller has or not. */
static void agreement(MPI_Comm comm, int has_failed)
{
    int flag = ~(1 << rank_in(comm)), bits = 0;
    for (int rank = 0; rank < size_of(comm); rank++) {
        bits |= rank == size_of(comm) - 1 && has_failed ? 0 : 1 << rank;
    }
    if (has_failed && rank_in(comm) == 0) {
        while (n_failed(comm) == 0) {
            MPI_Barrier(comm);
        }
    }
    int error = MPIX_Comm_agree(comm, &flag);
    CHECK(has_failed ? class_of(error) == ERR_FAILED : error == MPI_SUCCESS);
    CHECK(flag == ~bits);
}

static void with_a_failure(MPI_Comm *comm, int kind)
{
    /* Although collective, not all constructions need a message from all. */
    int victim = size_of(*comm) - 1, made_it, n_made, before = size_of(*comm);
    works(*comm);
    if (kind != 1) {
        lose(*comm, victim);
        agreement(*comm, 1);
    }
    MPI_Comm made = construct_uniformly(*comm, kind);
    if (rank_in(*comm) == victim) {
        crash(); /* of the kind of 1 has it got its own */
    }
    made_it = made != MPI_COMM_NULL;
    *comm = shrunk(comm);
    CHECK(MPI_Allreduce(&made_it, &n_made, 1, MPI_INT, MPI_SUM, *comm) == MPI_SUCCESS);
    CHECK(size_of(*comm) == before - 1);
    CHECK(n_made == 0 || n_made == size_of(*comm));
    CHECK(kind != 0 || n_made == 0); /* no process can split without all colours */
    if (made_it) {
        MPI_Comm_free(&made);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm comm = copy_of_the_world();
    for (int kind = 0; kind < KINDS; kind++) {
        agreement(comm, 0);
        MPI_Comm made = construct_uniformly(comm, kind);
        CHECK(made != MPI_COMM_NULL);
        works(made);
        MPI_Comm_free(&made);
        with_a_failure(&comm, kind);
        made = construct_uniformly(comm, kind);
        CHECK(made != MPI_COMM_NULL);
        works(made);
        MPI_Comm_free(&made);
    }
    MPI_Comm_free(&comm);
    return survived("uniform_construction");
}
