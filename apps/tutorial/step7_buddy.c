/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 7: a neighbour has a copy of the state of a failed process. */
#include "tutorial.h"

#include <mpi-ext.h>

static int all_well(MPI_Comm comm, int error)
{
    int well = error == MPI_SUCCESS;
    if (!well) {
        MPIX_Comm_revoke(comm);
    }
    int told = MPIX_Comm_agree(comm, &well);
    return told == MPI_SUCCESS && well;
}

/* [save] */
/* Sends mine to the right neighbour, and receives the left neighbour's part into theirs. */
static int save(double mine, double *theirs, MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    return MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 0, theirs, 1, MPI_DOUBLE,
                        (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
}
/* [end] */

/* [lives] */
/* Whether the process that was `rank` in comm is a member of living. */
static int lives(int rank, MPI_Comm comm, MPI_Comm living)
{
    int there;
    MPI_Group before, after;
    MPI_Comm_group(comm, &before);
    MPI_Comm_group(living, &after);
    MPI_Group_translate_ranks(before, 1, &rank, after, &there);
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    return there != MPI_UNDEFINED;
}
/* [end] */

/* [repair] */
/* The right neighbour takes over the part of the failed process. Returns 0 if two neighbours fail
 * at once: then the part of the left one is lost, and all start again at step 0. */
static int repair(MPI_Comm *comm, double *mine, double *theirs)
{
    int rank, size;
    MPI_Comm living;
    MPI_Comm_rank(*comm, &rank);
    MPI_Comm_size(*comm, &size);
    MPIX_Comm_shrink(*comm, &living);
    int left = (rank + size - 1) % size, left_but_one = (rank + size - 2) % size;
    int lost = !lives(left, *comm, living) && !lives(left_but_one, *comm, living);
    if (!lives(left, *comm, living)) {
        *mine += *theirs;
    }
    if (*comm != MPI_COMM_WORLD) {
        MPI_Comm_free(comm);
    }
    *comm = living;
    int error = save(*mine, theirs, living); /* the neighbours have changed */
    return all_well(living, lost ? MPI_ERR_OTHER : error);
}
/* [end] */

int main(int argc, char **argv)
{
    int rank, size, start;
    double mine = 0, theirs = 0, pi = 0;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &start);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    /* [loop] */
    for (int step = 0; step < STEPS;) {
        double of_left;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        double now = mine + share(step, rank, size);
        if (start == 2) {
            burn_out(step);
        }
        int error = MPI_Allreduce(&now, &pi, 1, MPI_DOUBLE, MPI_SUM, comm);
        if (error == MPI_SUCCESS) {
            error = save(now, &of_left, comm);
        }
        if (all_well(comm, error)) {
            mine = now;
            theirs = of_left;
            step++;
        } else if (!repair(&comm, &mine, &theirs)) {
            mine = theirs = 0;
            step = 0;
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
