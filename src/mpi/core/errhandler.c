/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error handlers: the predefined ones, those of files, and the common part of making,
 * setting and freeing them.
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

static int get(struct rz_errhandler *place, struct rz_errhandler **errhandler)
{
    rz_errhandler_retain(place);
    *errhandler = place;
    return MPI_SUCCESS;
}

/* ---- Files: there is only MPI_FILE_NULL, whose handler new files would get ---- */

static struct rz_errhandler *of_new_files = &predefined[2];

struct rz_errhandler *rz_file_errhandler(void)
{
    return of_new_files;
}

int rzm_file_create_errhandler(MPI_File_errhandler_function *file_errhandler_fn,
                               struct rz_errhandler **errhandler)
{
    int error = rz_errhandler_new(RZ_OBJECT_FILE, errhandler);
    if (error == MPI_SUCCESS) {
        (*errhandler)->function.file = file_errhandler_fn;
    }
    return error;
}

static int check_file(MPI_File file)
{
    return file == MPI_FILE_NULL
               ? MPI_SUCCESS
               : rzm_error(MPI_ERR_FILE, "file is not a file, or one that was closed");
}

int rzm_file_set_errhandler(MPI_File file, struct rz_errhandler *errhandler)
{
    int error = check_file(file);
    return error != MPI_SUCCESS ? error
                                : rz_errhandler_set(&of_new_files, RZ_OBJECT_FILE, errhandler);
}

int rzm_file_get_errhandler(MPI_File file, struct rz_errhandler **errhandler)
{
    int error = check_file(file);
    return error != MPI_SUCCESS ? error : get(of_new_files, errhandler);
}

/* ---- All kinds ---- */

int rzm_errhandler_free(struct rz_errhandler *errhandler)
{
    rz_errhandler_release(errhandler);
    return MPI_SUCCESS;
}
