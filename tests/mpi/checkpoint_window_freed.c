/* SPDX-License-Identifier: BSD-3-Clause */
/* A window that was freed hides no other one from checkpoints: also where only one member has made
 * a call since that looks at the regions. The order of windows changes from round to round. */
#include "check.h"

#include <rhizome/checkpoint.h>

static void free_one(int rank)
{
    int other = 0;
    int64_t *first, *second;
    MPI_Win freed, kept;
    MPI_Win_allocate(sizeof(*first), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &first, &freed);
    MPI_Win_allocate(sizeof(*second), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &second, &kept);
    CHECK(RZ_Checkpoint_protect_win(1, freed) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_protect_win(2, kept) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint(NULL) == MPI_SUCCESS);
    MPI_Win_free(&freed);
    if (rank == 0) {
        CHECK(RZ_Checkpoint_protect(3, &other, sizeof(other)) == MPI_SUCCESS);
    }
    CHECK(RZ_Checkpoint(NULL) == MPI_SUCCESS);
    if (rank == 0) {
        CHECK(RZ_Checkpoint_protect(3, NULL, 0) == MPI_SUCCESS);
    }
    MPI_Win_free(&kept);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 10; round++) {
        free_one(rank);
    }
    MPI_Finalize();
    return 0;
}
