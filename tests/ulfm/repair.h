/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repair as programs for ULFM do it with spawning alone: shrink, spawn as many as failed, tell each
 * spawned process the rank that it takes, merge, and split into the old order of ranks. A step that
 * does not succeed at all is abandoned, and repeated.
 */
#ifndef REPAIR_H
#define REPAIR_H

#define SUITE_FUNCTIONS
#include "suite.h"

enum { TAG_RANK = 77, FAILED_MAX = 64 };

static inline void give_up(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL) {
        MPIX_Comm_revoke(*comm);
        MPI_Comm_free(comm);
    }
}

/* The ranks of whole that are not among the survivors. */
static inline int ranks_lost(MPI_Comm whole, MPI_Comm living, int *lost)
{
    int n, from[FAILED_MAX];
    MPI_Group before, after, failed;
    MPI_Comm_group(whole, &before);
    MPI_Comm_group(living, &after);
    MPI_Group_difference(before, after, &failed);
    MPI_Group_size(failed, &n);
    CHECK(n <= FAILED_MAX);
    for (int i = 0; i < n; i++) {
        from[i] = i;
    }
    MPI_Group_translate_ranks(failed, n, from, before, lost);
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    MPI_Group_free(&failed);
    return n;
}

/* From the intercommunicator between survivors and spawned processes to one communicator in the
 * order of `rank`; MPI_COMM_NULL, at all survivors, if that did not succeed at all. */
static inline MPI_Comm join(MPI_Comm bridge, int is_new, int rank)
{
    MPI_Comm merged = MPI_COMM_NULL, whole = MPI_COMM_NULL;
    int well = MPI_Intercomm_merge(bridge, is_new, &merged) == MPI_SUCCESS;
    /* An agreement over two groups gives each the answer of the other: two agreements reach all. */
    well = all_agree(bridge, well) && well;
    well = all_agree(bridge, well) && well;
    if (well) {
        MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
        well = MPI_Comm_split(merged, 0, rank, &whole) == MPI_SUCCESS;
        if (!all_agree(merged, well)) {
            give_up(&whole);
        }
    }
    give_up(&merged);
    return whole;
}

static inline MPI_Comm try_to_fill(MPI_Comm whole, MPI_Comm living, char **argv)
{
    int lost[FAILED_MAX], n = ranks_lost(whole, living, lost), rank = rank_in(whole), well;
    MPI_Comm bridge = MPI_COMM_NULL, full;
    well = MPI_Comm_spawn(argv[0], argv + 1, n, MPI_INFO_NULL, 0, living, &bridge,
                          MPI_ERRCODES_IGNORE) == MPI_SUCCESS;
    if (!all_agree(living, well)) {
        give_up(&bridge);
        return MPI_COMM_NULL;
    }
    MPI_Comm_set_errhandler(bridge, MPI_ERRORS_RETURN);
    for (int i = 0; rank_in(living) == 0 && i < n; i++) {
        MPI_Send(&lost[i], 1, MPI_INT, i, TAG_RANK, bridge);
    }
    full = join(bridge, 0, rank);
    give_up(&bridge);
    return full;
}

/* comm, which is freed, whole again. argv: the command of the spawned processes. */
static inline MPI_Comm repaired(MPI_Comm *comm, char **argv)
{
    MPI_Comm full = MPI_COMM_NULL;
    MPIX_Comm_revoke(*comm);
    while (full == MPI_COMM_NULL) {
        MPI_Comm living;
        CHECK(MPIX_Comm_shrink(*comm, &living) == MPI_SUCCESS);
        full = try_to_fill(*comm, living, argv);
        MPI_Comm_free(&living);
    }
    MPI_Comm_free(comm);
    MPI_Comm_set_errhandler(full, MPI_ERRORS_RETURN);
    return full;
}

/* A spawned process's way into the communicator; it ends where that does not succeed: the others
 * begin again without it. */
static inline MPI_Comm joined(MPI_Comm bridge)
{
    int rank = -1;
    MPI_Comm_set_errhandler(bridge, MPI_ERRORS_RETURN);
    MPI_Recv(&rank, 1, MPI_INT, 0, TAG_RANK, bridge, MPI_STATUS_IGNORE);
    MPI_Comm full = join(bridge, 1, rank);
    give_up(&bridge);
    if (full == MPI_COMM_NULL) {
        MPI_Finalize();
        exit(0);
    }
    CHECK(rank_in(full) == rank);
    MPI_Comm_set_errhandler(full, MPI_ERRORS_RETURN);
    return full;
}

#endif
