/* What the two halves of the room's file store share: names of files, words, durable directories.
 */
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

/* The folder of a run, of a generation; a file in it. The path may be cut: it is then one that does
 * not exist, and the system says so. */
struct rz_ckpt_path rz_ckpt_run_path(const struct rz_ckpt_folder *folder, uint32_t run);
struct rz_ckpt_path rz_ckpt_generation_path(const struct rz_ckpt_folder *folder,
                                            const struct rz_ckpt_generation *generation);
struct rz_ckpt_path rz_ckpt_file_path(const struct rz_ckpt_folder *folder,
                                      const struct rz_ckpt_generation *generation,
                                      const char *file);

/* Sets the words; returns status. */
rz_status_t rz_ckpt_say(struct rz_ckpt_words *words, rz_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "cannot WHAT PATH: why the system refused (errno)"; RZ_ERR_SYSTEM. */
rz_status_t rz_ckpt_refused(struct rz_ckpt_words *words, const char *what, const char *path);

/* What a directory lists is on the disk. */
rz_status_t rz_ckpt_sync_directory(const char *path, struct rz_ckpt_words *words);

/* Makes a directory, durably; one that is there is as good. */
rz_status_t rz_ckpt_make_directory(const char *path, const char *parent,
                                   struct rz_ckpt_words *words);

/* Reads and checks the head of a file that shall be of this kind, generation and rank; *fd stays
 * open at its content. */
rz_status_t rz_ckpt_open(const struct rz_ckpt_folder *folder,
                         const struct rz_ckpt_generation *generation, enum rz_ckpt_kind kind,
                         uint32_t rank, struct rz_ckpt_header *header, int *fd,
                         struct rz_ckpt_words *words);

#endif
