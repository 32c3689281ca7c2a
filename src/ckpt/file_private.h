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

/*
 * Opens the folder of a job (where NULL), of the run where->run (where->number 0), or of a
 * generation, step by step, and each must belong to this user alone (port/own_path.h): another user
 * that could write there would decide what a restored process is. make: makes the last one if there
 * is none. RZ_ERR_NOT_FOUND: there is none; RZ_ERR_INVALID: it is not ours; RZ_ERR_SYSTEM.
 */
rz_status_t rz_ckpt_enter(const struct rz_ckpt_folder *folder,
                          const struct rz_ckpt_generation *where, bool make, int *fd,
                          struct rz_ckpt_words *words);

/* Makes the entries of the open directory fd durable. */
rz_status_t rz_ckpt_sync_directory(int fd, const char *path, struct rz_ckpt_words *words);

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
