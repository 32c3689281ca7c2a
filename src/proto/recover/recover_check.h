/* The properties of recover, to be asked after every step of any member. States: struct rz_recover.
 */
#ifndef RZ_PROTO_RECOVER_CHECK_H
#define RZ_PROTO_RECOVER_CHECK_H

#include "proto/check.h"

/*
 * Members alive that have seen equally many decisions have the same epoch, phase, generation,
 * placement, incarnations, failed, spawns and refusals (S7-5, S7-6). No member alive is ahead of
 * another by more than one decision, so that this compares all.
 */
bool rz_recover_check_uniform(const struct rz_check_group *group);

/*
 * The world is whole (S7-1): each rank of a job that repairs itself lies on a daemon that is not
 * failed by decision, also with the incarnation that its failures ask for; and no daemon is crowded
 * while another has a free slot (S7-6), provided that the launcher's placement was not and nobody
 * was spawned without an epoch: spawns count the living only.
 */
bool rz_recover_check_world(const struct rz_check_group *group);

/*
 * Spawns at each member: a slot is empty exactly where it has no daemon; the rank's slots never
 * are; a spawned process's slot was free before it, so that no process is ahead of the failures by
 * more than one incarnation; what is refused was not spawned; cohorts got slots behind the ranks
 * only.
 */
bool rz_recover_check_spawns(const struct rz_check_group *group);

/* What a member counts as open, from the few slots and daemons it looks at, is what a pass over all
 * of them finds. */
bool rz_recover_check_open(const struct rz_check_group *group);

/* At the end, when nothing moves any more: all members alive that were not told to stop stand in
 * the same epoch and phase, no failure and no wanted spawn is left unsettled and no contribution
 * undecided. */
bool rz_recover_check_settled(const struct rz_check_group *group);

#endif
