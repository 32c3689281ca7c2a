/*
 * Checkpoint pieces held by the daemon: of its own processes, and as buddy of others. A piece is a
 * memfd, so it outlives the process that wrote it. What may be overwritten, who holds what, and
 * when a generation exists is decided by the protocol core `commit`; this module moves and keeps
 * the bytes.
 */
#ifndef RZ_DAEMON_STORE_H
#define RZ_DAEMON_STORE_H

#include "base/status.h"
#include "wire/link_messages.h"

#include <rhizome/types.h>

struct rz_recovery;

/* In PIECE, where a node stands: it came from none. */
#define RZ_STORE_FROM_FILE RZ_ID_NONE
#define RZ_STORE_FROM_PARITIES (RZ_ID_NONE - 1)

/*
 * STORE of a process of this node: its piece of the next generation is whole in fd (taken over).
 * Stale epochs are dropped. False: a process that keeps the rules does not say so: it is not the
 * next generation, was stored already, or fd holds less than it says.
 */
bool rz_store_piece(struct rz_recovery *recovery, uint32_t rank, const struct rz_link_store *store,
                    int fd);

/* WANT_PIECE: answers with PIECE, by rz_daemon_link_send (daemon.h), now or when the piece has
 * come. */
void rz_store_want(struct rz_recovery *recovery, uint32_t rank, uint32_t epoch);

#endif
