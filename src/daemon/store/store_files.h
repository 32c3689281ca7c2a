/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pieces of this node's ranks in files (--checkpoint-dir): which are written when, what their
 * being there allows, when a generation gets its mark, and reading them back. The files themselves:
 * ckpt/file.h; who writes them: store_writer.h.
 *
 * Each daemon writes the pieces of its own ranks, and tells the marker, the lowest daemon that
 * lives by decision, of each that is durable. When all are, and commit knows the generation, the
 * marker writes the mark and removes what is too old.
 *
 * - With the scheme `file` a piece's file is its keeper: commit hears RZ_COMMIT_COPIED when it is
 *   durable. If it cannot be written, the job ends: what is committed is in files, and only that.
 * - With another scheme commit does not wait for files. A process may overwrite the memory of
 *   generation g-1 only when its file is done with (rz_store_files_bound). If one cannot be
 * written, that generation has no mark; it is said once, and the job goes on.
 *
 * With any scheme the marker tells its own processes that g is committed only when g-1 has its
 * mark, or will never have one. None of them begins g+1 before, so g+1 is committed nowhere before:
 * what has a mark is two generations behind the newest at most. (A marker without processes holds
 * nobody: where a node that has none is the lowest one alive.)
 *
 * Generations here are numbered as commit counts them, from 1 in each run of the job. To users, to
 * processes and in files they go on from those of earlier runs: rz_store_files_number. Generation
 * 0, "the beginning", is what rzrun has found to go on from, if anything.
 *
 * A daemon without --checkpoint-dir has NULL for files; every function takes it.
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

/* *files stays NULL where the job has no folder. */
rz_status_t rz_store_files_open(struct rz_store_files **files, const struct rz_store_config *config,
                                const struct rz_store_files_host *host);
void rz_store_files_close(struct rz_store_files *files);

/* An epoch begins, which goes back to this generation: orders of the one before are dropped.
 * Before any other call of the epoch. */
void rz_store_files_epoch(struct rz_store_files *files, uint32_t epoch, uint64_t generation);

/* The piece of an own rank lies here, whole, in the memfd fd (stays the caller's): it is written,
 * unless it is there. Generation 0 is there. */
void rz_store_files_keep(struct rz_store_files *files, uint32_t rank, uint64_t generation, int fd,
                         uint64_t bytes, uint64_t hash);

/* The piece of an own rank, of the generation that the epoch goes back to, is to be read: it comes
 * by the host's `came`, or the daemon stops. */
void rz_store_files_fetch(struct rz_store_files *files, uint32_t rank, uint64_t generation);

/* Whether there is a file to begin from instead of nothing. */
bool rz_store_files_begins(const struct rz_store_files *files);

/* Commit knows that the generation exists. */
void rz_store_files_committed(struct rz_store_files *files, uint64_t generation);

/* Up to which generation, at most `upto`, processes here may be told that theirs are committed. */
uint64_t rz_store_files_bound(const struct rz_store_files *files, uint64_t upto);

/* What a generation is called outside. */
uint64_t rz_store_files_number(const struct rz_store_files *files, uint64_t generation);

#endif
