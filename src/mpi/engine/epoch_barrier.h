/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The barriers of an epoch: all processes stand at its start before any of them goes on, and all
 * want to leave it before any of them does. The daemons count (proto/recover).
 */
#ifndef RZ_MPI_EPOCH_BARRIER_H
#define RZ_MPI_EPOCH_BARRIER_H

/*
 * Stands at the start of the board's epoch, tells the daemon so and waits until all have come. A
 * newer epoch meanwhile restarts the wait. In MPI_Init and at a roll-back; everything of old epochs
 * has ended. MPI_SUCCESS.
 */
int rz_epoch_reach_start(void);

/* Tells the daemon that this process wants to leave its epoch, and waits for the others, in `call`:
 * MPI_SUCCESS or RZM_ROLLBACK. */
int rz_epoch_reach_end(const char *call);

#endif
