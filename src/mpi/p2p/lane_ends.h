/*
 * Lanes of shared memory whose owners are gone: what this process had of them is closed, and the
 * daemon hears of it, so that the lanes may serve others (daemon/lanes.h).
 */
#ifndef RZ_MPI_LANE_ENDS_H
#define RZ_MPI_LANE_ENDS_H

#include <stdbool.h>

/* Registers for the daemon's messages. */
void rz_lane_ends_open(void);
void rz_lane_ends_close(void);

/* Whether there are lanes to be closed; rz_lane_ends_look is then to be called now and then. */
extern bool rz_lane_ends_wait;

/* Closes those whose owners are gone for this process, too: their failures were dealt with, or the
 * job has gone back to its restart point. Not from inside a callback of a transport. */
void rz_lane_ends_look(void);

#endif
