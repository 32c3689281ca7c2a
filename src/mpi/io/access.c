/* SPDX-License-Identifier: BSD-3-Clause */
/* One access of a process. */
#include "mpi/io/access.h"

#include <errno.h>
#include <stdlib.h>

static int check(const struct rz_view *view, MPI_Count place, MPI_Count count, MPI_Count element,
                 MPI_Count *bytes, MPI_Count *first)
{
    MPI_Count end, whole, last, back;
    if (__builtin_mul_overflow(count, element, bytes) ||
        __builtin_mul_overflow(place, view->unit, first) ||
        __builtin_add_overflow(*first, *bytes, &end)) {
        return rzm_error(MPI_ERR_ARG, "the data would end behind 2^63 bytes");
    }
    if (*bytes == 0) {
        return MPI_SUCCESS;
    }
    if (view->stored->size == 0) {
        return rzm_error(MPI_ERR_ARG, "the view of this process has no data");
    }
    if (*bytes % view->unit != 0) {
        return rzm_error(MPI_ERR_ARG, "%lld bytes are no whole number of etypes, of %lld bytes",
                         (long long)*bytes, (long long)view->unit);
    }
    whole = end / view->stored->size + 1;
    if (__builtin_mul_overflow(whole, view->stored->extent, &last) ||
        __builtin_add_overflow(last, view->disp + view->stored->true_lb, &last) ||
        __builtin_add_overflow(last, view->stored->true_extent, &last)) {
        return rzm_error(MPI_ERR_ARG, "the file would end behind 2^63 bytes");
    }
    /* Tiles that go back: the last one begins first. */
    if (__builtin_mul_overflow((end - 1) / view->stored->size, view->stored->extent, &back) ||
        back < -(view->disp + view->stored->true_lb)) {
        return rzm_error(MPI_ERR_ARG,
                         "the data would begin before the file: the extent of the "
                         "filetype is %lld",
                         (long long)view->stored->extent);
    }
    return MPI_SUCCESS;
}

static char nothing; /* the row of an access without data */

/* Memory for the data in the form of the file, which are converted if they are to be written. */
static int convert_data(struct rz_access *access)
{
    access->stored = malloc(access->bytes > 0 ? (size_t)access->bytes : 1);
    access->row = access->stored ? access->stored : &nothing;
    if (!access->stored) {
        return MPI_ERR_NO_MEM;
    }
    return !access->writes || access->bytes == 0
               ? MPI_SUCCESS
               : rz_datarep_write(access->view.datarep, access->datatype, access->count,
                                  access->buffer, access->stored);
}

int rz_access_begin(struct rz_access *access, struct rz_file *file, bool writes, MPI_Count place,
                    const struct rz_access_data *data)
{
    struct rz_datatype *datatype = data->datatype;
    const struct rz_datarep *datarep = file->view.datarep;
    bool plain = rz_datarep_is_plain(datarep, datatype);
    MPI_Count element = datatype->size, bytes, first;
    struct rz_datatype *in_file;
    int error = MPI_SUCCESS;
    if (!plain) {
        error = rz_datarep_type(datarep, datatype, &in_file);
        if (error != MPI_SUCCESS) {
            return error;
        }
        element = in_file->size;
        rz_datatype_release(in_file);
    }
    error = check(&file->view, place, data->count, element, &bytes, &first);
    if (error != MPI_SUCCESS) {
        return error;
    }
    access->file = file;
    access->writes = writes;
    access->place = first;
    access->bytes = bytes;
    access->buffer = (void *)(uintptr_t)data->buffer;
    access->count = data->count;
    access->datatype = datatype;
    access->row = access->stored = NULL;
    rz_view_copy(&access->view, &file->view);
    rz_datatype_retain(datatype);
    if (!plain) {
        error = convert_data(access);
    } else if (bytes == 0) {
        access->row = &nothing;
    } else if (datatype->contiguous) {
        access->row = rz_datatype_row(datatype, data->buffer);
    } else {
        rz_walk_begin(&access->memory, datatype, 0);
    }
    if (error != MPI_SUCCESS) {
        access->bytes = 0;
        access->writes = true;
        rz_access_end(access, 0, NULL);
    }
    return error;
}

