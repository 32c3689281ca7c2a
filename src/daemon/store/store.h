/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checkpoint pieces that a daemon holds: those of its own processes, and copies or parities for
 * other daemons. A piece is a memfd, so it survives the process that wrote it. The protocol core
 * `commit` decides what may be overwritten, which daemon holds what, and when a generation exists;
 * this module moves and keeps the bytes. Messages of processes and of other daemons about pieces
 * arrive here by the routers.
 */
#ifndef RZ_DAEMON_STORE_H
#define RZ_DAEMON_STORE_H

#include "daemon/store/store_config.h"

struct rz_store;

rz_status_t rz_store_open(struct rz_store **store, const struct rz_store_config *config);
void rz_store_close(struct rz_store *store); /* NULL: nothing */

/* Called at commit's notice RESTORE: keeps only this generation, and fetches and protects the
 * pieces of our ranks. */
void rz_store_restore(struct rz_store *store, uint32_t epoch, uint64_t generation);

/* The number of generations before the first one of this epoch: processes count their checkpoints
 * from 1 in each epoch. */
uint64_t rz_store_base(const struct rz_store *store);

/* The process was given its image and cannot continue from it. All ranks go back to the images
 * before, or to the start of the program; with files the job ends, and rzrun continues from older
 * ones. Ignored if the process was given no image, or is at the start of the epoch already. */
void rz_store_unrestored(struct rz_store *store, struct rz_child *process, const char *why);

/* The barrier of the epoch has opened, and commit knows it. */
void rz_store_opened(struct rz_store *store);

/* Commit knows that the generation exists. */
void rz_store_committed(struct rz_store *store, uint64_t generation);

/* rzrun wants the newest generation to be in files before it ends the job: it is told SAVED, by one
 * of the daemons, when this is so, or when the generation cannot be written. */
void rz_store_save(struct rz_store *store);

/* The newest generation, at most `upto`, of which processes here may be told that it is
 * committed. */
uint64_t rz_store_bound(const struct rz_store *store, uint64_t upto);

/* Bytes of the pieces of this node's ranks, of that generation. */
uint64_t rz_store_bytes(const struct rz_store *store, uint64_t generation);

/* The number of a generation for users, processes and files. */
uint64_t rz_store_number(const struct rz_store *store, uint64_t generation);

/* The queue to a peer has room again. */
void rz_store_writable(struct rz_store *store, rz_id peer);

/* Subscriber of the membership: transfers to that node are dropped. */
void rz_store_node_failed(void *store, rz_id node, bool proof, bool first);

#endif
