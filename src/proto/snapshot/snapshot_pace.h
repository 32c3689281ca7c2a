/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the next snapshot begins. One disturbs the program from the moment at which it is wanted
 * until its images are committed. By then each rank has stored its image, also the last one, and
 * has gone on; and the daemons have brought the copies to other nodes, which takes processors and
 * networks away from ranks that share them. The next one is wanted
 *
 *   - as long after that as this one has disturbed the program, or later: at least half of the time
 *     is the program's alone, whatever was asked for;
 *   - and no sooner than `every` after the end of the attempt, the time that was asked for.
 *
 * An attempt without images commits nothing, and only the rank that ends it first is heard of. The
 * message that ends it takes one way of those that it took to decide (snapshot.h: the contributions
 * come up the tree, the end goes down), so the last rank goes on after at most twice the time;
 * three times that time, counted from the beginning, gives it as much for itself.
 *
 * Pure: each call is told the time. An object counts for one epoch, at the daemon that asks.
 */
#ifndef RZ_PROTO_SNAPSHOT_PACE_H
#define RZ_PROTO_SNAPSHOT_PACE_H

#include <rhizome/types.h>

#include <stdbool.h>

struct rz_snapshot_pace {
    rz_time every; /* 0: none by time, and never due */
    rz_time begun; /* the last one */
    rz_time earliest;
    bool under_way;
    uint64_t awaited;   /* images of that number are not committed yet; 0: none are awaited */
    uint64_t committed; /* the newest number that is */
};

/* The first one is due `every` from now. */
void rz_snapshot_pace_init(struct rz_snapshot_pace *pace, rz_time every, rz_time now);

/* All ranks are asked for one. */
void rz_snapshot_pace_begins(struct rz_snapshot_pace *pace, rz_time now);

/* It has ended at a rank, whose image has this number; 0: there is none. */
void rz_snapshot_pace_ends(struct rz_snapshot_pace *pace, uint64_t number, rz_time now);

/* The images of this number, and those before, are committed. */
void rz_snapshot_pace_commits(struct rz_snapshot_pace *pace, uint64_t number, rz_time now);

/* RZ_TIME_NEVER: not before one of the calls above. */
rz_time rz_snapshot_pace_due(const struct rz_snapshot_pace *pace);

#endif
