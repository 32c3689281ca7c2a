/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's part in `--detector flat`, where the processes of the job observe one another
 * (mpi/flat/flat.h). The daemon gives each process that joins a socket, tells all nodes the
 * socket's port, and is the failure arbiter of what the processes find.
 *
 * A process that others find silent is reported to its own daemon, because only that daemon knows
 * whether the process has left in order. If it has not, the daemon ends it, and its failure is like
 * any other. If the daemon sends nothing for an hb_timeout after the report, it is considered
 * failed with its node.
 */
#ifndef RZ_DAEMON_ARBITER_H
#define RZ_DAEMON_ARBITER_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/child_life.h"
#include "daemon/process/link_router.h"
#include "daemon/recovery/recovery.h"
#include "daemon/state/board_writer.h"

struct rz_arbiter;

struct rz_arbiter_config {
    const struct rz_own_node *own;
    struct rz_children *children;
    struct rz_link_router *router;
    struct rz_board_writer *board;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
    struct rz_recovery *recovery;
};

/* *arbiter stays NULL if the job has another detector, or none. */
rz_status_t rz_arbiter_open(struct rz_arbiter **arbiter, const struct rz_arbiter_config *config);
void rz_arbiter_close(struct rz_arbiter *arbiter); /* NULL: nothing */

/*
 * A process joins. *fd is the socket for its datagrams; it belongs to the caller and is sent to the
 * process with WELCOME, together with the key of all processes of the job. *fd is -1 if the job
 * needs no socket (arbiter NULL). After an error the process has no socket, and would be found
 * silent.
 */
rz_status_t rz_arbiter_join(const struct rz_arbiter *arbiter, struct rz_child *process,
                            uint8_t key[RZ_JOB_KEY_BYTES], int *fd);

#endif
