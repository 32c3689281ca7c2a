/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes of shared memory whose owners are gone: what this process had of them is closed, and the
 * daemon hears of it, so that the lanes may serve others (daemon/process/lanes.h).
 */
#ifndef RZ_MPI_LANE_ENDS_H
#define RZ_MPI_LANE_ENDS_H

/* Registers for the daemon's messages. */
void rz_lane_ends_open(void);
void rz_lane_ends_close(void);

/* Closes those whose owners are gone for this process, too: their failures were dealt with, or the
 * job has gone back to its restart point. The work
 * RZ_WORK_LANES: not from inside a callback of a transport. Returns 0. */
unsigned rz_lane_ends_look(void);

#endif
