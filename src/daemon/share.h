/*
 * What a process is given when it joins: a watch slot, a lane, and three memories without names:
 * its inbox (whose first page is its doorbell), its doorbell's eventfd, its wait objects. The
 * daemon maps doorbell and waits only; it never reads an inbox.
 */
#ifndef RZ_DAEMON_SHARE_H
#define RZ_DAEMON_SHARE_H

#include "daemon/child.h"

/* Nothing given yet. */
void rz_share_init(struct rz_child_share *share);

/* Lanes of a node with n_ranks in the job: each incarnation that joins uses up one, for ever. */
uint32_t rz_share_lanes_max(uint32_t n_ranks);

/* Makes everything; *next_lane is used up. After an error nothing is held, and *why (static text)
 * says what was missing. */
rz_status_t rz_share_make(struct rz_child_share *share, struct rz_watch *watch, uint32_t *next_lane,
                          uint32_t n_ranks, const char **why);

/* The process was reaped. */
void rz_share_give_back(struct rz_child_share *share, struct rz_watch *watch);

#endif
