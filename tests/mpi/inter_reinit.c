/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Reinit with inter-communicators: a rank kills itself during collective operations between
 * two groups; all roll back, make the same communicators again by the same names, and these work.
 *
 * Arguments: [VICTIM].
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdlib.h>

enum { WORDS = 30000 };

static int victim, passes;

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    static int out[WORDS], in[WORDS];
    int rank, size, incarnation, peers, got;
    (void)argc;
    (void)argv;
    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    RZ_Incarnation(&incarnation);
    passes++;
    MPI_Group all, half;
    MPI_Comm named, inter, merged;
    MPI_Request requests[2];
    int side = rank % 2, range[1][3] = {{side, size - 1, 2}};
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_range_incl(all, 1, range, &half);
    MPI_Comm_create_from_group(half, "half", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &named);
    MPI_Group_free(&half);
    MPI_Group_free(&all);
    MPI_Intercomm_create(named, 0, MPI_COMM_WORLD, 1 - side, 1, &inter);
    MPI_Comm_remote_size(inter, &peers);
    MPI_Intercomm_merge(inter, side, &merged);
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < WORDS; k++) {
            out[k] = i + k + side;
        }
        MPI_Iallreduce(out, in, WORDS, MPI_INT, MPI_SUM, inter, &requests[0]);
        MPI_Ibarrier(merged, &requests[1]);
        if (i == 20 && rank == victim && incarnation == 1) {
            raise(SIGKILL);
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < WORDS; k++) {
            CHECK(in[k] == peers * (i + k + 1 - side));
        }
        MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, inter);
        got = in[peers - 1];
        CHECK(got == i + 1 - side + rank / 2);
    }
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&named);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    victim = argc > 1 ? atoi(argv[1]) : 1;
    CHECK(MPIX_Reinit(argc, argv, point) == 0);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(passes == (rank == victim ? 1 : 2)); /* there was a way back */
    MPI_Finalize();
    return 0;
}
