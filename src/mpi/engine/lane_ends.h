/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes in shared memory whose owners are gone. This process closes its ends of them and tells the
 * daemon, so that the lanes may serve other processes (daemon/process/lanes.h).
 */
#ifndef RZ_MPI_LANE_ENDS_H
#define RZ_MPI_LANE_ENDS_H

/* Registers for the daemon's messages. */
void rz_lane_ends_open(void);
void rz_lane_ends_close(void);

/*
 * Closes the lanes whose owners are gone for this process, too: their failures were dealt with, or
 * the job has rolled back. The work RZ_WORK_LANES: not called from inside a callback of a
 * transport. Returns 0.
 */
unsigned rz_lane_ends_look(void);

#endif
