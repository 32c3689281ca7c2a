/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lanes of a node: which of them serves which process, and which may serve another. A lane is a
 * number: each process that joins sends through its own, to every inbox of the node
 * (net/shm/shm.h).
 *
 *   FREE -> USED          a process joins
 *        -> ENDED         it was reaped
 *        -> ASKING        nobody writes there any more: each process that lived then is asked to
 *                         close what it has of it (LANE_OVER)
 *        -> FREE          all have answered (LANE_CLOSED), or have left or ended themselves
 *
 * A process that joins later need not be asked: the old owner had failed before, and was never told
 * how to reach it. One that computes for long answers late: until then the lane serves nobody. An
 * owner whose end cannot be seen (another pid namespace) keeps its lane for ever.
 *
 * This is the book of it and no more: child.c sends, and says what it has heard.
 */
#ifndef RZ_DAEMON_LANES_H
#define RZ_DAEMON_LANES_H

#include "base/status.h"

#include <rhizome/types.h>

#include <sys/types.h>

struct rz_lanes;

rz_status_t rz_lanes_open(struct rz_lanes **lanes, uint32_t n);
void rz_lanes_close(struct rz_lanes *lanes);

/* The lowest free lane goes to a process; false: there is none. */
bool rz_lanes_take(struct rz_lanes *lanes, uint32_t rank, uint32_t incarnation, uint32_t *lane);

/* Its owner was reaped, or never got it. writer: the process that wrote there, 0 when that is known
 * to be gone, -1 when nobody can see whether it is. */
void rz_lanes_ended(struct rz_lanes *lanes, uint32_t lane, pid_t writer);

/* The next lane, from *lane on, whose owner has ended and whose writer is gone: now processes are
 * to be asked (rz_lanes_ask for each, then rz_lanes_asked). False: there is none. */
bool rz_lanes_next_over(const struct rz_lanes *lanes, uint32_t *lane, uint32_t *rank,
                        uint32_t *incarnation);
void rz_lanes_ask(struct rz_lanes *lanes, uint32_t lane, uint32_t asked);
void rz_lanes_asked(struct rz_lanes *lanes, uint32_t lane);

/* The process with the lane `asked` has closed what it had of lane. False: nobody has asked it. */
bool rz_lanes_closed(struct rz_lanes *lanes, uint32_t lane, uint32_t rank, uint32_t incarnation,
                     uint32_t asked);

/* That process has left or ended: nothing is waited for from it any more. */
void rz_lanes_left(struct rz_lanes *lanes, uint32_t asked);

#endif
