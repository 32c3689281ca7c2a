/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 6: did all processes succeed? All get the same answer. */
#include "tutorial.h"

#include <mpi-ext.h>

static void repair(MPI_Comm *comm)
{
    MPI_Comm living;
    MPIX_Comm_shrink(*comm, &living);
    if (*comm != MPI_COMM_WORLD) {
        MPI_Comm_free(comm);
    }
    *comm = living;
}

/* [agree] */
/* Whether the step succeeded at every process; the same answer at all survivors. */
static int all_well(MPI_Comm comm, int error)
{
    int well = error == MPI_SUCCESS;
    if (!well) {
        MPIX_Comm_revoke(comm); /* no process may wait for me in this step */
    }
    int told = MPIX_Comm_agree(comm, &well);
    return told == MPI_SUCCESS && well;
}
/* [end] */

int main(int argc, char **argv)
{
    int rank, size, start;
    double mine = 0, pi = 0;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &start);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    /* [loop] */
    for (int step = 0; step < STEPS;) {
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        double now = mine + share(step, rank, size);
        if (start == 2) {
            burn_out(step);
        }
        int error = MPI_Allreduce(&now, &pi, 1, MPI_DOUBLE, MPI_SUM, comm);
        if (all_well(comm, error)) {
            mine = now;
            step++;
        } else {
            repair(&comm);
        }
    }
    /* [end] */
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == 0) {
        printf("%d processes say that pi is %.6f\n", size, pi);
    }
    MPI_Finalize();
    return 0;
}
