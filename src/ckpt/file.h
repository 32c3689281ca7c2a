/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints in files: the folder of a job, and its content.
 *
 *     DIR/NAME/                        of the job NAME; DIR is seen by all its nodes
 *         lock                         held by the rzrun that works here
 *         run-3/                       made by each run of the job, in turn
 *             generation-12.1/         number 12, written in epoch 1
 *                 piece-0 ... piece-7  one per rank: head (file_header.h), content
 *                 committed            the mark: all pieces are complete, and the generation
 *                                      was agreed on
 *
 * Nothing is ever overwritten: another run, epoch or number is another folder. A file gets its name
 * when its content is on disk; the mark is written when all pieces have their names. So wherever a
 * writer is killed, a generation is either complete or has no mark, and older ones are not touched.
 * Generations without a mark, and files without their final name (NAME.NODE.part), are removed by
 * the next run.
 *
 * Everything read is checked: its kind, its owner, and its content. All functions may block for as
 * long as the disk does, and may be called from any thread. *words is set whenever the result is
 * not RZ_OK: the error, with the path, for the user.
 */
#ifndef RZ_CKPT_FILE_H
#define RZ_CKPT_FILE_H

#include "ckpt/file_header.h"

#include <stdatomic.h>

#define RZ_CKPT_WORDS_MAX 512

struct rz_ckpt_words {
    char text[RZ_CKPT_WORDS_MAX];
};

/* The owner of the files. */
struct rz_ckpt_folder {
    const char *path; /* DIR/NAME */
    char name[RZ_CKPT_NAME_MAX];
    uint32_t n_ranks;
};

/* The content of a piece, in memory that the reader owns. */
struct rz_ckpt_content {
    int fd; /* a memfd of at least one byte */
    uint64_t bytes, hash;
};

/* A piece to write. */
struct rz_ckpt_piece {
    uint32_t rank;
    struct rz_ckpt_content content;
    const atomic_bool *stop; /* set by another thread: the writing ends */
};

/*
 * Makes the piece of a rank durable. node is for the temporary name. A piece that is there already
 * is left alone. RZ_ERR_CANCELLED: *stop was set meanwhile, or the content no longer matches its
 * hash (its process has continued); nothing of it is left then, and there is no message.
 * RZ_ERR_SYSTEM: a message.
 */
rz_status_t rz_ckpt_write(const struct rz_ckpt_folder *folder,
                          const struct rz_ckpt_generation *generation,
                          const struct rz_ckpt_piece *piece, uint32_t node,
                          struct rz_ckpt_words *words);

/* Makes the mark durable; all pieces are durable. Repeating it is harmless. */
rz_status_t rz_ckpt_commit(const struct rz_ckpt_folder *folder,
                           const struct rz_ckpt_generation *generation, uint32_t node,
                           struct rz_ckpt_words *words);

/*
 * Reads the piece of rank and checks all of it. RZ_ERR_NOT_FOUND: there is none; RZ_ERR_TRUNCATE,
 * RZ_ERR_MALFORMED, RZ_ERR_VERSION: truncated, damaged, of another version; RZ_ERR_INVALID: of
 * another job, run or generation; RZ_ERR_SYSTEM, RZ_ERR_NO_MEMORY. content NULL: only checks.
 */
rz_status_t rz_ckpt_read(const struct rz_ckpt_folder *folder,
                         const struct rz_ckpt_generation *generation, uint32_t rank,
                         struct rz_ckpt_content *content, struct rz_ckpt_words *words);

/* Whether the generation is committed and all its pieces are valid; else as rz_ckpt_read. */
rz_status_t rz_ckpt_verify(const struct rz_ckpt_folder *folder,
                           const struct rz_ckpt_generation *generation,
                           struct rz_ckpt_words *words);

/*
 * The generations that have a mark, newest first, whether their pieces are valid or not;
 * *generations is the caller's to free. A mark of another job, or of another number of ranks, is
 * RZ_ERR_INVALID, with a message that says what to do. A damaged mark counts as none. No folder: no
 * generations.
 */
rz_status_t rz_ckpt_list(const struct rz_ckpt_folder *folder,
                         struct rz_ckpt_generation **generations, uint32_t *n,
                         struct rz_ckpt_words *words);

/*
 * `newest` was just committed, after `before` (run 0: it is the first): keeps it and what was
 * committed up to `before`, `keep` (2 or more) generations in all. Generations committed between
 * the two belong to an abandoned branch; those older than newest without a mark will never have
 * one: both are removed. Other files stay. One that cannot be removed is an error, and does not
 * prevent the removal of others; this also holds for the functions below.
 */
rz_status_t rz_ckpt_prune(const struct rz_ckpt_folder *folder,
                          const struct rz_ckpt_generation *newest,
                          const struct rz_ckpt_generation *before, uint32_t keep,
                          struct rz_ckpt_words *words);

/* Removes a generation, mark first; none: RZ_OK. */
rz_status_t rz_ckpt_remove(const struct rz_ckpt_folder *folder,
                           const struct rz_ckpt_generation *generation,
                           struct rz_ckpt_words *words);

/* Removes what earlier runs left unfinished: generations without a mark, and empty runs. No other
 * process may work here. */
rz_status_t rz_ckpt_tidy(const struct rz_ckpt_folder *folder, struct rz_ckpt_words *words);

/* Makes the folder of a new run, whose number is greater than all before. */
rz_status_t rz_ckpt_begin_run(const struct rz_ckpt_folder *folder, uint32_t *run,
                              struct rz_ckpt_words *words);

/* Removes all our files, and the folder itself if nothing else is in it. */
rz_status_t rz_ckpt_remove_all(const struct rz_ckpt_folder *folder, struct rz_ckpt_words *words);

#endif
