/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of one imagined process, rank 1 of 4, that note what the entry points hand them.
 * For tests of the binding. */
#ifndef FAKE_IMPL_H
#define FAKE_IMPL_H

#include "mpi/impl.h"

struct rz_comm {
    union {
        struct rz_object object;
        struct rz_comm_head head;
    };
    int rank;
    struct rz_errhandler *errhandler;
};

struct rz_datatype {
    struct rz_object object;
    MPI_Count size;
};

struct rz_request {
    struct rz_object object;
    struct rz_comm *comm;
    int error; /* how it ends */
};

struct fake {
    int calls;      /* of implementation functions that communicate */
    int next_error; /* what the next of them returns */
    int lock_depth; /* of the engine lock */
    int lock_takings;
    MPI_Count count; /* arguments of the last one */
    MPI_Count count2;
    struct rz_datatype *datatype;
    struct rz_datatype *datatype2;
    MPI_Count value;   /* what the next count query answers */
    int rollbacks;     /* how many calls are still to return RZM_ROLLBACK */
    int reinit_rounds; /* how often rz_ft_reinit_wait was called */
    int masked;        /* rz_reinit_mask */
    bool runs_user;    /* a function of the user that an implementation function called */
    void (*go_back)(void);
};
extern struct fake fake;

/* Begin again: MPI running, MPI_ERRORS_RETURN on both communicators. */
void fake_reset(void);

#endif
