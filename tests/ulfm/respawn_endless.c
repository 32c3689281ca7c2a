/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In each round a process fails and is replaced: the spawned processes learn the number of the
 * round from the others. Arguments: rounds, seed, and how: spawn, or replace (RZ_Comm_replace).
 */
#include "repair.h"

static int rounds, by_replacing;
static unsigned seed;

static MPI_Comm filled(MPI_Comm *comm, char **argv)
{
    MPI_Comm full;
    if (!by_replacing) {
        return repaired(comm, argv);
    }
    MPIX_Comm_revoke(*comm);
    CHECK(RZ_Comm_replace(*comm, &full) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(comm) == MPI_SUCCESS);
    return full;
}

/* The communicator of a process that takes the place of another, else MPI_COMM_NULL. */
static MPI_Comm of_a_spawned_process(void)
{
    int incarnation;
    MPI_Comm parent, full = MPI_COMM_NULL;
    if (!by_replacing) {
        MPI_Comm_get_parent(&parent);
        return parent == MPI_COMM_NULL ? MPI_COMM_NULL : joined(parent);
    }
    CHECK(RZ_Incarnation(&incarnation) == MPI_SUCCESS);
    if (incarnation > 1) {
        CHECK(RZ_Comm_replace(MPI_COMM_NULL, &full) == MPI_SUCCESS);
        MPI_Comm_set_errhandler(full, MPI_ERRORS_RETURN);
    }
    return full;
}

/* The most advanced process informs the new ones. */
static int same_round(MPI_Comm comm, int round)
{
    int newest;
    CHECK(MPI_Allreduce(&round, &newest, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS);
    CHECK(round == -1 || round == newest);
    return newest;
}

int main(int argc, char **argv)
{
    int round = -1, rank, size;
    MPI_Init(&argc, &argv);
    CHECK(argc == 4);
    rounds = atoi(argv[1]);
    seed = (unsigned)atoi(argv[2]);
    by_replacing = strcmp(argv[3], "replace") == 0;
    MPI_Comm comm = of_a_spawned_process();
    if (comm == MPI_COMM_NULL) {
        comm = copy_of_the_world();
        round = 0;
    }
    rank = rank_in(comm);
    size = size_of(comm);
    round = same_round(comm, round);
    while (round < rounds) {
        unsigned now = seed + (unsigned)round * 7919u;
        works(comm);
        gather(comm);
        if (rank == draw(&now, size)) {
            crash();
        }
        int error = MPI_Barrier(comm);
        CHECK(class_of(error) == ERR_FAILED || class_of(error) == ERR_REVOKED);
        comm = filled(&comm, argv);
        CHECK(rank_in(comm) == rank && size_of(comm) == size);
        round = same_round(comm, round + 1);
    }
    MPI_Comm_free(&comm);
    return survived("respawn_endless");
}
