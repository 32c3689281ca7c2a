/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that hold the data of users: opened once, then read and written at offsets. Each function
 * returns 0 or the system's error number, and starts again what a signal has interrupted.
 */
#ifndef RZ_PORT_DATA_FILE_H
#define RZ_PORT_DATA_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rz_data_file_how {
    RZ_DATA_FILE_READ = 1 << 0,
    RZ_DATA_FILE_WRITE = 1 << 1,
    RZ_DATA_FILE_CREATE = 1 << 2,
    RZ_DATA_FILE_EXCLUSIVE = 1 << 3, /* with CREATE: it must not exist */
    RZ_DATA_FILE_EMPTY = 1 << 4      /* its contents are dropped */
};

/* how: bits of enum rz_data_file_how; mode: of a file that is created, before the umask. ESPIPE: a
 * pipe, a socket or a terminal, which has no offsets; none is waited for. */
int rz_data_file_open(const char *path, unsigned how, unsigned mode, int *fd);
int rz_data_file_close(int fd);

/* *done is set also with an error. Fewer than `bytes` read without an error: the file ends there.
 */
int rz_data_file_read(int fd, void *to, size_t bytes, int64_t offset, size_t *done);
int rz_data_file_write(int fd, const void *from, size_t bytes, int64_t offset, size_t *done);

int rz_data_file_size(int fd, int64_t *bytes);
int rz_data_file_set_size(int fd, int64_t bytes);

/* Reserves space for the first `bytes` bytes; the file has at least that size then. */
int rz_data_file_allocate(int fd, int64_t bytes);
int rz_data_file_sync(int fd);

/* Waits for a lock of these bytes, which belongs to this opening of the file: it ends with
 * rz_data_file_unlock, when the file is closed, and with the process. alone: others wait that want
 * any lock of a byte of them; otherwise those that want one alone. */
int rz_data_file_lock(int fd, bool alone, int64_t offset, int64_t bytes);
/* The same without waiting. EAGAIN: another opening has a lock that is in the way. */
int rz_data_file_try_lock(int fd, bool alone, int64_t offset, int64_t bytes);
/* Whether no lock is in the way now, or that cannot be known. */
bool rz_data_file_may_lock(int fd, bool alone, int64_t offset, int64_t bytes);
int rz_data_file_unlock(int fd, int64_t offset, int64_t bytes);

/* The size of the blocks in which the file system prefers to be used. */
int rz_data_file_block(int fd, int64_t *bytes);

/* The permissions of a file, as `mode` above. */
int rz_data_file_mode(int fd, unsigned *mode);
int rz_data_file_set_mode(int fd, unsigned mode);

/* Removes a file; not a folder. */
int rz_data_file_remove(const char *path);

/* `to` is replaced; when the call returns this survives a crash of the machine. */
int rz_data_file_rename(const char *from, const char *to);

/* Removes the files of path's folder whose names begin with path's last part and are not held
 * (rz_data_file_hold) by any process: what failed processes have left. */
void rz_data_file_sweep(const char *path);

/* The caller holds the file until it closes it. */
int rz_data_file_hold(int fd);

#endif
