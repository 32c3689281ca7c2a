/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions: a process that had one leaves its job when it exits.
 *
 *   rewind_session HOW STEPS     HOW: open (at each snapshot, beside MPI_Init), over (ended before
 *                                the first one), alone (without MPI_Init), again (each step makes a
 *                                communicator; rank 0 comes late, the others wait at a snapshot)
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static MPI_Session session;
static MPI_Comm comm;

static void make_comm(void)
{
    MPI_Group group;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "rewind", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
}

static void session_begin(void)
{
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    make_comm();
}

static void session_end(void)
{
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "open";
    int steps = argc > 2 ? atoi(argv[2]) : 100, rank;
    bool alone = strcmp(how, "alone") == 0, over = strcmp(how, "over") == 0;
    bool again = strcmp(how, "again") == 0;
    double sum = 0, total = 0;
    if (!alone) {
        MPI_Init(&argc, &argv);
    }
    session_begin();
    MPI_Comm_rank(comm, &rank);
    if (over) {
        session_end();
    }
    for (int step = 0; step < steps; step++) {
        double mine = step * (rank + 1);
        if (!again || rank == 0) {
            nanosleep(&(struct timespec){.tv_nsec = again ? 4000000 : 1000000}, NULL);
        }
        if (again) {
            MPI_Comm_free(&comm);
            make_comm();
        }
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, over ? MPI_COMM_WORLD : comm);
        total += sum;
    }
    if (!over) {
        session_end();
    }
    printf("rank %d, %d steps: %.17g\n", rank, steps, total);
    if (!alone) {
        MPI_Finalize();
    }
    return 0;
}
