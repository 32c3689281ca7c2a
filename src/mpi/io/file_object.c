/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of open files, their error handlers, and what members agree on. */
#include "mpi/io/file_object.h"

#include "mpi/core/errhandler.h"
#include "mpi/engine/waiting.h"

#include <stdio.h>
#include <stdlib.h>

static struct rz_file *first_open;

static unsigned opening_now; /* calls, of several threads */

void rz_file_opening(bool begins)
{
    opening_now += begins ? 1U : -1U;
}

bool rz_file_is_open(void)
{
    return first_open || opening_now > 0;
}

/* ---- Error handlers ---- */

static struct rz_errhandler *of_new_files; /* and of MPI_FILE_NULL; NULL: MPI_ERRORS_RETURN */

static struct rz_errhandler **handler_place(struct rz_file *file)
{
    if (!of_new_files) {
        of_new_files = rz_errhandler_predefined(0x143);
        rz_errhandler_retain(of_new_files);
    }
    return file ? &file->errhandler : &of_new_files;
}

struct rz_errhandler *rz_file_errhandler(struct rz_file *file)
{
    return *handler_place(file);
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

int rzm_file_set_errhandler(struct rz_file *file, struct rz_errhandler *errhandler)
{
    return rz_errhandler_set(handler_place(file), RZ_OBJECT_FILE, errhandler);
}

int rzm_file_get_errhandler(struct rz_file *file, struct rz_errhandler **errhandler)
{
    *errhandler = rz_file_errhandler(file);
    rz_errhandler_retain(*errhandler);
    return MPI_SUCCESS;
}

struct rz_comm *rz_file_comm(const struct rz_file *file)
{
    return file->comm;
}

bool rz_file_is_closed(const struct rz_file *file)
{
    return !file->comm;
}

struct rz_file *rz_comm_file(const struct rz_comm *comm)
{
    return comm->file;
}

/* ---- The object ---- */

struct rz_file *rz_file_new(struct rz_comm *comm, const char *name, int amode)
{
    struct rz_file *file = calloc(1, sizeof(*file));
    char *own = strdup(name), *path = strdup(name);
    if (!file || !own || !path) {
        free(file);
        free(own);
        free(path);
        return NULL;
    }
    rz_object_init(&file->object, RZ_OBJECT_FILE, 0);
    file->comm = comm;
    comm->file = file;
    file->name = own;
    file->path = path;
    file->amode = amode;
    file->system = rz_file_system_of(name);
    file->stored = -1;
    file->errhandler = rz_file_errhandler(NULL);
    rz_errhandler_retain(file->errhandler);
    rz_file_hints_init(&file->hints);
    struct rz_datatype *byte = rz_datatype_of(MPI_BYTE);
    int error = rz_view_make(&file->view, 0, byte, byte, rz_datarep_native, true);
    rz_assert(error == MPI_SUCCESS);
    file->next = first_open;
    if (first_open) {
        first_open->prev = file;
    }
    first_open = file;
    return file;
}

void rz_file_release(struct rz_file *file)
{
    if (!rz_object_release(&file->object)) {
        return;
    }
    rz_assert(!file->comm);
    rz_errhandler_release(file->errhandler);
    free(file->name);
    free(file->path);
    free(file->aggregators);
    rz_object_retire(&file->object, sizeof(*file));
}

int rz_file_close_stored(struct rz_file *file)
{
    int error = MPI_SUCCESS;
    if (file->stored >= 0) {
        error = rz_file_system_error(file->system->close(file->stored), "close", file->name);
        file->stored = -1;
    }
    return error;
}

/* Returns the hidden communicator, whose reference the caller takes over. */
static struct rz_comm *close_object(struct rz_file *file, int *error)
{
    struct rz_comm *comm = file->comm;
    *error = rz_file_close_stored(file);
    *(file->prev ? &file->prev->next : &first_open) = file->next;
    if (file->next) {
        file->next->prev = file->prev;
    }
    rz_view_release(&file->view);
    file->comm = NULL;
    comm->file = NULL;
    rz_file_release(file);
    return comm;
}

int rz_file_close_here(struct rz_file *file)
{
    int error;
    rz_comm_release(close_object(file, &error));
    return error;
}

/* At a roll-back, and when the library ends: all files are closed. A commit that was not made is
 * dropped, as its file is when its last process ends. */
static void close_all(void)
{
    while (first_open) {
        struct rz_file *file = first_open;
        if (file->hints.commit && strcmp(file->name, file->path) != 0) {
            file->system->remove(file->path);
        }
        int error;
        close_object(file, &error); /* all communicators end after this */
    }
}

const struct rz_hooks rz_file_hooks = {.discard = close_all};

/* ---- Waiting, and agreement ---- */

static bool is_drained(void *arg)
{
    return !((const struct rz_file *)arg)->ops;
}

int rz_file_drain(struct rz_file *file, const char *call)
{
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS || !file->ops) {
        return error;
    }
    struct rz_blocked blocked = {
        .call = call, .comm = file->comm, .peer = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG};
    return rz_engine_wait(&blocked, is_drained, file);
}

