/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process is given when it joins: a watch slot, a lane, and three memories without names:
 * its inbox (whose first page is its doorbell), its doorbell's eventfd, its wait objects. The
 * daemon maps doorbell and waits only; it never reads an inbox.
 */
#ifndef RZ_DAEMON_SHARE_H
#define RZ_DAEMON_SHARE_H

#include "daemon/process/child.h"
#include "daemon/process/lanes.h"
#include "port/watch.h"

/* Nothing given yet. */
void rz_share_init(struct rz_child_share *share);

/* Lanes of a node of a job with so many slots: more than processes, for a lane is free again only
 * when all have closed what its owner had (lanes.h). */
uint32_t rz_share_lanes_max(uint32_t n_slots);

/* Makes everything for a process. After an error nothing is held, and *why (static text) says what
 * was missing. */
rz_status_t rz_share_make(struct rz_child *process, struct rz_watch *watch, struct rz_lanes *lanes,
                          const char **why);

/* The process was reaped. Its lane is not given back here. */
void rz_share_give_back(struct rz_child_share *share, struct rz_watch *watch);

#endif
