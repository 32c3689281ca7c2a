/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bottom of files: one table of calls, so that something else than POSIX (an object store, a
 * burst buffer) can stand there. All functions return 0 or an error number of the system, which
 * rz_file_system_error turns into an error class and a sentence.
 */
#ifndef RZ_MPI_FILE_SYSTEM_H
#define RZ_MPI_FILE_SYSTEM_H

#include <stdbool.h>

#include "port/data_file.h"

/* An open file, as the file system sees it. */
typedef intptr_t rz_stored_t;

struct rz_file_system {
    const char *name;
    /* how: enum rz_data_file_how; mode: permissions of a file that is created. */
    int (*open)(const char *path, unsigned how, unsigned mode, rz_stored_t *stored);
    int (*close)(rz_stored_t stored);
    /* *done is set also with an error; fewer bytes without an error: the file ends there. */
    int (*read)(rz_stored_t stored, void *to, size_t bytes, int64_t offset, size_t *done);
    int (*write)(rz_stored_t stored, const void *from, size_t bytes, int64_t offset, size_t *done);
    int (*size)(rz_stored_t stored, int64_t *bytes);
    int (*set_size)(rz_stored_t stored, int64_t bytes);
    int (*allocate)(rz_stored_t stored, int64_t bytes);
    int (*sync)(rz_stored_t stored);
    /* Waits until no other process has a lock of these bytes (with `alone`), or one with `alone`. A
     * process that fails has no locks. */
    int (*lock)(rz_stored_t stored, bool alone, int64_t offset, int64_t bytes);
    /* The same without waiting: EAGAIN. may_lock: whether none is in the way now. */
    int (*try_lock)(rz_stored_t stored, bool alone, int64_t offset, int64_t bytes);
    bool (*may_lock)(rz_stored_t stored, bool alone, int64_t offset, int64_t bytes);
    int (*unlock)(rz_stored_t stored, int64_t offset, int64_t bytes);
    /* The unit in which data are written best; file domains begin at multiples of it. */
    int (*block)(rz_stored_t stored, int64_t *bytes);
    int (*mode)(rz_stored_t stored, unsigned *mode);
    int (*set_mode)(rz_stored_t stored, unsigned mode);
    int (*remove)(const char *path);
    /* For a file that appears at once: replaces `to`, durably. hold: until it is closed no other
     * process may sweep it away; sweep: removes files whose paths begin like this and that no
     * process holds. */
    int (*rename)(const char *from, const char *to);
    int (*hold)(rz_stored_t stored);
    void (*sweep)(const char *path);
};

/* The file system of a path. */
const struct rz_file_system *rz_file_system_of(const char *path);

/* The error class of `cause`, with the reason "cannot WHAT "NAME": cause"; MPI_SUCCESS for 0. */
int rz_file_system_error(int cause, const char *what, const char *name);

#endif
