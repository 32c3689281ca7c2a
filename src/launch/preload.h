/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files that --preload and --preload-files bring to other hosts: which these are, and their
 * content. All go into one folder of each host, so that no two may have the same name.
 */
#ifndef RZ_LAUNCH_PRELOAD_H
#define RZ_LAUNCH_PRELOAD_H

#include "launch/rzrun_contexts.h"

#include <stdbool.h>
#include <time.h>

#define RZ_PRELOAD_FILES_MAX 512

struct rz_preload_file {
    char *path, *name; /* name: in the folder, the last component of what requests it */
    int fd;
    uint32_t mode; /* permissions */
    uint64_t bytes;
    struct timespec changed; /* when it was, before it is read */
};

struct rz_preload {
    bool programs;                 /* --preload: those of the command line, with their libraries */
    struct rz_texts names;         /* of --preload-files */
    struct rz_preload_file *files; /* [n], from collect on */
    uint32_t n;
};

/*
 * Finds and opens the files: programs, what the loader finds for each here outside of the system's
 * folders and of own_libraries (those of Rhizome, where all hosts have them; or NULL), and the
 * named ones. 0, or the exit status after a message.
 */
int rz_preload_collect(struct rz_preload *preload, const struct rz_context *contexts, uint32_t n,
                       const char *own_libraries);
void rz_preload_close(struct rz_preload *preload);

/* Reads bytes from offset on. False: the file has been changed since it was opened. */
bool rz_preload_read(const struct rz_preload_file *file, uint64_t offset, void *buffer,
                     size_t bytes);
bool rz_preload_unchanged(const struct rz_preload_file *file);

/* The number of bytes of all files. */
uint64_t rz_preload_bytes(const struct rz_preload *preload);

#endif
