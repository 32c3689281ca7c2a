/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 8: failed processes are replaced. All processes keep their ranks, and the loop does not
 * notice it. */
#include "tutorial.h"

#include <mpi-ext.h>

/* The state of a process after this number of steps: its own part, and a copy of its left
 * neighbour's. */
struct state {
    int step;
    double mine, theirs;
};

static int all_well(MPI_Comm comm, int error)
{
    int well = error == MPI_SUCCESS;
    if (!well) {
        MPIX_Comm_revoke(comm);
    }
    int told = MPIX_Comm_agree(comm, &well);
    return told == MPI_SUCCESS && well;
}

static int swap(struct state mine, struct state *theirs, int to, int from, MPI_Comm comm)
{
    return MPI_Sendrecv(&mine, sizeof(mine), MPI_BYTE, to, 0, theirs, sizeof(*theirs), MPI_BYTE,
                        from, 0, comm, MPI_STATUS_IGNORE);
}

/* [refill] */
/* A spawned process (its step is -1) gets its part back from its right neighbour, and each process
 * a copy of its left neighbour's part. If two neighbours are both new, a part is lost, and all
 * start again at step 0. */
static int refill(struct state *state, MPI_Comm comm)
{
    int rank, size, oldest;
    struct state now = *state, left, right;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int to_right = (rank + 1) % size, to_left = (rank + size - 1) % size;
    int error = swap(now, &right, to_left, to_right, comm);
    if (error == MPI_SUCCESS) {
        if (now.step == -1) {
            now.step = right.step;
            now.mine = right.theirs;
        }
        error = MPI_Allreduce(&now.step, &oldest, 1, MPI_INT, MPI_MIN, comm);
    }
    if (error == MPI_SUCCESS) {
        if (oldest == -1) {
            now = (struct state){0, 0, 0};
        }
        error = swap(now, &left, to_right, to_left, comm);
    }
    if (!all_well(comm, error)) {
        return 0; /* another process has failed: the state is unchanged */
    }
    now.theirs = left.mine;
    *state = now;
    return 1;
}
/* [end] */

/* [repair] */
static void repair(MPI_Comm *comm, struct state *state)
{
    do {
        MPI_Comm whole;
        RZ_Comm_replace(*comm, &whole); /* all ranks, with new processes for the failed */
        if (*comm != MPI_COMM_WORLD) {
            MPI_Comm_free(comm);
        }
        *comm = whole;
    } while (!refill(state, *comm));
}
/* [end] */

/* [join] */
/* A spawned process gets the new communicator from the same call as the survivors. */
static void join(MPI_Comm *comm, struct state *state)
{
    state->step = -1;
    RZ_Comm_replace(MPI_COMM_NULL, comm);
    MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    if (!refill(state, *comm)) {
        repair(comm, state);
    }
}
/* [end] */

int main(int argc, char **argv)
{
    int rank, size, incarnation;
    double pi = 0;
    struct state state = {0, 0, 0};
    MPI_Comm comm = MPI_COMM_WORLD;
    /* [start] */
    MPI_Init(&argc, &argv);
    RZ_Incarnation(&incarnation); /* 1: an original process; 2: its replacement; ... */
    if (incarnation == 1) {
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    } else {
        join(&comm, &state);
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    /* [end] */
    /* [loop] */
    while (state.step < STEPS) {
        struct state left, now = state;
        now.mine += share(state.step, rank, size);
        now.step++;
        if (rank == 2 && incarnation == 1) {
            burn_out(state.step);
        }
        int error = MPI_Allreduce(&now.mine, &pi, 1, MPI_DOUBLE, MPI_SUM, comm);
        if (error == MPI_SUCCESS) {
            error = swap(now, &left, (rank + 1) % size, (rank + size - 1) % size, comm);
        }
        if (all_well(comm, error)) {
            state = now;
            state.theirs = left.mine;
        } else {
            repair(&comm, &state);
        }
    }
    /* [end] */
    if (incarnation > 1) {
        printf("rank %d: I am new here\n", rank);
    }
    if (rank == 0) {
        printf("%d processes say that pi is %.6f\n", size, pi);
    }
    MPI_Finalize();
    return 0;
}
