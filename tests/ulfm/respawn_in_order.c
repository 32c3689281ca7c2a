/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ranks fail; the survivors spawn two processes, and all have their old ranks. What each keeps
 * at heart, its rank in a table, is what it was.
 */
#include "repair.h"

enum { ROUNDS = 20 };

static void is_in_order(MPI_Comm comm, int size)
{
    int rank = rank_in(comm), got = -1;
    CHECK(size_of(comm) == size);
    works(comm);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, i, &got, 1, MPI_INT,
                           (rank + size - 1) % size, i, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got == (rank + size - 1) % size);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm parent, comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        comm = copy_of_the_world();
        int rank = rank_in(comm), size = size_of(comm);
        works(comm);
        gather(comm);
        if (rank == 1 || rank == size - 1) {
            crash();
        }
        while (n_failed(comm) < 2 && !is_revoked(comm)) { /* the others may be further */
            int class = class_of(MPI_Barrier(comm));
            CHECK(class == ERR_FAILED || class == ERR_REVOKED);
        }
        comm = repaired(&comm, argv);
        CHECK(rank_in(comm) == rank && size_of(comm) == size);
    } else {
        comm = joined(parent);
    }
    is_in_order(comm, size_of(comm));
    MPI_Comm_free(&comm);
    return survived("respawn_in_order");
}