#define REASON_SIZE 200

struct told {
    int32_t error, rank;
    char reason[REASON_SIZE];
};

static void tell_of_own(struct told *told, int error, int rank)
{
    const char *reason = rzm_error_reason(error);
    *told = (struct told){.error = error, .rank = rank};
    snprintf(told->reason, sizeof(told->reason), "%s", reason ? reason : "");
}

/* The error of another member as one of this process. */
static int take_over(const struct told *told)
{
    return told->reason[0] == '\0'
               ? told->error
               : rzm_error(told->error, "%s (at rank %d)", told->reason, told->rank);
}

static int spread_from(struct rz_file *file, int root, int error)
{
    struct told told = {0};
    if (rz_comm_rank(file->comm) == root) {
        tell_of_own(&told, error, root);
    }
    int failure =
        rzm_bcast(&told, (MPI_Count)sizeof(told), rz_datatype_of(MPI_BYTE), root, file->comm);
    if (failure != MPI_SUCCESS || told.error == MPI_SUCCESS) {
        return failure;
    }
    return error != MPI_SUCCESS ? error : take_over(&told);
}

int rz_file_spread_error(struct rz_file *file, int error)
{
    return spread_from(file, 0, error);
}

int rz_file_agree(struct rz_file *file, int error)
{
    int size = rz_comm_size(file->comm);
    int mine = error != MPI_SUCCESS ? rz_comm_rank(file->comm) : size, lowest = size;
    int failure = rzm_allreduce(&mine, &lowest, 1, rz_datatype_of(MPI_INT), rz_op_predefined(0x22),
                                file->comm);
    if (failure != MPI_SUCCESS || lowest == size) {
        return failure;
    }
    return spread_from(file, lowest, error);
}

/* ---- What a call needs ---- */

static int need(const struct rz_file *file, bool allowed, int error, const char *mode)
{
    if (file->comm->revoked) {
        return rzm_error(MPI_ERR_REVOKED, "\"%.120s\" was revoked: it can only be closed",
                         file->name);
    }
    return allowed ? MPI_SUCCESS
                   : rzm_error(error, "\"%.120s\" was opened with %s", file->name, mode);
}

int rz_file_need_write(const struct rz_file *file)
{
    return need(file, rz_file_writes(file), MPI_ERR_READ_ONLY, "MPI_MODE_RDONLY");
}

int rz_file_need_read(const struct rz_file *file)
{
    return need(file, rz_file_reads(file), MPI_ERR_ACCESS, "MPI_MODE_WRONLY");
}

int rz_file_need_seek(const struct rz_file *file)
{
    return (file->amode & MPI_MODE_SEQUENTIAL) == 0
               ? MPI_SUCCESS
               : rzm_error(MPI_ERR_UNSUPPORTED_OPERATION,
                           "\"%.120s\" was opened with MPI_MODE_SEQUENTIAL: only the shared file "
                           "pointer may be used",
                           file->name);
}
