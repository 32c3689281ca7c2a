/*
 * Checkpoints in files: the folder of a job, and what lies in it.
 *
 *     DIR/NAME/                        of the job NAME; DIR is seen by all its nodes
 *         lock                         held by the rzrun that works here
 *         run-3/                       made by each run of the job, in turn
 *             generation-12.1/         number 12, written in epoch 1
 *                 piece-0 ... piece-7  one per rank: head (file_header.h), content
 *                 committed            the mark: all pieces are whole, and the generation was
 * agreed on
 *
 * Nothing is ever overwritten: another run, epoch or number is another folder. A file gets its name
 * when its content is on the disk; the mark comes when all pieces have theirs. So whatever ends
 * whoever writes, wherever, a generation is either whole or has no mark, and older ones are not
 * touched. What has no mark, and files without their final name (NAME.NODE.part), are removed by
 * the next run.
 *
 * Everything read is checked: what it is, whose, and its content. All functions may block for as
 * long as the disk does, and may be called from any thread. *words is set whenever the result is
 * not RZ_OK: what was wrong, with the path, for the user.
 */
#ifndef RZ_CKPT_FILE_H
#define RZ_CKPT_FILE_H

#include "ckpt/file_header.h"

#include <stdatomic.h>

#define RZ_CKPT_WORDS_MAX 512

struct rz_ckpt_words {
    char text[RZ_CKPT_WORDS_MAX];
};

/* Whose files they are. */
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

/*
 * Makes the piece of rank durable: bytes of the memfd `fd`, whose hash is `hash`. node is for the
 * name it has until then. A piece that is there already is left alone. RZ_ERR_CANCELLED: *stop was
 * set meanwhile, or the content is no more what its hash says (its process has gone on); nothing is
 * left of it then, and there are no words. RZ_ERR_SYSTEM: words.
 */
rz_status_t rz_ckpt_write(const struct rz_ckpt_folder *folder,
                          const struct rz_ckpt_generation *generation, uint32_t rank, uint32_t node,
                          int fd, uint64_t bytes, uint64_t hash, const atomic_bool *stop,
                          struct rz_ckpt_words *words);

/* Makes the mark durable; all pieces are. Repeating it is harmless. */
rz_status_t rz_ckpt_commit(const struct rz_ckpt_folder *folder,
                           const struct rz_ckpt_generation *generation, uint32_t node,
                           struct rz_ckpt_words *words);

/*
 * Reads the piece of rank and checks all of it. RZ_ERR_NOT_FOUND: there is none; RZ_ERR_TRUNCATE,
 * RZ_ERR_MALFORMED, RZ_ERR_VERSION: cut, damaged, of another version; RZ_ERR_INVALID: of another
 * job, run or generation; RZ_ERR_SYSTEM, RZ_ERR_NO_MEMORY. content NULL: only checks.
 */
rz_status_t rz_ckpt_read(const struct rz_ckpt_folder *folder,
                         const struct rz_ckpt_generation *generation, uint32_t rank,
                         struct rz_ckpt_content *content, struct rz_ckpt_words *words);

/* Whether the generation is committed and every piece of it is good; else as rz_ckpt_read. */
rz_status_t rz_ckpt_verify(const struct rz_ckpt_folder *folder,
                           const struct rz_ckpt_generation *generation,
                           struct rz_ckpt_words *words);

/*
 * The generations that have a mark, newest first, whether their pieces are good or not;
 * *generations is the caller's to free. A mark of another job, or of another number of ranks, is
 * RZ_ERR_INVALID, with words that say what to do. A damaged mark is no mark. No folder: none.
 */
rz_status_t rz_ckpt_list(const struct rz_ckpt_folder *folder,
                         struct rz_ckpt_generation **generations, uint32_t *n,
                         struct rz_ckpt_words *words);

/*
 * `newest` was just committed, after `before` (run 0: it is the first): keeps it and what was
 * committed up to `before`, `keep` (2 or more) generations in all. What was committed between the
 * two is on no way that the job went; what is older than newest and has no mark will never have
 * one: both go. Files that are not ours stay. One that cannot be removed is an error, and keeps no
 * other one; so it is with those below.
 */
rz_status_t rz_ckpt_prune(const struct rz_ckpt_folder *folder,
                          const struct rz_ckpt_generation *newest,
                          const struct rz_ckpt_generation *before, uint32_t keep,
                          struct rz_ckpt_words *words);

/* Removes a generation, mark first; none: RZ_OK. */
rz_status_t rz_ckpt_remove(const struct rz_ckpt_folder *folder,
                           const struct rz_ckpt_generation *generation,
                           struct rz_ckpt_words *words);

/* Removes what earlier runs left unfinished: generations without a mark, and empty runs. Nobody
 * else may be at work here. */
rz_status_t rz_ckpt_tidy(const struct rz_ckpt_folder *folder, struct rz_ckpt_words *words);

/* Makes the folder of a new run, whose number is greater than all before. */
rz_status_t rz_ckpt_begin_run(const struct rz_ckpt_folder *folder, uint32_t *run,
                              struct rz_ckpt_words *words);

/* Removes everything of ours, the folder itself, too, if nothing else lies in it. */
rz_status_t rz_ckpt_remove_all(const struct rz_ckpt_folder *folder, struct rz_ckpt_words *words);

#endif
