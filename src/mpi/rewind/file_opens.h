/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of libc that open files, read from them, cut them, remove them or give them another
 * name, as the program and its libraries make them. */
#ifndef RZ_MPI_FILE_OPENS_H
#define RZ_MPI_FILE_OPENS_H

#include "port/file_mark.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum rz_file_opening {
    RZ_FILE_OPENED,    /* to write to it, and not emptied */
    RZ_FILE_WAS_MADE,  /* the same; there was no such file */
    RZ_FILE_NAMED,     /* no opening: files have got other names */
    RZ_FILE_SHORTENED, /* emptied as it was opened, or cut: what was there may be lost */
    RZ_FILE_BEGUN,     /* the same; there was no such file */
};

enum rz_file_change {
    RZ_FILE_CUT_SHORT, /* it is emptied or cut */
    RZ_FILE_WRITTEN,   /* it is opened to write anywhere in it */
    RZ_FILE_REPLACED,  /* its name is given to another file */
    RZ_FILE_MOVED,     /* it gets another name */
    RZ_FILE_EXCHANGED, /* it gets that of another file, which gets its name */
    RZ_FILE_REMOVED,   /* it loses its name */
};

/* How it was opened to read it. */
enum rz_file_reading {
    RZ_FILE_READ_ONLY,
    RZ_FILE_READ_AND_WRITTEN, /* reads_from says when it is read */
    RZ_FILE_READ_ONLY_STREAM, /* by a stream of libc, of which nobody says when it reads */
    RZ_FILE_STREAM,           /* and which may write as well */
};

/*
 * Whoever opens a regular file for writing, cuts it, or gives it another name, does so between
 * begin and end. begin false: not this time; end is not called.
 *
 *   makes    there is no such file, and one is made if that can be done
 *   changes  a regular file that is there may lose what is in it; path NULL: the open file `folder`
 *   renames  a regular file is about to get another name
 *   misses   there is no file that the program wants to open or to rename; to: NULL, if to open
 *   end      fd below 0: it was not done, or is no opening
 *
 * reads stands alone, after the opening. So does reads_from, before the program reads from or maps
 * what it has open, and writes_to, when it has written to it, as long as `wary` is true. begin,
 * end, reads, reads_from and writes_to keep errno.
 */
struct rz_file_opens {
    bool (*begin)(void);
    void (*makes)(int folder, const char *path);
    void (*changes)(int folder, const char *path, const struct stat *st,
                    enum rz_file_change change);
    void (*renames)(const struct rz_file_names *names, const struct stat *st);
    void (*misses)(const struct rz_file_names *names);
    void (*end)(int fd, enum rz_file_opening opening);
    void (*reads)(int fd, enum rz_file_reading reading);
    const atomic_bool *wary;
    const atomic_bool *looks_for_missing; /* false: misses need not be called */
    void (*reads_from)(int fd);
    void (*writes_to)(int fd, off_t at, size_t bytes);
};

/* Leads all calls there, also those of objects that were loaded since. */
void rz_file_opens_lead(const struct rz_file_opens *opens);

#endif
