/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective reading and writing. The members tell each other where their data begin and end in
 * the file. If the data do not interleave each member reads or writes by itself (transfer.h).
 * Otherwise (two-phase access) some members are aggregators, of a domain of the file each: in each
 * round all members exchange with each aggregator the data of its window, and it alone accesses
 * the file.
 *
 * A write succeeds at a member only when all aggregators have told all members that they have
 * written: so a call that has succeeded and was synced loses nothing, whichever processes fail.
 */
#ifndef RZ_MPI_TWO_PHASE_H
#define RZ_MPI_TWO_PHASE_H

#include "mpi/io/access.h"
#include "mpi/io/file_op.h"

/* Where an access of all members begins. */
enum rz_collective_place {
    RZ_PLACE_GIVEN,  /* at a place of each member's own */
    RZ_PLACE_ORDERED /* at the shared pointer, in the order of ranks */
};

/* A collective access of one member. */
struct rz_collective {
    enum rz_collective_place from;
    bool writes;
    MPI_Count place; /* in etypes, if given */
    struct rz_access_data data;
};

/* Starts it; its errors are those of the request. MPI_ERR_NO_MEM (the request only), RZM_ROLLBACK.
 * *units, if not NULL: how many etypes it takes, also with an error. */
int rz_collective_start(struct rz_file *file, const struct rz_collective *collective,
                        struct rz_request **request, MPI_Count *units);

#endif
