/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out on this node what was agreed about where processes run: the membership's slots and
 * the board's words.
 */
#ifndef RZ_DAEMON_PLACEMENT_H
#define RZ_DAEMON_PLACEMENT_H

#include "daemon/recovery/recovery.h"
#include "daemon/service/groups.h"
#include "daemon/state/board_writer.h"

struct rz_placement;

struct rz_placement_config {
    struct rz_own_node *own;
    struct rz_board_writer *board;
    struct rz_groups *groups;
    struct rz_recovery *recovery;
};

rz_status_t rz_placement_open(struct rz_placement **placement,
                              const struct rz_placement_config *config);
void rz_placement_close(struct rz_placement *placement); /* NULL: nothing */

/* Takes over the slot's process of the new epoch: its place, and the board's word. Does not
 * publish. */
void rz_placement_take(struct rz_placement *placement, uint32_t slot);

/* Takes over a process that was spawned by decision, in the same way. False: it is older than the
 * slot's newest incarnation. */
bool rz_placement_spawn(struct rz_placement *placement, uint32_t slot, uint32_t incarnation,
                        bool replaces);

/* ---- subscribers of the membership: the board's words, then its doorbells ---- */

void rz_placement_node_failed(void *placement, rz_id node, bool proof, bool first);
void rz_placement_process_failed(void *placement, uint32_t slot, uint32_t incarnation,
                                 enum rz_end end);

#endif
