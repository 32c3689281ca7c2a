/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Independent reading and writing: MPI_File_read, _write, and their variants _at and _shared, and
 * the same without blocking.
 */
#include "mpi/io/file_request.h"
#include "mpi/io/shared_pointer.h"
#include "mpi/io/transfer.h"

static int may(const struct rz_file *file, bool writes)
{
    return writes ? rz_file_need_write(file) : rz_file_need_read(file);
}

/* ---- The access of a call, at the place where it belongs ---- */

static int begin_at(struct rz_access *access, struct rz_file *file, bool writes, MPI_Offset offset,
                    const struct rz_access_data *data)
{
    int error = may(file, writes);
    error = error != MPI_SUCCESS ? error : rz_file_need_seek(file);
    if (error == MPI_SUCCESS && offset < 0) {
        error = rzm_error(MPI_ERR_ARG, "offset is %lld, less than 0", (long long)offset);
    }
    return error != MPI_SUCCESS ? error : rz_access_begin(access, file, writes, offset, data);
}

/* Moves the individual pointer. */
static int begin_next(struct rz_access *access, struct rz_file *file, bool writes,
                      const struct rz_access_data *data)
{
    int error = begin_at(access, file, writes, file->position, data);
    if (error == MPI_SUCCESS) {
        file->position += rz_access_units(access);
    }
    return error;
}

/* Moves the shared pointer. */
static int begin_shared(struct rz_access *access, struct rz_file *file, bool writes,
                        const struct rz_access_data *data, const char *call)
{
    MPI_Count place = 0;
    int error = may(file, writes);
    if (error == MPI_SUCCESS) {
        error = rz_access_begin(access, file, writes, 0, data);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = rz_shared_pointer_ask(file, RZ_POINTER_ADD, rz_access_units(access), call, &place);
    error = error != MPI_SUCCESS ? error : rz_access_move(access, place);
    if (error != MPI_SUCCESS) {
        access->writes = true; /* nothing is converted */
        rz_access_end(access, 0, NULL);
    }
    return error;
}

/* ---- The rest of a blocking call ---- */

static bool may_lock(void *access)
{
    return rz_file_may_lock(access);
}

/* Others of this process go on while another program, or another rank, has the lock. */
static int lock_access(struct rz_access *access, const char *call)
{
    bool busy;
    int error = rz_file_try_lock(access, &busy);
    const struct rz_blocked blocked = {
        .call = call, .comm = access->file->comm, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    while (error == MPI_SUCCESS && busy) {
        rz_engine_looks(true);
        error = rz_engine_wait(&blocked, may_lock, access);
        rz_engine_looks(false);
        error = error != MPI_SUCCESS ? error : rz_file_try_lock(access, &busy);
    }
    return error;
}

static int run_access(int error, struct rz_access *access, MPI_Status *status, const char *call)
{
    MPI_Count done = 0;
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = lock_access(access, call);
    if (error == MPI_SUCCESS) {
        error = rz_transfer(access, &done);
        rz_file_unlock(access);
    }
    if (error != MPI_SUCCESS) {
        access->file->write_failed |= access->writes;
        access->writes = true; /* nothing is converted */
        rz_access_end(access, 0, NULL);
        return error;
    }
    return rz_access_end(access, done, status);
}

#define DATA (&(struct rz_access_data){buf, count, datatype})

int rzm_file_read_at(struct rz_file *fh, MPI_Offset offset, void *buf, MPI_Count count,
                     struct rz_datatype *datatype, MPI_Status *status)
{
    struct rz_access access;
    return run_access(begin_at(&access, fh, false, offset, DATA), &access, status,
                      "MPI_File_read_at");
}

int rzm_file_write_at(struct rz_file *fh, MPI_Offset offset, const void *buf, MPI_Count count,
                      struct rz_datatype *datatype, MPI_Status *status)
{
    struct rz_access access;
    return run_access(begin_at(&access, fh, true, offset, DATA), &access, status,
                      "MPI_File_write_at");
}

int rzm_file_read(struct rz_file *fh, void *buf, MPI_Count count, struct rz_datatype *datatype,
                  MPI_Status *status)
{
    struct rz_access access;
    return run_access(begin_next(&access, fh, false, DATA), &access, status, "MPI_File_read");
}

int rzm_file_write(struct rz_file *fh, const void *buf, MPI_Count count,
                   struct rz_datatype *datatype, MPI_Status *status)
{
    struct rz_access access;
    return run_access(begin_next(&access, fh, true, DATA), &access, status, "MPI_File_write");
}

int rzm_file_read_shared(struct rz_file *fh, void *buf, MPI_Count count,
                         struct rz_datatype *datatype, MPI_Status *status)
{
    struct rz_access access;
    return run_access(begin_shared(&access, fh, false, DATA, "MPI_File_read_shared"), &access,
                      status, "MPI_File_read_shared");
}

int rzm_file_write_shared(struct rz_file *fh, const void *buf, MPI_Count count,
                          struct rz_datatype *datatype, MPI_Status *status)
{
    struct rz_access access;
    return run_access(begin_shared(&access, fh, true, DATA, "MPI_File_write_shared"), &access,
                      status, "MPI_File_write_shared");
}

/* ---- Without blocking ---- */

enum access_place { ACCESS_AT, ACCESS_NEXT, ACCESS_SHARED };

static int start_access(struct rz_file *file, enum access_place from, bool writes,
                        MPI_Offset offset, const struct rz_access_data *data,
                        struct rz_request **request)
{
    struct rz_access *access;
    int error = rz_file_request_new(file, request, &access);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (from == ACCESS_SHARED) {
        error = begin_shared(access, file, writes, data, "MPI_File_iread_shared");
    } else if (from == ACCESS_NEXT) {
        error = begin_next(access, file, writes, data);
    } else {
        error = begin_at(access, file, writes, offset, data);
    }
    return rz_file_request_start(*request, error);
}

int rzm_file_iread_at(struct rz_file *fh, MPI_Offset offset, void *buf, MPI_Count count,
                      struct rz_datatype *datatype, struct rz_request **request)
{
    return start_access(fh, ACCESS_AT, false, offset, DATA, request);
}

int rzm_file_iwrite_at(struct rz_file *fh, MPI_Offset offset, const void *buf, MPI_Count count,
                       struct rz_datatype *datatype, struct rz_request **request)
{
    return start_access(fh, ACCESS_AT, true, offset, DATA, request);
}

int rzm_file_iread(struct rz_file *fh, void *buf, MPI_Count count, struct rz_datatype *datatype,
                   struct rz_request **request)
{
    return start_access(fh, ACCESS_NEXT, false, 0, DATA, request);
}

int rzm_file_iwrite(struct rz_file *fh, const void *buf, MPI_Count count,
                    struct rz_datatype *datatype, struct rz_request **request)
{
    return start_access(fh, ACCESS_NEXT, true, 0, DATA, request);
}

int rzm_file_iread_shared(struct rz_file *fh, void *buf, MPI_Count count,
                          struct rz_datatype *datatype, struct rz_request **request)
{
    return start_access(fh, ACCESS_SHARED, false, 0, DATA, request);
}

int rzm_file_iwrite_shared(struct rz_file *fh, const void *buf, MPI_Count count,
                           struct rz_datatype *datatype, struct rz_request **request)
{
    return start_access(fh, ACCESS_SHARED, true, 0, DATA, request);
}
