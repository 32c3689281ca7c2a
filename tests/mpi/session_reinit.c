/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions and MPIX_Reinit: a session made inside the restart point ends with a roll-back and is
 * made again; one made outside stays.
 */
#include <mpi.h>

#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Session outer;

static MPI_Comm world_of(MPI_Session session)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "reinit", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    MPI_Session inner;
    int rank, size, incarnation, sum = 0;
    (void)argc;
    (void)argv;
    (void)state;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inner);
    MPI_Comm comm = world_of(inner);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    RZ_Incarnation(&incarnation);
    for (int i = 0; i < 50; i++) {
        if (i == 20 && rank == 1 && incarnation == 1) {
            raise(SIGKILL);
        }
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&inner);
    return sum == size * (size - 1) / 2 ? 0 : 3;
}

int main(int argc, char **argv)
{
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &outer);
    int result = MPIX_Reinit(argc, argv, point);
    MPI_Comm comm = world_of(outer);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    if (MPI_Session_finalize(&outer) != MPI_SUCCESS || result != 0) {
        fprintf(stderr, "not so: the restart point gave %d\n", result);
        return EXIT_FAILURE;
    }
    return 0;
}
