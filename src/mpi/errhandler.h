/* Error handlers of communicators (of sessions: sessions.c). The struct and the predefined ones are
 * in chapter.h. */
#ifndef RZ_MPI_ERRHANDLER_H
#define RZ_MPI_ERRHANDLER_H

#include "mpi/chapter.h"

static inline void rz_errhandler_retain(struct rz_errhandler *errhandler)
{
    rz_object_retain(&errhandler->object);
}

void rz_errhandler_release(struct rz_errhandler *errhandler);

#endif
