/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of libc that open files or cut them, as the program and its libraries make them. */
#ifndef RZ_MPI_FILE_OPENS_H
#define RZ_MPI_FILE_OPENS_H

#include <stdbool.h>

enum rz_file_opening {
    RZ_FILE_OPENED,    /* to write to it, and not emptied */
    RZ_FILE_WAS_MADE,  /* the same; there was no such file */
    RZ_FILE_SHORTENED, /* emptied as it was opened, or cut: what was there may be lost */
};

/* Whoever opens a regular file for writing, or cuts it, does so between begin and end. begin false:
 * not this time; end is not called. makes: there is no such file, and one is made if that can be
 * done. end: fd below 0: it was not done. begin and end keep errno. */
struct rz_file_opens {
    bool (*begin)(void);
    void (*makes)(int folder, const char *path);
    void (*end)(int fd, enum rz_file_opening opening);
};

/* Leads all calls there, also those of objects that were loaded since. */
void rz_file_opens_lead(const struct rz_file_opens *opens);

#endif
