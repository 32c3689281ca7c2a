/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the ranks of the job for snapshots of their memory (docs/unmodified.md), from time to time,
 * or because one of them wants one. The daemon of rank 0 tells all daemons, and each
 * writes the number of the wanted snapshot on its board. When the next one is wanted is the rule of
 * proto/snapshot/snapshot_pace.h: half of the time is the program's. How the ranks stop and save is
 * theirs (mpi/rewind); a request that a failure loses ends with the epoch.
 */
#ifndef RZ_DAEMON_SNAPSHOTS_H
#define RZ_DAEMON_SNAPSHOTS_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/input.h"
#include "daemon/process/link_router.h"
#include "daemon/state/board_writer.h"

struct rz_snapshots;

struct rz_snapshots_config {
    const struct rz_own_node *own;
    const struct rz_input *input;
    struct rz_children *children;
    struct rz_board_writer *board;
    struct rz_link_router *router;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
};

/* In a job without RZ_JOB_REWIND there is nothing to ask: *snapshots is NULL. */
rz_status_t rz_snapshots_open(struct rz_snapshots **snapshots,
                              const struct rz_snapshots_config *config);
void rz_snapshots_close(struct rz_snapshots *snapshots);

/* The job runs in this epoch: the time to the first snapshot of it counts. NULL: nothing. */
void rz_snapshots_run(struct rz_snapshots *snapshots, uint32_t epoch);

/* Which attempt of that epoch has made the images of that number, the one before the newest; 0: it
 * is not known here. NULL: 0. */
uint32_t rz_snapshots_attempt(const struct rz_snapshots *snapshots, uint32_t epoch,
                              uint64_t number);

/* The images of this number in epoch are committed, and no recovery chooses older ones: the time to
 * the next ones counts; tells rzrun how much of the output no rewind repeats, if it wants to know.
 * NULL: nothing. */
void rz_snapshots_committed(struct rz_snapshots *snapshots, uint32_t epoch, uint64_t number);

#endif
