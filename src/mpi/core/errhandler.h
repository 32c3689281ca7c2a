/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers of communicators (of sessions: sessions.c). The struct and the predefined ones are
 * in impl.h. */
#ifndef RZ_MPI_ERRHANDLER_H
#define RZ_MPI_ERRHANDLER_H

#include "mpi/impl.h"

static inline void rz_errhandler_retain(struct rz_errhandler *errhandler)
{
    rz_object_retain(&errhandler->object);
}

/* The name of rz_errhandler_initial() among the values of the info key mpi_initial_errhandler. */
const char *rz_errhandler_initial_name(void);

void rz_errhandler_release(struct rz_errhandler *errhandler);

/* A new error handler of the user, for that kind of object, without its function yet.
 * MPI_ERR_NO_MEM. */
int rz_errhandler_new(enum rz_object_kind of, struct rz_errhandler **errhandler);

/* MPI_X_set_errhandler: *place holds the handler of an object of that kind. MPI_ERR_ERRHANDLER. */
int rz_errhandler_set(struct rz_errhandler **place, enum rz_object_kind of,
                      struct rz_errhandler *errhandler);

#endif
