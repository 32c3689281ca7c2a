/* SPDX-License-Identifier: BSD-3-Clause */
/* The properties of recover, to be checked after every step of any member. States: struct
 * rz_recover. */
#ifndef RZ_PROTO_RECOVER_CHECK_H
#define RZ_PROTO_RECOVER_CHECK_H

#include "proto/check.h"

/*
 * Living members that have seen equally many decisions have the same epoch, phase, generation,
 * placement, incarnations, failures, spawns and refusals (S7-5, S7-6). No living member is ahead of
 * another by more than one decision, so this compares all.
 */
bool rz_recover_check_uniform(const struct rz_check_group *group);

/*
 * The world is complete (S7-1): each rank of a job that repairs itself is placed on a daemon that
 * is not failed by decision, with the incarnation that follows from its failures; and no daemon
 * exceeds its slots while another has a free one (S7-6), provided that the launcher's placement did
 * not and no process was spawned without an epoch, because spawns count living processes only.
 */
bool rz_recover_check_world(const struct rz_check_group *group);

/*
 * Spawns at each member: a slot is empty iff it has no daemon; the slots of the launcher's ranks
 * never are; the slot of a spawned process was free before, so that no process is ahead of the
 * failures by more than one incarnation; a refused spawn has not happened; cohorts got slots behind
 * the ranks only.
 */
bool rz_recover_check_spawns(const struct rz_check_group *group);

/* The open work that a member counts from the few slots and daemons that it examines equals the
 * result of a pass over all of them. */
bool rz_recover_check_open(const struct rz_check_group *group);

/* At the end, when no message is in flight: all living members that were not told to stop are in
 * the same epoch and phase, no failure and no requested spawn is unsettled and no contribution
 * undecided. */
bool rz_recover_check_settled(const struct rz_check_group *group);

#endif
