/* SPDX-License-Identifier: BSD-3-Clause */
/* POSIX as the bottom of files, and the errors of the system as errors of MPI. */
#include "mpi/io/file_system.h"

#include "mpi/impl.h"

#include <errno.h>

static int posix_open(const char *path, unsigned how, unsigned mode, rz_stored_t *stored)
{
    int fd;
    int cause = rz_data_file_open(path, how, mode, &fd);
    if (cause == 0) {
        *stored = fd;
    }
    return cause;
}

static int posix_close(rz_stored_t stored)
{
    return rz_data_file_close((int)stored);
}

static int posix_read(rz_stored_t stored, void *to, size_t bytes, int64_t offset, size_t *done)
{
    return rz_data_file_read((int)stored, to, bytes, offset, done);
}

static int posix_write(rz_stored_t stored, const void *from, size_t bytes, int64_t offset,
                       size_t *done)
{
    return rz_data_file_write((int)stored, from, bytes, offset, done);
}

static int posix_size(rz_stored_t stored, int64_t *bytes)
{
    return rz_data_file_size((int)stored, bytes);
}

static int posix_set_size(rz_stored_t stored, int64_t bytes)
{
    return rz_data_file_set_size((int)stored, bytes);
}

static int posix_allocate(rz_stored_t stored, int64_t bytes)
{
    return rz_data_file_allocate((int)stored, bytes);
}

static int posix_sync(rz_stored_t stored)
{
    return rz_data_file_sync((int)stored);
}

static int posix_lock(rz_stored_t stored, bool alone, int64_t offset, int64_t bytes)
{
    return rz_data_file_lock((int)stored, alone, offset, bytes);
}

static int posix_try_lock(rz_stored_t stored, bool alone, int64_t offset, int64_t bytes)
{
    return rz_data_file_try_lock((int)stored, alone, offset, bytes);
}

static bool posix_may_lock(rz_stored_t stored, bool alone, int64_t offset, int64_t bytes)
{
    return rz_data_file_may_lock((int)stored, alone, offset, bytes);
}

static int posix_unlock(rz_stored_t stored, int64_t offset, int64_t bytes)
{
    return rz_data_file_unlock((int)stored, offset, bytes);
}

static int posix_block(rz_stored_t stored, int64_t *bytes)
{
    return rz_data_file_block((int)stored, bytes);
}

static int posix_mode(rz_stored_t stored, unsigned *mode)
{
    return rz_data_file_mode((int)stored, mode);
}

static int posix_set_mode(rz_stored_t stored, unsigned mode)
{
    return rz_data_file_set_mode((int)stored, mode);
}

static int posix_hold(rz_stored_t stored)
{
    return rz_data_file_hold((int)stored);
}

static const struct rz_file_system posix = {
    .name = "POSIX",
    .open = posix_open,
    .close = posix_close,
    .read = posix_read,
    .write = posix_write,
    .size = posix_size,
    .set_size = posix_set_size,
    .allocate = posix_allocate,
    .sync = posix_sync,
    .lock = posix_lock,
    .try_lock = posix_try_lock,
    .may_lock = posix_may_lock,
    .unlock = posix_unlock,
    .block = posix_block,
    .mode = posix_mode,
    .set_mode = posix_set_mode,
    .remove = rz_data_file_remove,
    .rename = rz_data_file_rename,
    .hold = posix_hold,
    .sweep = rz_data_file_sweep,
};

const struct rz_file_system *rz_file_system_of(const char *path)
{
    (void)path;
    return &posix;
}

static int class_of(int cause)
{
    switch (cause) {
    case ENOENT:
        return MPI_ERR_NO_SUCH_FILE;
    case EACCES:
    case EPERM:
        return MPI_ERR_ACCESS;
    case EEXIST:
        return MPI_ERR_FILE_EXISTS;
    case ESPIPE:
    case ENAMETOOLONG:
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
        return MPI_ERR_BAD_FILE;
    case ENOSPC:
        return MPI_ERR_NO_SPACE;
    case EDQUOT:
        return MPI_ERR_QUOTA;
    case EROFS:
        return MPI_ERR_READ_ONLY;
    case ETXTBSY:
    case EBUSY:
        return MPI_ERR_FILE_IN_USE;
    case ENOMEM:
        return MPI_ERR_NO_MEM;
    default:
        return MPI_ERR_IO;
    }
}

int rz_file_system_error(int cause, const char *what, const char *name)
{
    const char *reason = cause == ESPIPE ? "it is a pipe, a socket or a terminal: name a file in "
                                           "which data have places"
                                         : strerror(cause);
    return cause == 0 ? MPI_SUCCESS
                      : rzm_error(class_of(cause), "cannot %s \"%.120s\": %s", what, name, reason);
}
