/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keeper: the parent of a daemon, which owns nothing but the duty that nothing is left behind.
 * It adopts every orphan of the node, holds a pipe from rzrun, and kills the whole tree when the
 * daemon has failed (the failure of a node) or when rzrun has gone and the daemon has not ended in
 * order within RZ_KEEPER_GRACE_MS.
 *
 * In a detached job (rz_keeper_detach) rzrun may go: nothing but the daemon's end, or a signal to
 * the keeper, clears the node then.
 *
 * Between keeper and daemon lies the lifeline, a datagram pair. Its end, as the daemon sees it,
 * means one thing: end in order (rzrun is gone, the keeper was told to end, or the keeper itself
 * was killed).
 */
#ifndef RZ_DAEMON_KEEPER_H
#define RZ_DAEMON_KEEPER_H

#include "base/status.h"

#include <rhizome/types.h>

#define RZ_KEEPER_GRACE_MS 5000

/*
 * Forks. In the child: returns its end of the lifeline. In the parent: keeps the child until its
 * end and never returns; the exit status is the daemon's, or 128 + the signal that killed it.
 * alive_fd: a pipe or socket whose end means that rzrun is gone; kept by the keeper alone.
 * other_fd: the daemon's, closed in the keeper. -1 after an error, which was printed.
 */
int rz_keeper_start(int alive_fd, int other_fd);

/* Daemon: tells the keeper that rzrun may go from now on without the node's end. Like the daemon it
 * lets go of standard input, output and error. */
rz_status_t rz_keeper_detach(int lifeline_fd);

/* Daemon: tells the keeper which folder (scratch.h) it shall remove when the node has ended. */
rz_status_t rz_keeper_scratch(int lifeline_fd, const char *path);

/* Daemon: asks the keeper to stop every process of the node, the daemon included, and to continue
 * them after for_ns. */
rz_status_t rz_keeper_freeze(int lifeline_fd, rz_time for_ns);

#endif
