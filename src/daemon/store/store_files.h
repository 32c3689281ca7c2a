/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pieces of this node's ranks in files (--checkpoint-dir): when each is written, what that
 * allows, when a generation gets its mark, and how pieces are read back. ckpt/file.h describes the
 * files; store_writer.h writes them.
 *
 * Each daemon writes the pieces of its own ranks. It tells the marker, which is the lowest daemon
 * live by decision, of each that is durable. When all are durable and commit knows the generation,
 * the marker writes the mark and removes the generations that are too old.
 *
 * - With the scheme `file` a piece's file is its keeper: commit gets RZ_COMMIT_COPIED when the file
 *   is durable. If it cannot be written, the job ends: only what is in files is committed.
 *
 * - With another scheme commit does not wait for files. A process may overwrite the memory of
 *   generation g-1 only when the file of g-1 is written or given up (rz_store_files_bound). If a
 *   file cannot be written, its generation gets no mark; this is reported once, and the
 *   job goes on.
 *
 * With any scheme the marker tells its own processes that g is committed only when g-1 has its
 * mark, or will never have one. Before that none of them begins g+1, so no process commits g+1: the
 * newest mark is at most two generations behind the newest generation. (A marker without processes
 * delays none: this is the case if the lowest live node has no ranks.)
 *
 * Generations are numbered here as in commit, from 1 in each run of the job. For users, for
 * processes and in files the numbers continue those of earlier runs: rz_store_files_number.
 * Generation 0, "the beginning", is the one that rzrun has found to begin from, if there is one.
 *
 * A daemon without --checkpoint-dir has NULL for files, which every function accepts.
 */
#ifndef RZ_DAEMON_STORE_FILES_H
#define RZ_DAEMON_STORE_FILES_H

#include "daemon/store/store_config.h"

struct rz_store_files;

struct rz_store_files_host {
    void *arg;
    /* The piece of an own rank was read from its file; fd is taken over. */
    void (*came)(void *arg, uint32_t rank, uint64_t generation, int fd, uint64_t bytes,
                 uint64_t hash);
};

/* *files stays NULL if the job has no folder for files. */
rz_status_t rz_store_files_open(struct rz_store_files **files, const struct rz_store_config *config,
                                const struct rz_store_files_host *host);
void rz_store_files_close(struct rz_store_files *files);

/* An epoch begins, which rolls back to this generation: orders of the epoch before are dropped. To
 * be called before any other call of the epoch. */
void rz_store_files_epoch(struct rz_store_files *files, uint32_t epoch, uint64_t generation);

/* The piece of an own rank is here, complete, in the memfd fd (which stays the caller's): its file
 * is written, unless it exists. That of generation 0 exists. */
void rz_store_files_keep(struct rz_store_files *files, uint32_t rank, uint64_t generation, int fd,
                         uint64_t bytes, uint64_t hash);

/* Reads the piece of an own rank, of the generation to which the epoch rolls back. The host's
 * `came` gets it, or the daemon stops. */
void rz_store_files_fetch(struct rz_store_files *files, uint32_t rank, uint64_t generation);

/* Whether there is a file to begin from. */
bool rz_store_files_begins(const struct rz_store_files *files);

/* Commit knows that the generation exists. */
void rz_store_files_committed(struct rz_store_files *files, uint64_t generation);

/* The marker tells rzrun SAVED when the newest generation that it knows now has its mark or never
 * will; the other daemons remember the request, in case one of them becomes the marker. */
void rz_store_files_save(struct rz_store_files *files);

/* The newest generation, at most `upto`, of which processes here may be told that it is
 * committed. */
uint64_t rz_store_files_bound(const struct rz_store_files *files, uint64_t upto);

/* The number of a generation for users, processes and files. */
uint64_t rz_store_files_number(const struct rz_store_files *files, uint64_t generation);

#endif
