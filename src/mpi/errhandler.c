#include "mpi/errhandler.h"

#include "mpi/comm.h"

#include <stdlib.h>

#define PREDEFINED(number)                                                                         \
    {                                                                                              \
        .object = {                                                                                \
            .magic = RZ_OBJECT_MAGIC + RZ_OBJECT_ERRHANDLER,                                       \
            .predefined = (number),                                                                \
            .references = 1                                                                        \
        }                                                                                          \
    }

/* Valid from the start of the program: ARE_FATAL, ABORT, RETURN. */
static struct rz_errhandler predefined[] = {PREDEFINED(0x141), PREDEFINED(0x142),
                                            PREDEFINED(0x143)};

struct rz_errhandler *rz_errhandler_predefined(unsigned handle)
{
    return handle >= 0x141 && handle <= 0x143 ? &predefined[handle - 0x141] : NULL;
}

void rz_errhandler_release(struct rz_errhandler *errhandler)
{
    if (rz_object_release(&errhandler->object)) {
        free(errhandler);
    }
}

struct rz_errhandler *rz_comm_errhandler(struct rz_comm *comm)
{
    return comm->errhandler;
}

int rzm_comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn,
                               struct rz_errhandler **errhandler)
{
    struct rz_errhandler *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return MPI_ERR_NO_MEM;
    }
    rz_object_init(&made->object, RZ_OBJECT_ERRHANDLER, 0);
    made->of = RZ_OBJECT_COMM;
    made->function.comm = comm_errhandler_fn;
    *errhandler = made;
    return MPI_SUCCESS;
}

int rzm_comm_set_errhandler(struct rz_comm *comm, struct rz_errhandler *errhandler)
{
    if (errhandler->object.predefined == 0 && errhandler->of != RZ_OBJECT_COMM) {
        return rzm_error(MPI_ERR_ERRHANDLER, "the error handler is not one of communicators");
    }
    rz_errhandler_retain(errhandler);
    rz_errhandler_release(comm->errhandler);
    comm->errhandler = errhandler;
    return MPI_SUCCESS;
}

int rzm_comm_get_errhandler(struct rz_comm *comm, struct rz_errhandler **errhandler)
{
    rz_errhandler_retain(comm->errhandler);
    *errhandler = comm->errhandler;
    return MPI_SUCCESS;
}

int rzm_errhandler_free(struct rz_errhandler *errhandler)
{
    rz_errhandler_release(errhandler);
    return MPI_SUCCESS;
}
