/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lanes of a node: which process uses which lane, and which lanes are free. A lane is a number:
 * each process that joins sends through its own lane, to every inbox of the node (net/shm/shm.h).
 *
 *   FREE -> USED          a process joins
 *        -> ENDED         the process was reaped
 *        -> ASKING        nothing writes to the lane any more: each process that was live then is
 *                         asked to close its part of it (LANE_OVER)
 *        -> FREE          all have answered (LANE_CLOSED), or have left or ended themselves
 *
 * A process that joins later need not be asked: the former owner had failed before, and the process
 * was never told how to reach it. A process that computes for long answers late; until then the
 * lane is not used. If the end of an owner cannot be seen (another pid namespace), its lane is
 * never free again.
 *
 * This module only keeps the states; child_life.c sends the messages and passes on the answers.
 */
#ifndef RZ_DAEMON_LANES_H
#define RZ_DAEMON_LANES_H

#include "base/status.h"

#include <rhizome/types.h>

#include <sys/types.h>

struct rz_lanes;

rz_status_t rz_lanes_open(struct rz_lanes **lanes, uint32_t n);
void rz_lanes_close(struct rz_lanes *lanes);

/* Gives the lowest free lane to a process; false: there is none. */
bool rz_lanes_take(struct rz_lanes *lanes, uint32_t rank, uint32_t incarnation, uint32_t *lane);

/* The owner was reaped, or never got the lane. writer: the process that wrote to it; 0 if it is
 * known to have ended, -1 if that cannot be seen. */
void rz_lanes_ended(struct rz_lanes *lanes, uint32_t lane, pid_t writer);

/* The next lane, from *lane on, whose owner has ended and whose writer has gone: the caller asks
 * the processes (rz_lanes_ask for each, then rz_lanes_asked). False: there is none. */
bool rz_lanes_next_over(const struct rz_lanes *lanes, uint32_t *lane, uint32_t *rank,
                        uint32_t *incarnation);
void rz_lanes_ask(struct rz_lanes *lanes, uint32_t lane, uint32_t asked);
void rz_lanes_asked(struct rz_lanes *lanes, uint32_t lane);

/* The process with the lane `asked` has closed its part of lane. False: it was not asked to. */
bool rz_lanes_closed(struct rz_lanes *lanes, uint32_t lane, uint32_t rank, uint32_t incarnation,
                     uint32_t asked);

/* The process with the lane `asked` has left or ended: its answers are not waited for any more. */
void rz_lanes_left(struct rz_lanes *lanes, uint32_t asked);

#endif
