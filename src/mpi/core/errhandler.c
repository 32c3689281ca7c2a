/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error handlers: the predefined ones, and the common part of making, setting and freeing them.
 */
#include "mpi/core/errhandler.h"

#include <stdlib.h>

#define PREDEFINED(number)                                                                         \
    {                                                                                              \
        .object = {                                                                                \
            .magic = RZ_OBJECT_MAGIC + RZ_OBJECT_ERRHANDLER,                                       \
            .predefined = (number),                                                                \
            .references = 1                                                                        \
        }                                                                                          \
    }

/* Valid from the start of the program: MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT,
 * MPI_ERRORS_RETURN. */
static struct rz_errhandler predefined[] = {PREDEFINED(0x141), PREDEFINED(0x142),
                                            PREDEFINED(0x143)};

struct rz_errhandler *rz_errhandler_predefined(unsigned handle)
{
    return handle >= 0x141 && handle <= 0x143 ? &predefined[handle - 0x141] : NULL;
}

void rz_errhandler_release(struct rz_errhandler *errhandler)
{
    if (rz_object_release(&errhandler->object)) {
        rz_object_retire(&errhandler->object, sizeof(*errhandler));
    }
}

static const char *const names[] = {"mpi_errors_are_fatal", "mpi_errors_abort",
                                    "mpi_errors_return"};

static size_t initial(void)
{
    const char *told = getenv("RZ_INITIAL_ERRHANDLER");
    for (size_t i = 0; told && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(told, names[i]) == 0) {
            return i;
        }
    }
    return 0;
}

struct rz_errhandler *rz_errhandler_initial(void)
{
    return &predefined[initial()];
}

const char *rz_errhandler_initial_name(void)
{
    return names[initial()];
}

int rz_errhandler_new(enum rz_object_kind of, struct rz_errhandler **errhandler)
{
    struct rz_errhandler *made = calloc(1, sizeof(*made));
    if (!made) {
        return MPI_ERR_NO_MEM;
    }
    rz_object_init(&made->object, RZ_OBJECT_ERRHANDLER, 0);
    made->of = of;
    *errhandler = made;
    return MPI_SUCCESS;
}

int rz_errhandler_set(struct rz_errhandler **place, enum rz_object_kind of,
                      struct rz_errhandler *errhandler)
{
    if (errhandler->object.predefined == 0 && errhandler->of != of) {
        return rzm_error(MPI_ERR_ERRHANDLER, "errhandler was made for another kind of object");
    }
    rz_errhandler_retain(errhandler);
    rz_errhandler_release(*place);
    *place = errhandler;
    return MPI_SUCCESS;
}

int rzm_errhandler_free(struct rz_errhandler *errhandler)
{
    rz_errhandler_release(errhandler);
    return MPI_SUCCESS;
}
