/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of libc that open files, as the program and its libraries make them. */
#ifndef RZ_MPI_FILE_OPENS_H
#define RZ_MPI_FILE_OPENS_H

#include <stdbool.h>

/* Whoever opens a regular file for writing, and does not empty it, does so between these two.
 * begin false: not this time; end is not called. end: fd below 0: it was not opened; created: there
 * was no such file. Both keep errno. */
struct rz_file_opens {
    bool (*begin)(void);
    void (*end)(int fd, bool created);
};

/* Leads all calls there, also those of objects that were loaded since. */
void rz_file_opens_lead(const struct rz_file_opens *opens);

#endif
