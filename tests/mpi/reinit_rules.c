/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules of collective operations that the program writes by MPI_T before MPI_Init hold at all ranks
 * after a roll-back, too, at those that survived and at the one that replaces the failed one. Rules
 * written inside the restart point end with the roll-back. With other rules at one rank the
 * operations would hang.
 */
#include "reinit.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define RULES "barrier=dissemination,allreduce=doubling,allgather=ring"

static MPI_T_cvar_handle rules;

static void check_rules(const char *wanted)
{
    char text[256];
    CHECK(MPI_T_cvar_read(rules, text) == MPI_SUCCESS);
    CHECK(strcmp(text, wanted) == 0);
}

static void operations(MPI_Comm comm)
{
    int rank, size, sum, all[16];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < 20; i++) {
        MPI_Barrier(comm);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == size * (size - 1) / 2);
        MPI_Allgather(&i, 1, MPI_INT, all, 1, MPI_INT, comm);
        CHECK(all[size - 1] == i);
    }
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    int rank;
    (void)argc;
    (void)argv;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_rules(RULES);
    operations(MPI_COMM_WORLD);
    CHECK(MPI_T_cvar_write(rules, "barrier=flat,allreduce=flat,allgather=flat") == MPI_SUCCESS);
    operations(MPI_COMM_WORLD);
    if (state == MPIX_REINIT_NEW && rank == 1) {
        raise(SIGKILL);
    }
    operations(MPI_COMM_WORLD);
    if (rank == 0) {
        puts("rules: correct");
    }
    return 0;
}

int main(int argc, char **argv)
{
    int provided, index, count;
    SO(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    SO(MPI_T_cvar_get_index("RZ_COLL", &index) == MPI_SUCCESS);
    SO(MPI_T_cvar_handle_alloc(index, NULL, &rules, &count) == MPI_SUCCESS);
    SO(MPI_T_cvar_write(rules, RULES) == MPI_SUCCESS);
    MPI_Init(&argc, &argv);
    MPIX_Reinit(argc, argv, point);
    MPI_Finalize();
    return 0;
}
