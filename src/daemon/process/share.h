/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process is given when it joins: a watch slot, a lane, and memories without names: its
 * inbox (whose first page is its doorbell) and its wait objects, beside the eventfd of the
 * doorbell. The daemon maps only the doorbell and the wait objects; it never reads an inbox.
 */
#ifndef RZ_DAEMON_SHARE_H
#define RZ_DAEMON_SHARE_H

#include "daemon/process/child.h"
#include "daemon/process/lanes.h"
#include "port/watch.h"

/* Sets the share to nothing. */
void rz_share_init(struct rz_child_share *share);

/* The number of lanes of a node, for a job with n_slots slots: more than processes, because a lane
 * is free again only when all have closed their part of it (lanes.h). */
uint32_t rz_share_lanes_max(uint32_t n_slots);

/* Makes everything for a process. After an error nothing is held, and *why (static text) says what
 * was missing. */
rz_status_t rz_share_make(struct rz_child *process, struct rz_watch *watch, struct rz_lanes *lanes,
                          const char **why);

/* The process was reaped. Its lane is released elsewhere (lanes.h). */
void rz_share_give_back(struct rz_child_share *share, struct rz_watch *watch);

#endif
