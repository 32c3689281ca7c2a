/* SPDX-License-Identifier: BSD-3-Clause */
/* What keeps this process from being saved, as far as MPI knows it; the rest is image/image.h's. */
#ifndef RZ_MPI_REWIND_REFUSALS_H
#define RZ_MPI_REWIND_REFUSALS_H

#include <stdbool.h>
#include <stddef.h>

/* The descriptors and the thread that are the library's now are in no image. */
void rz_snapshot_leave_out(void);

/* Whether this process has state of MPI that lies elsewhere; then *why is a sentence for the user.
 */
bool rz_snapshot_objects(char *why, size_t max);

/* Whether the process can be saved now; otherwise *why is a sentence for the user. */
bool rz_snapshot_possible(char *why, size_t max);

#endif
