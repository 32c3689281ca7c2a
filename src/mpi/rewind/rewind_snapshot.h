/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Snapshots: all ranks stop, no message is in flight, each saves an image of its memory, all go on
 * (docs/unmodified.md, proto/snapshot). The daemons ask for them on the board; each rank stops at
 * its next safe point, which is the beginning of a call or inside a call that waits.
 */
#ifndef RZ_MPI_REWIND_SNAPSHOT_H
#define RZ_MPI_REWIND_SNAPSHOT_H

#include "mpi/engine/hooks.h"

#include <stdbool.h>

/* MPI_Init: from now on this process takes part. */
void rz_snapshots_enter(void);

/* As long as it has been forbidden more often than allowed, each snapshot is refused. */
void rz_snapshots_forbid(bool forbid);

extern const struct rz_hooks rz_snapshot_hooks;

#endif
