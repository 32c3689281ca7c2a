/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows the daemon how many messages this process has handed to its transports and has got, for
 * hang reports (link/pair_counts.h). Nothing is counted for this alone: the engine counts by slots
 * anyhow (engine/liveness.h).
 */
#ifndef RZ_MPI_UNDER_WAY_H
#define RZ_MPI_UNDER_WAY_H

#include <rhizome/types.h>

/* To be called before each sleep, and from time to time while a call waits without. */
void rz_under_way_show(rz_time now);

#endif
