/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The barriers of an epoch: no process passes its start before all have reached it, and no process
 * leaves the epoch before all want to leave it. The daemons count (proto/recover).
 */
#ifndef RZ_MPI_EPOCH_BARRIER_H
#define RZ_MPI_EPOCH_BARRIER_H

/*
 * Enters the epoch of the board, reports to the daemon that this process is at its start, and waits
 * until all are. A newer epoch meanwhile restarts the wait. Called in MPI_Init and at a roll-back,
 * when all that belongs to old epochs has ended. MPI_SUCCESS.
 */
int rz_epoch_reach_start(void);

/* Reports to the daemon that this process wants to leave its epoch, and waits for the other
 * processes, in `call`: MPI_SUCCESS or RZM_ROLLBACK. */
int rz_epoch_reach_end(const char *call);

#endif