int rz_access_move(struct rz_access *access, MPI_Count place)
{
    MPI_Count bytes, first;
    int error = check(&access->view, place, access->bytes, 1, &bytes, &first);
    access->bytes = error == MPI_SUCCESS ? access->bytes : 0;
    access->place = error == MPI_SUCCESS ? first : 0;
    return error;
}

int rz_file_lock(const struct rz_access *access)
{
    MPI_Offset begin, end;
    const struct rz_file *file = access->file;
    if (!file->atomic || access->bytes == 0) {
        return MPI_SUCCESS;
    }
    rz_access_span(access, &begin, &end);
    return rz_file_system_error(
        file->system->lock(file->stored, access->writes, begin, end - begin), "lock", file->name);
}

int rz_file_try_lock(const struct rz_access *access, bool *busy)
{
    MPI_Offset begin, end;
    const struct rz_file *file = access->file;
    *busy = false;
    if (!file->atomic || access->bytes == 0) {
        return MPI_SUCCESS;
    }
    rz_access_span(access, &begin, &end);
    int cause = file->system->try_lock(file->stored, access->writes, begin, end - begin);
    *busy = cause == EAGAIN;
    return rz_file_system_error(*busy ? 0 : cause, "lock", file->name);
}

bool rz_file_may_lock(const struct rz_access *access)
{
    MPI_Offset begin, end;
    rz_access_span(access, &begin, &end);
    return access->file->system->may_lock(access->file->stored, access->writes, begin, end - begin);
}

void rz_file_unlock(const struct rz_access *access)
{
    MPI_Offset begin, end;
    const struct rz_file *file = access->file;
    if (file->atomic && access->bytes > 0) {
        rz_access_span(access, &begin, &end);
        file->system->unlock(file->stored, begin, end - begin);
    }
}

MPI_Count rz_access_units(const struct rz_access *access)
{
    return access->bytes / access->view.unit;
}

void rz_access_get(struct rz_access *access, char *packed, MPI_Count bytes)
{
    rz_walk_pack(&access->memory, access->buffer, bytes, packed);
}

void rz_access_put(struct rz_access *access, const char *packed, MPI_Count bytes)
{
    rz_walk_unpack(&access->memory, packed, bytes, access->buffer);
}

int rz_access_end(struct rz_access *access, MPI_Count done, MPI_Status *status)
{
    int error = MPI_SUCCESS;
    MPI_Count bytes = done;
    if (access->stored) {
        MPI_Count element = access->count > 0 ? access->bytes / access->count : 0;
        MPI_Count whole = element > 0 ? done / element : 0;
        if (!access->writes && whole > 0) {
            error = rz_datarep_read(access->view.datarep, access->datatype, whole, access->stored,
                                    access->buffer);
        }
        bytes = rz_datatype_bytes(access->datatype, whole);
        free(access->stored);
    } else if (!access->row) {
        rz_walk_end(&access->memory);
    }
    if (status) {
        rz_status_set_empty(status);
        rz_status_set_bytes(status, bytes);
    }
    rz_view_release(&access->view);
    rz_datatype_release(access->datatype);
    return error;
}

bool rz_access_is_row(const struct rz_access *access, MPI_Offset *offset)
{
    struct rz_walk walk;
    if (access->bytes == 0) {
        return false;
    }
    rz_view_walk(&access->view, access->place, &walk);
    bool row = rz_walk_next(&walk, access->bytes, offset) == access->bytes;
    rz_walk_end(&walk);
    return row;
}

void rz_access_span(const struct rz_access *access, MPI_Offset *begin, MPI_Offset *end)
{
    rz_view_span(&access->view, access->place, access->bytes, begin, end);
}
