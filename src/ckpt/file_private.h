/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two parts of the file store share: names of files, messages, durable directories. */
#ifndef RZ_CKPT_FILE_PRIVATE_H
#define RZ_CKPT_FILE_PRIVATE_H

#include "ckpt/file.h"

#include <limits.h>

#define RZ_CKPT_MARK_FILE "committed"
#define RZ_CKPT_LOCK_FILE "lock"
#define RZ_CKPT_PART_SUFFIX ".part"

struct rz_ckpt_path {
    char text[PATH_MAX];
};

/* The folder of a run, of a generation; a file in it. The path may be truncated: then it does not
 * exist, and the system reports this. */
struct rz_ckpt_path rz_ckpt_run_path(const struct rz_ckpt_folder *folder, uint32_t run);
struct rz_ckpt_path rz_ckpt_generation_path(const struct rz_ckpt_folder *folder,
                                            const struct rz_ckpt_generation *generation);
struct rz_ckpt_path rz_ckpt_file_path(const struct rz_ckpt_folder *folder,
                                      const struct rz_ckpt_generation *generation,
                                      const char *file);

/* Sets the message; returns status. */
rz_status_t rz_ckpt_say(struct rz_ckpt_words *words, rz_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "cannot WHAT PATH: why the system refused (errno)"; RZ_ERR_SYSTEM. */
rz_status_t rz_ckpt_refused(struct rz_ckpt_words *words, const char *what, const char *path);

/* Makes the entries of a directory durable. */
rz_status_t rz_ckpt_sync_directory(const char *path, struct rz_ckpt_words *words);

/* Makes a directory, durably; an existing one is accepted. */
rz_status_t rz_ckpt_make_directory(const char *path, const char *parent,
                                   struct rz_ckpt_words *words);

/* Which file: rank 0 for a mark. */
struct rz_ckpt_which {
    const struct rz_ckpt_generation *generation;
    enum rz_ckpt_kind kind;
    uint32_t rank;
};

/* Reads and checks the head of a file that must be this one; *fd stays open at its content. */
rz_status_t rz_ckpt_open(const struct rz_ckpt_folder *folder, const struct rz_ckpt_which *which,
                         struct rz_ckpt_header *header, int *fd, struct rz_ckpt_words *words);

#endif
