/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoint pieces held by the daemon: of its own processes, and as buddy of others. A piece is a
 * memfd, so it outlives the process that wrote it. What may be overwritten, who holds what, and
 * when a generation exists is decided by the protocol core `commit`; this module moves and keeps
 * the bytes. Messages of processes and of other daemons about pieces come here by the routers.
 */
#ifndef RZ_DAEMON_STORE_H
#define RZ_DAEMON_STORE_H

#include "daemon/store/store_config.h"

struct rz_store;

rz_status_t rz_store_open(struct rz_store **store, const struct rz_store_config *config);
void rz_store_close(struct rz_store *store); /* NULL: nothing */

/* commit said RESTORE: keep only generation, get and protect the pieces of our ranks. */
void rz_store_restore(struct rz_store *store, uint32_t epoch, uint64_t generation);

/* Generations before the first of this epoch: processes count their checkpoints from 1 in each
 * epoch. */
uint64_t rz_store_base(const struct rz_store *store);

/* The barrier of the epoch has opened, and commit knows it. */
void rz_store_opened(struct rz_store *store);

/* Commit knows that the generation exists. */
void rz_store_committed(struct rz_store *store, uint64_t generation);

/* Up to which generation, at most `upto`, processes here may be told that theirs are committed. */
uint64_t rz_store_bound(const struct rz_store *store, uint64_t upto);

/* What a generation is called outside. */
uint64_t rz_store_number(const struct rz_store *store, uint64_t generation);

/* The queue towards a peer has room again. */
void rz_store_writable(struct rz_store *store, rz_id peer);

/* Subscriber of the membership: what is on its way to that node is not needed any more. */
void rz_store_node_failed(void *store, rz_id node, bool proof, bool first);

#endif
