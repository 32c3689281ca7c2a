/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keeper: the parent process of a daemon. Its only task is that no process or file of the node
 * is left behind. It adopts every orphan of the node, holds a pipe from rzrun, and kills the whole
 * process tree when the daemon has failed (the failure of a node), or when rzrun has gone and the
 * daemon has not ended in order within RZ_KEEPER_GRACE_MS.
 *
 * In a detached job (rz_keeper_detach) rzrun may go: then only the daemon's end or a signal to the
 * keeper ends the node's processes.
 *
 * Keeper and daemon are connected by the lifeline, a datagram pair. For the daemon its end means
 * one thing, to end in order: rzrun has gone, or the keeper was ordered to end or was killed.
 */
#ifndef RZ_DAEMON_KEEPER_H
#define RZ_DAEMON_KEEPER_H

#include "base/status.h"

#include <rhizome/types.h>

#define RZ_KEEPER_GRACE_MS 5000

/*
 * Forks. In the child it returns the child's end of the lifeline. In the parent it supervises the
 * child until the child's end and never returns; the parent's exit status is the daemon's, or 128 +
 * the signal that killed the daemon.
 *
 * alive_fd is a pipe or socket whose end means that rzrun has gone; the keeper alone keeps it.
 * other_fd and trace_fd (or -1) belong to the daemon and are closed in the keeper. Returns -1 after
 * an error, which was
 * printed.
 */
int rz_keeper_start(int alive_fd, int other_fd, int trace_fd);

/* For the daemon: tells the keeper that from now on rzrun may go without the end of the node. Like
 * the daemon, the keeper closes standard input, output and error. */
rz_status_t rz_keeper_detach(int lifeline_fd);

/* For the daemon: tells the keeper of a folder (scratch.h, preloaded.h) to remove when the node has
 * ended: path, of less than RZ_SCRATCH_PATH_MAX bytes. One daemon has at most
 * RZ_KEEPER_FOLDERS_MAX. */
#define RZ_KEEPER_FOLDERS_MAX 2
rz_status_t rz_keeper_folder(int lifeline_fd, const char *path);

/* For the daemon: asks the keeper to stop all processes of the node, including the daemon, and to
 * continue them after for_ns. */
rz_status_t rz_keeper_freeze(int lifeline_fd, rz_time for_ns);

#endif
