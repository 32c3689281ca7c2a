/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers of communicators. */
#include "mpi/comm/comm.h"
#include "mpi/core/errhandler.h"

struct rz_errhandler *rz_comm_errhandler(struct rz_comm *comm)
{
    return comm->errhandler;
}

int rzm_comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn,
                               struct rz_errhandler **errhandler)
{
    int error = rz_errhandler_new(RZ_OBJECT_COMM, errhandler);
    if (error == MPI_SUCCESS) {
        (*errhandler)->function.comm = comm_errhandler_fn;
    }
    return error;
}

int rzm_comm_set_errhandler(struct rz_comm *comm, struct rz_errhandler *errhandler)
{
    return rz_errhandler_set(&comm->errhandler, RZ_OBJECT_COMM, errhandler);
}

int rzm_comm_get_errhandler(struct rz_comm *comm, struct rz_errhandler **errhandler)
{
    rz_errhandler_retain(comm->errhandler);
    *errhandler = comm->errhandler;
    return MPI_SUCCESS;
}
