/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of snapshots (docs/protocols/snapshot.md), as predicates over the states of a group
 * and over the messages of its program. Each returns whether the property holds, and else writes
 * the reason to group->why.
 */
#ifndef RZ_PROTO_SNAPSHOT_CHECK_H
#define RZ_PROTO_SNAPSHOT_CHECK_H

#include "proto/check.h"
#include "proto/snapshot/snapshot.h"

/* The program of a member, at one moment: now, or in its image. Message k of a pair of members is
 * bit k of a word. */
struct rz_snapshot_program {
    uint32_t attempt;          /* image: of which attempt; 0: none */
    bool busy;                 /* something is under way that no message ends */
    const uint64_t *sent;      /* [n_members]: to each member */
    const uint64_t *delivered; /* [n_members]: from each member */
};

/* S8-1 a member leaves an attempt only when all have started it, and without a refusal only when
 * all have saved; S8-2 one outcome of an attempt. After any step. */
bool rz_snapshot_check(const struct rz_check_group *group);

/* S8-3 from the first QUIET of an attempt to its first ENDED no member is busy, and no message is
 * in flight, until a member fails. now: [n_members]. After any step. */
bool rz_snapshot_check_quiet(const struct rz_check_group *group,
                             const struct rz_snapshot_program *now);

/* S8-4 the images of an attempt are a consistent cut with empty channels: no message in the image
 * of its receiver alone (orphan) or of its sender alone (lost). images: [n_members]. After any
 * step. */
bool rz_snapshot_check_cut(const struct rz_check_group *group,
                           const struct rz_snapshot_program *images);

/* L8-1 every member has ended `attempts` attempts. At quiescence, if none failed. */
bool rz_snapshot_check_liveness(const struct rz_check_group *group, uint32_t attempts);

#endif
